// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <hocket/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace hocket::inline HOCKET_ABI::pipeline::detail {

/// What a slot holds: from the step at which its receive is posted to the step of its last use, both included. No two
/// are posted at the same step, and none at a step of a last use.
struct held_content {
  std::uint32_t posted = 0, last_use = 0;
  std::int64_t bytes = 1;
  std::uint32_t slot = 0;
};

/// The slots of a pool, and what proves that there could not be less.
struct coloured_pool {
  std::pmr::vector<std::int64_t> bytes;  // by slot
  std::int64_t least_bytes = 0;          // no assignment has less
  std::uint32_t peak_step = 0;           // the first step at which most contents are held at once
};

/// Colours intervals. The contents stand in the order in which they are posted.
class slot_colouring {
 public:
  slot_colouring(std::span<held_content> contents, std::pmr::memory_resource* memory)
      : contents_(contents), memory_(memory) {}

  [[nodiscard]] coloured_pool operator()() {
    coloured_pool pool{std::pmr::vector<std::int64_t>(memory_)};
    find_profile(pool.peak_step);
    for (const std::int64_t x : profile_) pool.least_bytes += x;
    if (profile_.empty() || profile_.front() == profile_.back()) {  // each content fits each slot
      sweep(0, [&](std::size_t i, std::uint32_t slot) { contents_[i].slot = slot; });
      pool.bytes = profile_;
      return pool;
    }
    keep(colour_into_profile(), pool.bytes);
    if (best_ != pool.least_bytes) keep(colour_by_size(), pool.bytes);
    if (best_ != pool.least_bytes && contents_.size() <= most_searched) search(pool);
    for (std::size_t i = 0; i < contents_.size(); ++i) contents_[i].slot = best_slots_[i];
    return pool;
  }

 private:
  struct busy_slot {
    std::uint32_t last_use, slot;
  };
  static constexpr auto later = [](const busy_slot& a, const busy_slot& b) {
    return a.last_use != b.last_use ? a.last_use > b.last_use : a.slot > b.slot;
  };
  static constexpr std::size_t most_searched = 64;     // contents: the search is as deep
  static constexpr std::uint32_t most_tried = 50'000;  // slots for a content
  static constexpr auto higher = [](std::uint32_t a, std::uint32_t b) { return a > b; };

  [[nodiscard]] static std::int64_t sum(std::span<const std::int64_t> bytes) {
    std::int64_t total = 0;
    for (const std::int64_t x : bytes) total += x;
    return total;
  }

  /// Keeps a colouring, which stands in the contents, if it has fewer bytes than what is kept.
  void keep(std::pmr::vector<std::int64_t> bytes, std::pmr::vector<std::int64_t>& kept) {
    const std::int64_t total = sum(bytes);
    if (!best_slots_.empty() && total >= best_) return;
    best_ = total;
    kept.swap(bytes);
    best_slots_.clear();
    for (const held_content& c : contents_) best_slots_.push_back(c.slot);
  }

  /// The lowest free slot for each content of at least so many bytes, in the order in which they are posted: as many
  /// slots as contents are held at once, which no colouring can do without. Returns how many. O(n log n).
  template <class Assign>
  std::uint32_t sweep(std::int64_t at_least, const Assign& assign) {
    std::uint32_t slots = 0;
    busy_.clear();
    idle_.clear();
    for (std::size_t i = 0; i < contents_.size(); ++i) {
      const held_content& c = contents_[i];
      if (c.bytes < at_least) continue;
      while (!busy_.empty() && busy_.front().last_use < c.posted) {
        std::pop_heap(busy_.begin(), busy_.end(), later);
        idle_.push_back(busy_.back().slot);
        std::push_heap(idle_.begin(), idle_.end(), higher);
        busy_.pop_back();
      }
      std::uint32_t slot = slots;
      if (idle_.empty()) ++slots;
      else {
        std::pop_heap(idle_.begin(), idle_.end(), higher);
        slot = idle_.back();
        idle_.pop_back();
      }
      assign(i, slot);
      busy_.push_back({c.last_use, slot});
      std::push_heap(busy_.begin(), busy_.end(), later);
    }
    return slots;
  }

