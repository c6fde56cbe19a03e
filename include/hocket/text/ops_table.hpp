// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/ids.hpp>
#include <hocket/graph/access.hpp>
#include <hocket/graph/op_kind.hpp>
#include <hocket/graph/rule.hpp>
#include <hocket/graph/storage_range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::text {

namespace detail {

// Lists of items, one an op; an op behind the last that has an item has none.
//
//    begin_   0 2 2 3        items_   x y | | z
template <class T>
class op_lists {
 public:
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] std::span<const T> operator[](std::size_t op) const noexcept {
    if (op + 1 >= begin_.size()) return {};
    return {items_.data() + begin_[op], begin_[op + 1] - begin_[op]};
  }
  // Adds to the list of an op, behind which no other has an item.
  void add(std::size_t op, std::span<const T> items) {
    if (items.empty()) return;
    begin_.resize((std::max)(begin_.size(), op + 2), items_.size());
    items_.insert(items_.end(), items.begin(), items.end());
    begin_.back() = items_.size();
  }
  void reserve(std::size_t ops) {
    begin_.reserve(ops + 1);
    items_.reserve(2 * ops);
  }
  void cut(std::size_t ops) {
    if (ops + 1 >= begin_.size()) return;
    begin_.resize(ops + 1);
    items_.resize(begin_.back());
  }

 private:
  std::vector<T> items_;
  std::vector<std::size_t> begin_{0};
};

}  // namespace detail

/// A program as flat arrays, which is what an ops CSV describes. Each op has its stream, its kind, and the variables
/// that it reads and writes. Where a program needs them, it also has rings, bytes, views of variables, and ops that
/// start it.
class ops_table {
 public:
  /// A variable that has no storage of its own, and what it shares: a view its base, a fused buffer each tensor in it.
  struct alias {
    std::uint32_t variable = 0;
    std::uint32_t part = 0;
  };

