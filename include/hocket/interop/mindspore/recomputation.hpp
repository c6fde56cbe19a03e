// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/core/result.hpp>
#include <hocket/interop/mindspore/ir_dataflow.hpp>
#include <hocket/interop/mindspore/ir_peak.hpp>
#include <hocket/interop/mindspore/ir_place.hpp>
#include <hocket/interop/mindspore/ir_program.hpp>
#include <hocket/planner/detail/replay_marks.hpp>
#include <hocket/planner/replay_graph.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::mindspore {

/// What became of one op that is marked for recomputation.
struct recompute_mark {
  enum class outcome {
    computed_again,  ///< the backward pass reads what it makes, and computes it again
    kept_behind,     ///< an op behind it, that is not marked, keeps its own result for the backward pass: kept_by
    not_read         ///< the backward pass reads neither its result nor anything made of it
  };
  std::uint32_t node = 0;
  outcome what = outcome::not_read;    ///< by replay_graph, on the dump's graph
  bool duplicated = false;             ///< the dump has a second copy of it
  std::uint32_t kept_by = no_id;       ///< node
  std::vector<std::uint32_t> missing;  ///< nodes on the way to kept_by, and itself: what is not marked and may be
  bool is_forced = false;              ///< a node on that way is one that MindSpore does not recompute: turned_off
  std::int64_t frees = 0;              ///< kept bytes that come back if this mark alone is taken away
};

/// An op that is not marked, and what a mark would do beside those that are there.
struct further_mark {
  std::uint32_t node = 0;
  std::int64_t frees = 0;  ///< bytes; negative if more must be kept for it
};

/// A pattern that marks an op in all layers.
struct recompute_pattern {
  std::string text;                 ///< feed_forward\.w1\.reshape
  bool in_layer = true;             ///< else no pattern reaches it: the cell must call recompute() itself
  bool guessed = false;             ///< ir_place::guessed
  std::vector<std::string> layers;  ///< those of this dump in which a mark has it, in the order of the dump
  friend bool operator==(const recompute_pattern&, const recompute_pattern&) = default;
};

/// Did the recomputation work? Bytes are of the forward passes in the dump on this rank, as the types say: under
/// pipeline parallelism of all micro-batches, which are never all kept at one time; the peaks know that.
struct recompute_report {
  std::vector<recompute_mark> marks;  ///< in the order of the dump
  /// Forward ops whose marks MindSpore turned off, in the order of the dump. The op that makes the result of a
  /// recomputed cell is one: that result is always kept.
  std::vector<std::uint32_t> turned_off;
  bool is_before_copies = false;            ///< the dump is of a pass before add_recomputation: no op has a copy yet
  std::size_t copy_count = 0;               ///< copies in the dump
  std::size_t other_copy_count = 0;         ///< of these, second copies of an op, and of nodes that do not run
  std::size_t predicted_count = 0;          ///< marked ops that replay_graph computes again
  std::size_t marked_in_called_graphs = 0;  ///< not judged: a later dump has them in the entry graph
  std::size_t unknown_sizes = 0;            ///< results of forward ops that count no bytes
  std::int64_t kept_without = 0;            ///< kept from forward to backward pass without recomputation
  std::int64_t kept_with = 0;               ///< with the marks
  std::int64_t kept_with_further = 0;       ///< with the marks, and those below
  std::vector<further_mark> missing;        ///< each op on the way of some mark, with what it frees alone
  std::vector<recompute_pattern> further;   ///< the fewest patterns that make all marks come true
  bool further_is_fewest = true;            ///< all smaller sets were tried
  bool is_whole_cells = false;              ///< all marks come from Cell.recompute()
  std::size_t micro_batch_count = 1;        ///< whose forward passes are in the dump
  std::vector<std::string> layers;          ///< in the forward pass, in the order of the dump
  std::vector<std::string> whole_layers;    ///< those of them that Cell.recompute() marks
  std::vector<recompute_pattern> marked;    ///< those of the marks that are not of whole cells, each once
  /// Peaks when the dump runs; without: with the original in place of each copy. Those of a CPU take SiLUGrad apart.
  ir_peak peak_without, peak_with, cpu_peak_without, cpu_peak_with;

  [[nodiscard]] std::int64_t freed() const noexcept { return kept_without - kept_with; }
};

namespace detail {

class recompute_reader {
 public:
  explicit recompute_reader(const ir_program& program) : program_(program) {}