  /// The bound: where k contents of at least x bytes are held at once, the k-th largest slot has at least x bytes.
  void find_profile(std::uint32_t& peak_step) {
    std::pmr::vector<std::int64_t> sizes(memory_);
    for (const held_content& c : contents_)
      if (std::find(sizes.begin(), sizes.end(), c.bytes) == sizes.end()) sizes.push_back(c.bytes);
    std::sort(sizes.begin(), sizes.end(), [](std::int64_t a, std::int64_t b) { return a > b; });
    for (const std::int64_t size : sizes) {
      std::uint32_t most = 0;
      const std::uint32_t slots = sweep(size, [&](std::size_t i, std::uint32_t slot) {
        if (slot < most) return;
        most = slot + 1;
        peak_step = contents_[i].posted;
      });
      if (slots > profile_.size()) profile_.resize(slots, size);
    }
  }

  /// Takes the slots of the bound. Each content goes to the smallest free one that it fits; where it fits none, the
  /// largest free one grows, and where none is free, there is one more. O(n · slots).
  [[nodiscard]] std::pmr::vector<std::int64_t> colour_into_profile() {
    std::pmr::vector<std::int64_t> bytes(profile_, memory_);
    std::pmr::vector<std::uint32_t> free_after(bytes.size(), 0, memory_);
    std::pmr::vector<std::uint8_t> used(bytes.size(), 0, memory_);
    for (held_content& c : contents_) {
      std::size_t fits = bytes.size(), largest = bytes.size();
      for (std::size_t s = 0; s < bytes.size(); ++s) {
        if (used[s] != 0 && free_after[s] >= c.posted) continue;
        if (bytes[s] >= c.bytes && (fits == bytes.size() || bytes[s] < bytes[fits])) fits = s;
        if (largest == bytes.size() || bytes[s] > bytes[largest]) largest = s;
      }
      const std::size_t slot = fits < bytes.size() ? fits : largest;
      if (slot == bytes.size()) {
        bytes.push_back(c.bytes);
        free_after.push_back(0);
        used.push_back(0);
      }
      bytes[slot] = (std::max)(bytes[slot], c.bytes);
      free_after[slot] = c.last_use;
      used[slot] = 1;
      c.slot = static_cast<std::uint32_t>(slot);
    }
    return bytes;
  }

  struct span_of_steps {
    std::uint32_t posted, last_use;
  };
  struct slot_of_size {
    std::int64_t bytes;
    std::pmr::vector<span_of_steps> taken;  // by larger contents, in order
    std::pmr::vector<span_of_steps> added;  // by those of the size in hand, in order
    std::size_t next = 0;                   // the first of `taken` that is not over
  };
  /// Whether a content can go into a slot; `room` gets the steps until the slot is needed again.
  [[nodiscard]] static bool has_room(slot_of_size& s, const held_content& c, std::uint32_t& room) {
    while (s.next < s.taken.size() && s.taken[s.next].last_use < c.posted) ++s.next;
    if (!s.added.empty() && s.added.back().last_use >= c.posted) return false;
    if (s.next < s.taken.size() && s.taken[s.next].posted <= c.last_use) return false;
    room = s.next < s.taken.size() ? s.taken[s.next].posted - c.last_use : ~std::uint32_t{0};
    return true;
  }

