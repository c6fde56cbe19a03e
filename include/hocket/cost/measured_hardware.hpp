// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/core/result.hpp>
#include <hocket/cost/hardware.hpp>
#include <hocket/curve/any_curve.hpp>

#include <limits>
#include <span>
#include <string>
#include <vector>

/// A hardware policy over hocket::curve: measured curves in place of rates.
namespace hocket::inline HOCKET_ABI::cost {

/// Where the ranks of a group sit.
enum class placement : std::uint8_t { node, between_nodes };

/// Measured times of one collective: microseconds over MiB sent by a rank and call, for a group of one size and place.
struct collective_curve {
  collective kind = collective::all_reduce;
  std::int64_t ranks = 0;
  placement where = placement::node;
  curve::any_curve us_of_mib;
  std::string source;
};

/// Efficiency table: measured curves for each kind of work. Products and attention are microseconds over GFLOP of one
/// operation, element-wise work over MiB; collectives are looked up by kind, group size and placement, with the rate of
/// `otherwise` where there is no curve. `covers` says whether work is inside what was measured.
class measured_hardware {
 public:
  measured_hardware(curve::any_curve products, curve::any_curve attention, curve::any_curve memory,
                    const machine& otherwise)
      : products_(std::move(products)),
        attention_(std::move(attention)),
        memory_(std::move(memory)),
        other_(otherwise) {}

  void add(collective_curve c) { collectives_.push_back(std::move(c)); }
  /// The ranks that fit into one node: larger groups are between nodes. 0: all groups are inside one.
  std::int64_t ranks_per_node = 0;
  /// Parts of the transfers that hide behind compute, by axis.
  double overlaps[5] = {0, 0, 0, 0, 0};

  const collective_curve* find(collective kind, std::int64_t ranks) const&& = delete;
  [[nodiscard]] const collective_curve* find(collective kind, std::int64_t ranks) const& noexcept {
    const placement where = ranks_per_node != 0 && ranks > ranks_per_node ? placement::between_nodes : placement::node;
    for (const collective_curve& c : collectives_)
      if (c.kind == kind && c.ranks == ranks && c.where == where) return &c;
    return nullptr;
  }
  /// True if the work is inside what was measured: a curve is there and its domain holds the size.
  [[nodiscard]] bool covers(const work_item& w) const noexcept {
    if (w.to_host) return false;
    if (w.kind != collective::none) {
      const collective_curve* c = find(w.kind, w.ranks);
      return c != nullptr && c->us_of_mib.domain().contains(mib(w) / static_cast<double>(w.calls));
    }
    if (w.flops.value > 0)
      return (inside_attention(w.by) ? attention_ : products_).domain().contains(w.flops.value / 1e9);
    return memory_.domain().contains(mib(w));
  }
  [[nodiscard]] seconds time(const work_item& w) const noexcept {
    if (w.to_host) return time_of(other_, w);
    if (w.kind != collective::none) {
      const collective_curve* c = find(w.kind, w.ranks);
      if (c == nullptr) return time_of(other_, w);
      const auto calls = static_cast<double>(w.calls);
      return seconds(calls * c->us_of_mib.time(mib(w) / calls) * 1e-6);
    }
    if (w.flops.value > 0)
      return seconds((inside_attention(w.by) ? attention_ : products_).time(w.flops.value / 1e9) * 1e-6);
    return seconds(w.bytes.value > 0 ? memory_.time(mib(w)) * 1e-6 : 0);
  }
  [[nodiscard]] double overlap(axis over) const noexcept { return overlaps[static_cast<std::size_t>(over)]; }
  [[nodiscard]] machine host() const noexcept { return other_; }

 private:
  static double mib(const work_item& w) noexcept { return w.bytes.value / 1048576; }
  curve::any_curve products_, attention_, memory_;
  machine other_;
  std::vector<collective_curve> collectives_;
};

}  // namespace hocket::inline HOCKET_ABI::cost