  [[nodiscard]] result<recompute_report> operator()() {
    find_copies();
    flow_ = dataflow_of(program_, originals_);
    find_forward();
    if (const auto ok = build_graph(); !ok) return ok.error();
    count_unjudged();
    find_pass();
    if (const auto ok = judge_marks(); !ok) return ok.error();
    if (const auto ok = suggest(); !ok) return ok.error();
    describe();
    out_.peak_with = peak({}, ir_back_end::device);
    out_.peak_without = peak(originals_, ir_back_end::device);
    out_.cpu_peak_with = peak({}, ir_back_end::cpu);
    out_.cpu_peak_without = peak(originals_, ir_back_end::cpu);
    return std::move(out_);
  }

 private:
  using outcome = recompute_mark::outcome;

  [[nodiscard]] ir_peak peak(std::span<const std::uint32_t> stands_for, ir_back_end back_end) const {
    const ir_dataflow flow = dataflow_of(program_, stands_for, back_end);
    return peak_of(flow, run_order(program_, flow, stands_for));
  }

  // Which node each copy is a copy of: the one with its recompute_sub_graph and recompute_id, else the last op of its
  // kind that reads the same.
  void find_copies() {
    using key = std::pair<std::string_view, std::string_view>;
    std::map<key, std::uint32_t> by_id;
    std::map<std::vector<std::uint32_t>, std::uint32_t> by_operands;
    originals_.assign(program_.node_count(), no_id);
    std::vector<std::uint32_t> same(program_.node_count());
    for (std::uint32_t n = 0; n < program_.node_count(); ++n) {
      same[n] = n;
      const bool is_depend = program_.primitive(n) == "Depend" && !program_.operands(n).empty();
      if (is_depend && program_.operands(n)[0].what == ir_operand::kind::node)
        same[n] = same[program_.operands(n)[0].value];
      std::vector<std::uint32_t> signature{program_.node(n).primitive};
      for (const ir_operand& o : program_.operands(n)) {
        signature.push_back(static_cast<std::uint32_t>(o.what));
        signature.push_back(o.what == ir_operand::kind::node ? same[o.value] : o.value);
      }
      const auto graph = program_.attribute(n, "recompute_sub_graph"), id = program_.attribute(n, "recompute_id");
      if (!program_.has_flag(n, "duplicated")) {
        if (graph && id) by_id.emplace(key{*graph, *id}, n);
        by_operands[std::move(signature)] = n;
        continue;
      }
      ++out_.copy_count;
      const auto told = graph && id ? by_id.find(key{*graph, *id}) : by_id.end();
      const auto alike = by_operands.find(signature);
      if (told != by_id.end()) originals_[n] = told->second;
      else if (alike != by_operands.end()) originals_[n] = alike->second;
      if (originals_[n] != no_id) same[n] = originals_[n];
    }
  }

  // An op belongs to the forward pass if the dump says so, and it reads nothing of the backward pass: back ends name
  // what they put in as they like.
  void find_forward() {
    is_forward_.assign(flow_.op_count(), false);
    for (std::size_t o = 0; o < flow_.op_count(); ++o) {
      bool forward = program_.node(flow_.nodes[o]).phase == ir_phase::forward;
      for (const std::uint32_t v : flow_.reads[o]) forward = forward && is_forward_[flow_.values[v].op];
      is_forward_[o] = forward;
    }
  }

  [[nodiscard]] static bool is_of_cell(const ir_program& program, std::uint32_t n) {
    return program.scope(n).starts_with("recompute_");
  }
  // MindSpore writes Bool(0), up to version 2.0 false, where it turns a mark off.
  [[nodiscard]] bool is_turned_off(std::uint32_t n) const {
    const auto mark = [&](std::string_view key, std::string_view value) {
      return key == "recompute" && (value == "Bool(0)" || value == "false");
    };
    bool off = false;
    program_.for_each_attribute(n,
                                [&](std::string_view key, std::string_view value) { off = off || mark(key, value); });
    return off;
  }
  // Which ops are turned off, and whether add_recomputation has run. That pass writes the mark of a primitive into its
  // node, too, and numbers what it copies.
  void find_pass() {
    bool has_run = out_.copy_count > 0;
    for (std::uint32_t n = 0; n < program_.node_count(); ++n) {
      std::size_t marks = 0;
      program_.for_each_attribute(n, [&](std::string_view key, std::string_view) {
        if (key == "recompute") ++marks;
        has_run = has_run || key == "recompute_sub_graph" || key == "need_cse_after_recompute";
      });
      has_run = has_run || marks > 1;
      const std::uint32_t o = flow_.op_of_node[n];
      const bool had_mark = is_of_cell(program_, n) || program_.has_flag(n, "recompute");
      if (o != no_id && is_forward_[o] && had_mark && is_turned_off(n)) out_.turned_off.push_back(n);
    }
    out_.is_before_copies = !has_run;
  }