  /// The largest contents first, each into the slot that is needed again soonest after it. O(n · slots).
  [[nodiscard]] std::pmr::vector<std::int64_t> colour_by_size() {
    std::pmr::vector<slot_of_size> slots(memory_);
    std::int64_t size = 0;
    for (const held_content& c : contents_) size = (std::max)(size, c.bytes);
    for (bool left = true; left;) {
      std::int64_t smaller = -1;
      for (held_content& c : contents_) {
        if (c.bytes < size) smaller = (std::max)(smaller, c.bytes);
        if (c.bytes == size) place(slots, c);
      }
      for (slot_of_size& s : slots) {
        s.taken.insert(s.taken.end(), s.added.begin(), s.added.end());
        std::sort(s.taken.begin(), s.taken.end(), [](auto a, auto b) { return a.posted < b.posted; });
        s.added.clear();
        s.next = 0;
      }
      left = smaller >= 0;
      size = smaller;
    }
    std::pmr::vector<std::int64_t> bytes(memory_);
    for (const slot_of_size& s : slots) bytes.push_back(s.bytes);
    return bytes;
  }
  void place(std::pmr::vector<slot_of_size>& slots, held_content& c) const {
    std::size_t best = slots.size();
    std::uint32_t least = 0;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      std::uint32_t room = 0;
      if (!has_room(slots[s], c, room)) continue;
      if (best == slots.size() || room < least) {
        best = s;
        least = room;
      }
    }
    if (best == slots.size())
      slots.push_back({c.bytes, std::pmr::vector<span_of_steps>(memory_), std::pmr::vector<span_of_steps>(memory_)});
    slots[best].added.push_back({c.posted, c.last_use});
    c.slot = static_cast<std::uint32_t>(best);
  }

  struct searched_slot {
    std::int64_t bytes;
    std::uint32_t free_after;
    bool operator==(const searched_slot&) const = default;
  };
  /// All colourings in turn, but those that cannot have fewer bytes than the best. If that ends within most_tried, the
  /// best is the least.
  void search(coloured_pool& pool) {
    std::pmr::vector<searched_slot> slots(memory_);
    tried_ = 0;
    const bool ended = search_from(0, 0, slots, pool);
    if (ended) pool.least_bytes = best_;
  }
  /// Places content `next` and those after it; `bytes` are those of the slots. False where it gives up.
  bool search_from(std::size_t next, std::int64_t bytes, std::pmr::vector<searched_slot>& slots, coloured_pool& pool) {
    if (next == contents_.size()) {
      std::pmr::vector<std::int64_t> found(memory_);
      for (const searched_slot& s : slots) found.push_back(s.bytes);
      keep(std::move(found), pool.bytes);
      return true;
    }
    held_content& c = contents_[next];
    for (std::size_t s = 0; s <= slots.size(); ++s) {
      if (best_ == pool.least_bytes) return true;
      const bool more = s == slots.size();
      if (!more && slots[s].free_after >= c.posted) continue;
      if (!more && std::find(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(s), slots[s]) !=
                       slots.begin() + static_cast<std::ptrdiff_t>(s))
        continue;  // one like it was tried
      const std::int64_t grows = more ? c.bytes : (std::max)(c.bytes - slots[s].bytes, std::int64_t{0});
      if (bytes + grows >= best_) continue;
      if (++tried_ > most_tried) return false;
      if (more) slots.push_back({0, 0});
      const searched_slot before = slots[s];
      slots[s] = {(std::max)(c.bytes, before.bytes), c.last_use};
      c.slot = static_cast<std::uint32_t>(s);
      const bool ended = search_from(next + 1, bytes + grows, slots, pool);
      slots[s] = before;
      if (more) slots.pop_back();
      if (!ended) return false;
      if (more) break;
    }
    return true;
  }

  std::span<held_content> contents_;
  std::pmr::memory_resource* memory_;
  std::pmr::vector<busy_slot> busy_{memory_};
  std::pmr::vector<std::uint32_t> idle_{memory_};
  std::pmr::vector<std::int64_t> profile_{memory_};  // by slot, the largest first
  std::pmr::vector<std::uint32_t> best_slots_{memory_};
  std::int64_t best_ = 0;
  std::uint32_t tried_ = 0;
};

}  // namespace hocket::inline HOCKET_ABI::pipeline::detail
