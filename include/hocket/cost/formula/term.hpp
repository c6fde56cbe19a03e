// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/cost/formula/evaluate.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hocket::inline HOCKET_ABI::cost {

/// How far a formula can be trusted.
enum class origin : std::uint8_t {
  definition,  ///< follows from the architecture: counts of weights, of multiplications
  published,   ///< taken from the named source as printed there
  derived,     ///< our derivation, checked against the named source
  estimated    ///< holds under an assumption named in the source text
};

[[nodiscard]] constexpr std::string_view to_string(origin how) noexcept {
  switch (how) {
    case origin::definition: return "definition";
    case origin::published: return "published";
    case origin::derived: return "derived";
    case origin::estimated: return "estimated";
  }
  return "";
}

/// The operation of a layer that a term belongs to: the one that makes a saved tensor, does the FLOPs, moves the bytes.
enum class layer_operation : std::uint8_t {
  none,
  cast,
  cast_back,
  norm,
  gather,
  qkv,
  core,       ///< scores inside the attention
  attention,  ///< the attention as a whole: its output
  output,
  ffn_in,
  activation,
  ffn_out,
  router,
  dispatch,
  head,
  embedding
};
[[nodiscard]] constexpr std::string_view to_string(layer_operation which) noexcept {
  constexpr std::string_view names[] = {"none",   "cast",      "cast_back", "norm",     "gather",     "qkv",
                                        "core",   "attention", "output",    "ffn_in",   "activation", "ffn_out",
                                        "router", "dispatch",  "head",      "embedding"};
  return names[static_cast<std::size_t>(which)];
}

/// What kind of transfer a term counts (communication.hpp).
enum class collective : std::uint8_t { none, all_reduce, reduce_scatter, all_gather, all_to_all, send };
/// The group of ranks that a transfer goes through.
enum class axis : std::uint8_t { tensor, context, expert, pipeline, data };

