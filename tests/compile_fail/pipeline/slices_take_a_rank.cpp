// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An optional member that does not fit would be ignored without a word.
// expect: hocket: slices of a schedule must be `std::uint32_t slices() const`
#include <hocket/pipeline/check.hpp>

namespace pipeline = hocket::pipeline;

struct mine {
  [[nodiscard]] std::uint32_t ranks() const { return 1; }
  [[nodiscard]] std::uint32_t chunks() const { return 1; }
  [[nodiscard]] std::uint32_t micro_batches() const { return 1; }
  [[nodiscard]] std::uint32_t size(std::uint32_t) const { return 2; }
  [[nodiscard]] pipeline::action at(std::uint32_t, std::uint32_t step) const {
    return {step == 0 ? pipeline::action_kind::forward : pipeline::action_kind::backward, 0, 0};
  }
#ifdef CORRECTED
  [[nodiscard]] std::uint32_t slices() const { return 1; }
#else
  [[nodiscard]] std::uint32_t slices(std::uint32_t) const { return 1; }
#endif
  [[nodiscard]] pipeline::loop_placement placement() const { return {1}; }
};

void checked() { static_cast<void>(pipeline::check(mine{})); }