  [[nodiscard]] std::size_t size() const noexcept { return kinds_.size(); }
  [[nodiscard]] graph::op_kind kind(node_id op) const noexcept { return kinds_[op]; }
  [[nodiscard]] stream_id stream(node_id op) const noexcept { return streams_[op]; }
  [[nodiscard]] std::span<const stream_id> streams() const& noexcept { return streams_; }
  [[nodiscard]] std::span<const std::uint32_t> reads(node_id op) const& noexcept { return reads_[op]; }
  [[nodiscard]] std::span<const std::uint32_t> writes(node_id op) const& noexcept { return writes_[op]; }
  /// The communication rings of an op; of a random op its generators, of an io op its files. None: number 0.
  [[nodiscard]] std::span<const std::uint32_t> rings(node_id op) const& noexcept { return rings_[op]; }
  /// Does the op start the step? See dependency_options::start_up.
  [[nodiscard]] bool starts(node_id op) const noexcept { return !starts_[op].empty(); }
  [[nodiscard]] std::span<const graph::storage_range> read_ranges(node_id op) const& noexcept {
    return read_ranges_[op];
  }
  [[nodiscard]] std::span<const graph::storage_range> write_ranges(node_id op) const& noexcept {
    return write_ranges_[op];
  }
  /// How long the op takes, in microseconds; 0 if nobody said. See set_us.
  [[nodiscard]] std::uint32_t us(node_id op) const noexcept { return us_[op].empty() ? 0 : us_[op].front(); }
  /// How large each variable is that the op writes, in the order of writes(op); nothing if nobody said. See set_bytes.
  [[nodiscard]] std::span<const std::int64_t> bytes(node_id op) const& noexcept { return bytes_[op]; }
  /// Of a variable that the op writes, the largest if it is there twice; 0 if nobody said. O(writes of the op).
  [[nodiscard]] std::int64_t bytes_of(node_id op, std::uint32_t variable) const noexcept {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < bytes(op).size(); ++i)
      if (writes(op)[i] == variable) most = (std::max)(most, bytes(op)[i]);
    return most;
  }
  /// The aliases that were added with an op.
  [[nodiscard]] std::span<const alias> aliases(node_id op) const& noexcept { return aliases_[op]; }
  /// The storage behind a variable: its parts, down to variables that have none; nothing if it has none itself.
  /// O(log aliases).
  [[nodiscard]] std::span<const std::uint32_t> parts(std::uint32_t variable) const& noexcept {
    const auto at = storage_.find(variable);
    return at == storage_.end() ? std::span<const std::uint32_t>{} : at->second.parts;
  }
  void streams() const&& = delete;
  void reads(node_id) const&& = delete;
  void writes(node_id) const&& = delete;
  void rings(node_id) const&& = delete;
  void read_ranges(node_id) const&& = delete;
  void write_ranges(node_id) const&& = delete;
  void bytes(node_id) const&& = delete;
  void aliases(node_id) const&& = delete;
  void parts(std::uint32_t) const&& = delete;

  [[nodiscard]] bool has_rings() const noexcept { return !rings_.empty(); }
  [[nodiscard]] bool has_starts() const noexcept { return !starts_.empty(); }
  [[nodiscard]] bool has_aliases() const noexcept { return !aliases_.empty(); }
  [[nodiscard]] bool has_read_ranges() const noexcept { return !read_ranges_.empty(); }
  [[nodiscard]] bool has_write_ranges() const noexcept { return !write_ranges_.empty(); }
  [[nodiscard]] bool has_us() const noexcept { return !us_.empty(); }
  [[nodiscard]] bool has_bytes() const noexcept { return !bytes_.empty(); }

  /// Adds the next op of the program. What follows is about the op that was added last.
  void add(stream_id stream, graph::op_kind kind, std::span<const std::uint32_t> reads,
           std::span<const std::uint32_t> writes) {
    streams_.push_back(stream);
    kinds_.push_back(kind);
    reads_.add(last(), reads);
    writes_.add(last(), writes);
  }
  void add_rings(std::span<const std::uint32_t> rings) { rings_.add(last(), rings); }
  void set_starts() {
    const unsigned char yes[] = {1};
    if (!starts(static_cast<node_id>(last()))) starts_.add(last(), yes);
  }
  /// How long the op takes, in microseconds. Precondition: not told yet.
  void set_us(std::uint32_t us) { us_.add(last(), {&us, 1}); }
  /// How large what the op writes is, in bytes. Preconditions: not told yet; one for each of writes(op), none below 0.
  void set_bytes(std::span<const std::int64_t> bytes) { bytes_.add(last(), bytes); }
  /// Precondition: no range is empty.
  void add_read_ranges(std::span<const graph::storage_range> ranges) { read_ranges_.add(last(), ranges); }
  void add_write_ranges(std::span<const graph::storage_range> ranges) { write_ranges_.add(last(), ranges); }
  /// From here to the end, and before, the variable stands for the storage of the part.
  /// @return false, and nothing is added, if the variable is a part already (its own parts would come too late) or the
  ///         part is the variable itself
  bool add_alias(const alias& a) { return add_alias_of(last(), a); }
  /// Room for so many ops.
  void reserve(std::size_t ops) {
    kinds_.reserve(ops);
    streams_.reserve(ops);
    reads_.reserve(ops);
    writes_.reserve(ops);
  }
  /// Puts each op on a stream, such as assign_streams chose. Precondition: one for each op.
  void set_streams(std::span<const stream_id> streams) { streams_.assign(streams.begin(), streams.end()); }
  /// Keeps the first ops only.
  void cut(std::size_t ops) {
    if (ops >= size()) return;
    kinds_.resize(ops);
    streams_.resize(ops);
    reads_.cut(ops);
    writes_.cut(ops);
    rings_.cut(ops);
    starts_.cut(ops);
    us_.cut(ops);
    bytes_.cut(ops);
    read_ranges_.cut(ops);
    write_ranges_.cut(ops);
    const detail::op_lists<alias> kept = std::exchange(aliases_, {});
    storage_.clear();
    for (std::size_t op = 0; op < ops; ++op)
      for (const alias& a : kept[op]) add_alias_of(op, a);
  }

 private:
  // What is known of a variable that is a part or has parts.
  struct storage {
    std::vector<std::uint32_t> parts;  // that have no parts themselves
    bool is_part = false;
  };

  [[nodiscard]] std::size_t last() const noexcept { return size() - 1; }
  bool add_alias_of(std::size_t op, const alias& a) {
    if (a.variable == a.part) return false;
    storage& mine = storage_[a.variable];
    if (mine.is_part) return false;
    storage& other = storage_[a.part];
    other.is_part = true;
    const std::vector<std::uint32_t> own{a.part};
    for (const std::uint32_t part : other.parts.empty() ? own : other.parts)
      if (std::find(mine.parts.begin(), mine.parts.end(), part) == mine.parts.end()) mine.parts.push_back(part);
    aliases_.add(op, {&a, 1});
    return true;
  }

  std::vector<graph::op_kind> kinds_;
  std::vector<stream_id> streams_;
  detail::op_lists<std::uint32_t> reads_, writes_, rings_, us_;
  detail::op_lists<std::int64_t> bytes_;
  detail::op_lists<unsigned char> starts_;
  detail::op_lists<graph::storage_range> read_ranges_, write_ranges_;
  detail::op_lists<alias> aliases_;
  std::map<std::uint32_t, storage> storage_;
};

}  // namespace hocket::inline HOCKET_ABI::text

namespace hocket::inline HOCKET_ABI {

template <>
struct graph_access<text::ops_table> {
  using node = node_id;
  static std::size_t node_count(const text::ops_table& t) noexcept { return t.size(); }
  template <class F>
  static void for_each_read(const text::ops_table& t, node n, F&& f) {
    for (const std::uint32_t v : t.reads(n)) f(v);
    for (const graph::storage_range& r : t.read_ranges(n)) f(r);
  }
  template <class F>
  static void for_each_write(const text::ops_table& t, node n, F&& f) {
    for (const std::uint32_t v : t.writes(n)) f(v);
    for (const graph::storage_range& r : t.write_ranges(n)) f(r);
  }
  template <class F>
  static void for_each_part(const text::ops_table& t, std::uint32_t variable, F&& f) {
    for (const std::uint32_t part : t.parts(variable)) f(part);
  }
  template <class F>
  static void for_each_part(const text::ops_table&, const graph::storage_range& bytes, F&& f) {
    f(bytes);
  }
  template <class F>
  static void for_each_resource(const text::ops_table& t, node n, F&& f) {
    const std::span<const std::uint32_t> rings = t.rings(n);
    if (rings.empty()) f(graph::ordered_resource{t.kind(n), 0});
    const bool computes = t.kind(n) == graph::op_kind::compute;  // and communicates, if it has rings
    for (const std::uint32_t r : rings)
      f(graph::ordered_resource{computes ? graph::op_kind::collective : t.kind(n), r});
  }
  static bool starts(const text::ops_table& t, node n) noexcept { return t.starts(n); }
  static graph::op_kind kind(const text::ops_table& t, node n) noexcept { return t.kind(n); }
  static stream_id stream(const text::ops_table& t, node n) noexcept { return t.stream(n); }
};

}  // namespace hocket::inline HOCKET_ABI