[[nodiscard]] constexpr std::string_view to_string(collective kind) noexcept {
  constexpr std::string_view names[] = {"none", "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send"};
  return names[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr std::string_view to_string(axis over) noexcept {
  constexpr std::string_view names[] = {"tensor", "context", "expert", "pipeline", "data"};
  return names[static_cast<std::size_t>(over)];
}

/// When a transfer happens: in the forward or the backward pass of a micro-batch, because something is computed again,
/// or once per step.
enum class pass_kind : std::uint8_t { forward, backward, again, step };

/// What goes with the formulas of a term.
struct term_facts {
  std::string_view name{};    ///< literal
  std::string_view source{};  ///< literal
  origin how = origin::definition;
  layer_operation by = layer_operation::none;
  // Of a transfer (communication.hpp): `formula` is what one rank sends in all calls, `split` the ranks in the group.
  collective kind = collective::none;
  axis over = axis::tensor;
  pass_kind in = pass_kind::forward;
  std::int64_t calls = 1;
  // Of FLOPs: whether each of a rank's experts multiplies with a matrix of its own.
  bool by_expert = false;
};

/// One line of a sum: a formula, the condition under which it counts, by how many ranks it is divided. `also` carries
/// what a group of terms adds (FLOPs: how often the term is computed again; an exchange of experts: to how many of them
/// a token goes). `outputs` is given for a product of tokens with a matrix: the columns of that matrix.
template <std::size_t Nodes>
struct term {
  term_facts facts;
  unit_powers unit;
  detail::formula_node nodes[Nodes];  // formula, when, split, also, outputs
  std::size_t ends[5];                // of each
};
template <class Unit, std::size_t Formula, class WhenUnit, std::size_t When, class SplitUnit, std::size_t Split,
          class AlsoUnit = units::pure, std::size_t Also = 1, class OutputsUnit = units::pure, std::size_t Outputs = 1>
[[nodiscard]] constexpr auto make_term(const term_facts& facts, const expression<Unit, Formula>& formula,
                                       const expression<WhenUnit, When>& when,
                                       const expression<SplitUnit, Split>& split,
                                       const expression<AlsoUnit, Also>& also = literal(0),
                                       const expression<OutputsUnit, Outputs>& outputs = literal(0)) noexcept {
  term<Formula + When + Split + Also + Outputs> out{facts, powers_of<Unit>, {}, {}};
  detail::formula_node* at = detail::append(out.nodes, formula.nodes, Formula);
  at = detail::append(at, when.nodes, When);
  at = detail::append(at, split.nodes, Split);
  at = detail::append(at, also.nodes, Also);
  detail::append(at, outputs.nodes, Outputs);
  out.ends[0] = Formula;
  out.ends[1] = out.ends[0] + When;
  out.ends[2] = out.ends[1] + Split;
  out.ends[3] = out.ends[2] + Also;
  out.ends[4] = out.ends[3] + Outputs;
  return out;
}

namespace detail {
// A term in a list: where its formulas end in the list's nodes.
struct listed_term {
  term_facts facts{};
  unit_powers unit{};
  std::uint16_t ends[5] = {};
};
}  // namespace detail

/// Terms one after the other, their formulas in one array.
template <std::size_t Nodes, std::size_t Terms>
struct term_list {
  detail::formula_node nodes[Nodes];
  detail::listed_term terms[Terms];
};
/// A list of terms, one constant.
template <std::size_t... Nodes>
[[nodiscard]] constexpr auto terms(const term<Nodes>&... each) noexcept {
  static_assert((Nodes + ... + 0) < 65536, "hocket::cost: a list of terms has at most 65,535 nodes");
  term_list<(Nodes + ... + 0), sizeof...(Nodes)> out{};
  std::size_t node = 0, at = 0;
  const auto add = [&]<std::size_t Count>(const term<Count>& t) {
    detail::listed_term& to = out.terms[at++];
    to.facts = t.facts;
    to.unit = t.unit;
    for (int i = 0; i < 5; ++i) to.ends[i] = static_cast<std::uint16_t>(node + t.ends[i]);
    detail::append(out.nodes + node, t.nodes, Count);
    node += Count;
  };
  (add(each), ...);
  return out;
}

namespace detail {
template <std::size_t Nodes, std::size_t Terms, std::size_t More, std::size_t MoreTerms>
constexpr auto joined(const term_list<Nodes, Terms>& a, const term_list<More, MoreTerms>& b) noexcept {
  static_assert(Nodes + More < 65536, "hocket::cost: a list of terms has at most 65,535 nodes");
  term_list<Nodes + More, Terms + MoreTerms> out{};
  append(append(out.nodes, a.nodes, Nodes), b.nodes, More);
  for (std::size_t at = 0; at < Terms; ++at) out.terms[at] = a.terms[at];
  for (std::size_t at = 0; at < MoreTerms; ++at) {
    out.terms[Terms + at] = b.terms[at];
    for (std::uint16_t& end : out.terms[Terms + at].ends) end = static_cast<std::uint16_t>(end + Nodes);
  }
  return out;
}
}  // namespace detail

/// A list of terms without its sizes: what sums take. It refers to the list, which must outlive it.
class term_list_view {
 public:
  constexpr term_list_view() noexcept = default;  ///< no terms
  template <std::size_t Nodes, std::size_t Terms>
  constexpr term_list_view(const term_list<Nodes, Terms>& list) noexcept  // NOLINT(google-explicit-constructor)
      : nodes_(list.nodes), terms_(list.terms, Terms) {}

  [[nodiscard]] constexpr const detail::formula_node* nodes() const noexcept { return nodes_; }
  [[nodiscard]] constexpr std::span<const detail::listed_term> listed() const noexcept { return terms_; }

 private:
  const detail::formula_node* nodes_ = nullptr;
  std::span<const detail::listed_term> terms_;
};

/// A term of a list, and the numbers that it is evaluated with. It refers to both.
class term_view : public term_facts {
 public:
  formula_view formula, when, split, also, outputs;
  unit_powers unit;

  constexpr term_view(const detail::formula_node* nodes, const detail::listed_term& t, const numbers_view& numbers)
      : term_facts(t.facts),
        formula(nodes + (t.ends[0] - 1)),
        when(nodes + (t.ends[1] - 1)),
        split(nodes + (t.ends[2] - 1)),
        also(nodes + (t.ends[3] - 1)),
        outputs(nodes + (t.ends[4] - 1)),
        unit(t.unit),
        numbers_(numbers) {}

  /// Exact values, not ok() where there is none: of the formula, of `split`, of `also`.
  [[nodiscard]] constexpr rational amount() const noexcept { return detail::value_of(formula, numbers_); }
  [[nodiscard]] constexpr rational ranks() const noexcept { return detail::value_of(split, numbers_); }
  [[nodiscard]] constexpr rational again() const noexcept { return detail::value_of(also, numbers_); }
  /// Columns of the matrix of a product, over all its ranks; 0 for other terms.
  [[nodiscard]] constexpr rational columns() const noexcept { return detail::value_of(outputs, numbers_); }
  /// True if the term counts for these numbers.
  [[nodiscard]] constexpr bool counts() const noexcept { return !(detail::value_of(when, numbers_) == rational(0)); }

 private:
  numbers_view numbers_;
};

/// Calls f(const term_view&) for each term that counts, in order.
template <class F>
constexpr void for_each_term(const term_list_view& list, const numbers_view& numbers, F&& f) {
  for (const detail::listed_term& t : list.listed())
    if (const term_view each(list.nodes(), t, numbers); each.counts()) f(each);
}

namespace detail {
constexpr result<rational> sum_of(const term_list_view& list, const numbers_view& numbers, bool per_rank) noexcept {
  rational sum = 0;
  for (const listed_term& t : list.listed()) {
    const term_view each(list.nodes(), t, numbers);
    if (!each.counts()) continue;
    sum = sum + (per_rank ? each.amount() / each.ranks() : each.amount());
    if (!sum.ok()) return error{errc::undefined_value}.with(each.name);
  }
  return sum;
}
}  // namespace detail

/// The sum of the formulas over the terms that count: the whole, not split over ranks.
/// Errors: errc::undefined_value, naming the first term that has no value.
///
///     static_assert(total(end_parameter_terms, environment(part{}, list.sizes, parallel{})).value() == …);
[[nodiscard]] constexpr result<rational> total(const term_list_view& list, const numbers_view& numbers) noexcept {
  return detail::sum_of(list, numbers, false);
}
/// The sum of formula / split: what one rank has. Errors: as total.
[[nodiscard]] constexpr result<rational> rank_total(const term_list_view& list, const numbers_view& numbers) noexcept {
  return detail::sum_of(list, numbers, true);
}

/// The total as a whole number; errc::not_whole if it is a fraction.
[[nodiscard]] constexpr result<integer> to_whole(const result<rational>& r) noexcept {
  if (!r) return r.error();
  if (!r->is_whole()) return error{errc::not_whole}.with("total");
  return r->num();
}

}  // namespace hocket::inline HOCKET_ABI::cost