  // What a configuration needs to know: layers, micro-batches, and whether whole cells are marked.
  void describe() {
    std::set<std::string_view> micros;
    std::set<std::string> layers, whole_layers;
    for (std::size_t o = 0; o < flow_.op_count(); ++o) {
      if (!is_forward_[o]) continue;
      const std::string layer = place_of(program_, flow_.nodes[o]).layer;
      if (!layer.empty() && layers.insert(layer).second) out_.layers.push_back(layer);
      const bool is_whole = is_marked_[o] && is_of_cell(program_, flow_.nodes[o]);
      if (is_whole && !layer.empty() && whole_layers.insert(layer).second) out_.whole_layers.push_back(layer);
      const std::string_view micro = program_.attribute(flow_.nodes[o], "micro").value_or("");
      if (!micro.empty()) micros.insert(micro);
    }
    out_.micro_batch_count = (std::max)(std::size_t{1}, micros.size());
    out_.is_whole_cells =
        !out_.marks.empty() && std::all_of(out_.marks.begin(), out_.marks.end(),
                                           [&](const recompute_mark& mark) { return is_of_cell(program_, mark.node); });
  }
  void count_unjudged() {
    for (std::size_t n = 0; n < program_.node_count(); ++n)
      if (program_.node(n).graph != program_.entry() && program_.has_flag(n, "recompute"))
        ++out_.marked_in_called_graphs;
    for (std::size_t o = 0; o < flow_.op_count(); ++o)
      if (is_forward_[o]) out_.unknown_sizes += count_unknown_sizes(program_, flow_.nodes[o]);
  }

  [[nodiscard]] result<void> build_graph() {
    std::vector<bool> needed(flow_.values.size());
    std::int64_t all = 0;
    for (std::size_t o = 0; o < flow_.op_count(); ++o)
      for (const std::uint32_t v : flow_.reads[o])
        if (!is_forward_[o]) needed[v] = true;
    for (std::uint32_t v = 0; v < flow_.values.size(); ++v) {
      const auto& value = flow_.values[v];
      const bool resident = !is_forward_[value.op];  // made by the backward pass: never kept for it
      if (!checked_add(all, value.bytes, all)) return error{errc::overflow, all, value.bytes}.with("bytes of values");
      if (value.storage == v || resident) graph_.add_value(value.bytes, needed[v] && !resident, resident);
      else graph_.add_view(value.storage, needed[v]);
    }
    for (std::size_t o = 0; o < flow_.op_count(); ++o) {
      if (is_forward_[o]) graph_.add_op(flow_.reads[o], flow_.writes[o], 1);
      else graph_.add_op({}, {}, 0);  // so that numbers agree
      const std::uint32_t n = flow_.nodes[o];
      const bool is_marked = is_forward_[o] && program_.has_flag(n, "recompute") && !is_turned_off(n);
      is_marked_.push_back(is_marked);
      if (is_marked) marked_.push_back(static_cast<std::uint32_t>(o));
    }
    return {};
  }

