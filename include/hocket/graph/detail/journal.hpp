// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/graph/edge.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

namespace hocket::inline HOCKET_ABI::graph {

namespace detail {
class journal;
}

/// A moment of a dag to which its rollback, and that of copies made later, can return.
class dag_snapshot {
  friend class detail::journal;
  std::shared_ptr<const char> moment_;  // who it is: its address is nobody else's while anyone holds it
  std::size_t nodes_ = 0;
  std::size_t entries_ = 0;
};

namespace detail {

// What changed since the oldest snapshot in the set of edges that generates the order (all offered edges if dropped
// ones are logged, else the kept ones). Nodes need no entry: a snapshot knows how many there were.
class journal {
 public:
  explicit journal(std::pmr::memory_resource* memory) noexcept : entries_(memory), snapshots_(memory) {}

  enum class change : std::uint8_t { added, removed, fused };

  [[nodiscard]] std::size_t bytes() const noexcept {
    return entries_.capacity() * sizeof(entry) + snapshots_.capacity() * sizeof(dag_snapshot);
  }
  // Room for `more` notes, which then cannot fail.
  void make_room(std::size_t more) {
    if (snapshots_.empty() || entries_.capacity() - entries_.size() >= more) return;
    const std::size_t twice = entries_.capacity() * 2, need = entries_.size() + more;
    entries_.reserve(need > twice ? need : twice);
  }
  void note(edge e, change how) noexcept {
    if (!snapshots_.empty()) entries_.push_back({e, how});
  }
  void clear() noexcept {
    entries_.clear();
    snapshots_.clear();
  }

  dag_snapshot take(std::size_t nodes) {
    if (!snapshots_.empty() && snapshots_.back().nodes_ == nodes && snapshots_.back().entries_ == entries_.size())
      return snapshots_.back();  // nothing has changed since
    dag_snapshot now;
    now.moment_ = std::make_shared<const char>('\0');
    now.nodes_ = nodes;
    now.entries_ = entries_.size();
    snapshots_.push_back(now);
    return now;
  }
  [[nodiscard]] bool knows(const dag_snapshot& s) const noexcept { return place_of(s) != 0; }
  [[nodiscard]] static std::size_t nodes_at(const dag_snapshot& s) noexcept { return s.nodes_; }
  // Were nodes appended, and nothing else done, since?
  [[nodiscard]] bool only_appended_since(const dag_snapshot& s) const noexcept { return s.entries_ == entries_.size(); }
  // The generating edges of that moment, from those of now. Whether an edge was there tells the first entry about it.
  [[nodiscard]] std::vector<edge> edges_at(const dag_snapshot& s, std::span<const edge> now) const {
    struct dated {
      edge what;
      std::size_t when;
    };
    std::vector<dated> changed;
    for (std::size_t i = s.entries_; i < entries_.size(); ++i)
      if (entries_[i].how != change::fused) changed.push_back({entries_[i].what, i});
    const auto before = [](const dated& x, const dated& y) {
      return x.what == y.what ? x.when < y.when : x.what < y.what;
    };
    std::sort(changed.begin(), changed.end(), before);
    const auto same = [](const dated& x, const dated& y) { return x.what == y.what; };
    changed.erase(std::unique(changed.begin(), changed.end(), same), changed.end());

    const auto old = [&s](edge e) { return e.source < s.nodes_ && e.target < s.nodes_; };
    std::vector<edge> then;
    for (const edge& e : now) {
      const auto at = std::lower_bound(changed.begin(), changed.end(), dated{e, 0}, before);
      if (old(e) && (at == changed.end() || at->what != e)) then.push_back(e);
    }
    for (const dated& d : changed)
      if (entries_[d.when].how == change::removed && old(d.what)) then.push_back(d.what);
    return then;
  }
  // f(n) for each node fused since.
  template <class F>
  void for_each_fused_since(const dag_snapshot& s, F&& f) const {
    for (std::size_t i = s.entries_; i < entries_.size(); ++i)
      if (entries_[i].how == change::fused) f(entries_[i].what.source);
  }
  // Forgets what came later. Precondition: knows(s).
  void return_to(const dag_snapshot& s) noexcept {
    while (entries_.size() > s.entries_) entries_.pop_back();
    for (const std::size_t left = place_of(s); snapshots_.size() > left;) snapshots_.pop_back();
  }

 private:
  struct entry {
    edge what;
    change how;
  };
  // One past its index among the snapshots; 0 if it is stale, or of another dag.
  [[nodiscard]] std::size_t place_of(const dag_snapshot& s) const noexcept {
    std::size_t at = snapshots_.size();
    while (at != 0 && snapshots_[at - 1].moment_ != s.moment_) --at;
    return at;
  }

  std::pmr::vector<entry> entries_;
  std::pmr::vector<dag_snapshot> snapshots_;
};

}  // namespace detail
}  // namespace hocket::inline HOCKET_ABI::graph