  // The nearest op behind `from` whose result is kept, through forward ops; and what is not marked on the way.
  void find_keeper(std::uint32_t from, recompute_mark& mark) {
    std::vector<std::uint32_t>& came_from = came_from_;
    std::vector<std::uint32_t> open{from};
    came_from.resize(flow_.op_count(), no_id);
    find_keeper(from, open, mark);
    for (const std::uint32_t o : open) came_from[o] = no_id;
  }
  // @param open  becomes the ops that were looked at
  void find_keeper(std::uint32_t from, std::vector<std::uint32_t>& open, recompute_mark& mark) {
    std::vector<std::uint32_t>& came_from = came_from_;
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const std::uint32_t v : flow_.writes[open[i]])
        for (const std::uint32_t next : readers_[v]) {
          ++work_;
          if (!is_forward_[next] || came_from[next] != no_id || next == from) continue;
          came_from[next] = open[i];
          open.push_back(next);
          if (!keeps(next)) continue;
          mark.kept_by = flow_.nodes[next];
          for (std::uint32_t o = next; o != from; o = came_from[o]) {
            if (!is_marked_[o]) mark.missing.push_back(flow_.nodes[o]);
            mark.is_forced = mark.is_forced || is_turned_off(flow_.nodes[o]);
          }
          std::reverse(mark.missing.begin(), mark.missing.end());
          if (mark.is_forced) mark.missing.clear();  // no mark helps
          return;
        }
    }
  }
  [[nodiscard]] bool keeps(std::uint32_t o) const {
    return std::any_of(flow_.writes[o].begin(), flow_.writes[o].end(),
                       [&](std::uint32_t v) { return std::binary_search(kept_.begin(), kept_.end(), v); });
  }

  [[nodiscard]] result<void> judge_marks() {
    std::vector<std::vector<std::uint32_t>> readers(flow_.values.size());
    for (std::uint32_t o = 0; o < flow_.op_count(); ++o)
      for (const std::uint32_t v : flow_.reads[o]) readers[v].push_back(o);
    readers_ = std::move(readers);
    const auto effect = graph_.effect_of(marked_);
    kept_ = effect.kept;
    out_.kept_without = effect.bytes_before;
    out_.kept_with = out_.kept_with_further = effect.bytes_after;
    out_.predicted_count = effect.again.size();
    std::vector<bool> has_copy(program_.node_count());
    for (const std::uint32_t original : originals_) {
      if (original == no_id) continue;
      const bool first = !has_copy[original] && flow_.op_of_node[original] != no_id;
      if (!first) ++out_.other_copy_count;
      has_copy[original] = true;
    }
    planner::detail::replay_marks marks(graph_, marked_);
    for (const std::uint32_t o : marked_) {
      recompute_mark mark;
      mark.node = flow_.nodes[o];
      mark.duplicated = has_copy[mark.node];
      if (std::binary_search(effect.again.begin(), effect.again.end(), o)) {
        mark.what = outcome::computed_again;
        mark.frees = marks.change_of(o);  // without it against with it, beside the others
      } else {
        find_keeper(o, mark);
        if (mark.kept_by != no_id) mark.what = outcome::kept_behind;
      }
      out_.marks.push_back(std::move(mark));
      if (const auto ok = check_work(marks.work()); !ok) return ok;
    }
    return {};
  }
  /// Random dumps may make every mark touch every op; those of steps do not.
  [[nodiscard]] result<void> check_work(std::size_t of_marks) const {
    constexpr std::size_t most_work = std::size_t{1} << 29;  // a few seconds
    if (work_ + of_marks <= most_work) return {};
    return error{errc::limit_exceeded, static_cast<std::int64_t>(work_ + of_marks),
                 static_cast<std::int64_t>(most_work)}
        .with("ops that all marks change or pass");
  }
  // Patterns as they come up, each once, with the layers that they are marked in.
  struct pattern_list {
    std::vector<recompute_pattern> list;
    std::map<std::string, std::size_t> places;
    std::set<std::pair<std::size_t, std::string>> layers;  // of a pattern

    std::size_t add(const ir_place& place) {
      const std::size_t i = places.emplace(place.pattern, list.size()).first->second;
      if (i == list.size()) list.push_back({place.pattern, !place.layer.empty(), place.guessed, {}});
      if (!place.layer.empty() && layers.emplace(i, place.layer).second) list[i].layers.push_back(place.layer);
      return i;
    }
  };
  // The fewest patterns that make every mark come true which something behind it keeps.
  [[nodiscard]] result<void> suggest() {
    pattern_list patterns, of_marks;
    std::vector<std::vector<std::uint32_t>> ops;  // of each pattern, in all layers
    std::vector<std::uint32_t> nodes;
    for (const recompute_mark& mark : out_.marks) {
      nodes.insert(nodes.end(), mark.missing.begin(), mark.missing.end());
      if (!is_of_cell(program_, mark.node)) of_marks.add(place_of(program_, mark.node));
    }
    out_.marked = std::move(of_marks.list);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    planner::detail::replay_marks marks(graph_, marked_);
    for (const std::uint32_t n : nodes) {
      const std::uint32_t o = flow_.op_of_node[n];
      out_.missing.push_back({n, -marks.change_of(o)});
      const std::size_t pattern = patterns.add(place_of(program_, n));
      ops.resize(patterns.list.size());
      ops[pattern].push_back(o);
      if (const auto ok = check_work(marks.work()); !ok) return ok;
    }
    if (!patterns.list.empty()) choose(patterns.list, ops);
    return {};
  }
  void choose(const std::vector<recompute_pattern>& patterns, const std::vector<std::vector<std::uint32_t>>& ops) {
    constexpr std::size_t most_patterns = 12;                // 4,096 sets
    constexpr std::size_t most_work = std::size_t{1} << 28;  // ops looked at
    std::vector<bool> chosen(patterns.size(), true);
    out_.further_is_fewest = patterns.size() <= most_patterns && (graph_.op_count() << patterns.size()) <= most_work;
    std::size_t fewest = patterns.size() + 1;
    const std::size_t sets = out_.further_is_fewest ? std::size_t{1} << patterns.size() : 0;
    for (std::size_t set = 1; set < sets; ++set) {
      std::vector<bool> trial(patterns.size());
      for (std::size_t i = 0; i < patterns.size(); ++i) trial[i] = (set >> i & 1) != 0;
      const auto count = static_cast<std::size_t>(std::popcount(set));
      if (count >= fewest || !makes_all_true(ops, trial)) continue;
      fewest = count;
      chosen = trial;
    }
    out_.kept_with_further = graph_.effect_of(with_patterns(ops, chosen)).bytes_after;
    for (std::size_t i = 0; i < patterns.size(); ++i)
      if (chosen[i]) out_.further.push_back(patterns[i]);
  }
  [[nodiscard]] std::vector<std::uint32_t> with_patterns(const std::vector<std::vector<std::uint32_t>>& ops,
                                                         const std::vector<bool>& chosen) const {
    std::vector<std::uint32_t> all = marked_;
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (chosen[i]) all.insert(all.end(), ops[i].begin(), ops[i].end());
    return all;
  }
  [[nodiscard]] bool makes_all_true(const std::vector<std::vector<std::uint32_t>>& ops,
                                    const std::vector<bool>& chosen) const {
    const auto effect = graph_.effect_of(with_patterns(ops, chosen));
    return std::all_of(out_.marks.begin(), out_.marks.end(), [&](const recompute_mark& mark) {
      return mark.what == outcome::not_read || mark.is_forced ||
             std::binary_search(effect.again.begin(), effect.again.end(), flow_.op_of_node[mark.node]);
    });
  }

  const ir_program& program_;
  std::vector<std::uint32_t> originals_;  // per node: what it is a copy of
  ir_dataflow flow_;                      // without recomputation
  std::vector<bool> is_forward_, is_marked_;
  std::vector<std::vector<std::uint32_t>> readers_;  // per value, ops
  planner::replay_graph graph_;
  std::vector<std::uint32_t> marked_;     // ops
  std::vector<std::uint32_t> kept_;       // values, ascending
  std::vector<std::uint32_t> came_from_;  // per op, for find_keeper: none between its calls
  std::size_t work_ = 0;                  // readers looked at by find_keeper
  recompute_report out_;
};

}  // namespace detail

/// What the marks for recomputation in a dump do, and what is missing where they do nothing. Dumps from
/// `opt_pass_*_add_recomputation` on have the copies that MindSpore made; in earlier ones only the marks are judged.
///
/// What is freed is what need not be kept from the forward to the backward pass. The peak may fall by less, or by more:
/// peak_without and peak_with say by how much, in the order in which MindSpore's runtime runs the dump.
/// Errors: errc::overflow if the bytes of all values do not add up to a 64-bit number; errc::limit_exceeded if each of
/// very many marks changes or passes very many ops, 2^29 in all.
/// Complexity: O(ops + edges), for each mark what it changes or passes, and the search for the fewest patterns, at most
/// 2^28 ops.
///
///     const auto report = explain_recomputation(*parse_ir(text));
///     report->freed();  report->marks[0].kept_by;  report->further;
[[nodiscard]] inline result<recompute_report> explain_recomputation(const ir_program& program) {
  return detail::recompute_reader(program)();
}

}  // namespace hocket::inline HOCKET_ABI::mindspore
