// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect: hocket: a schedule needs `std::uint32_t size(std::uint32_t rank) const`
#include <hocket/pipeline/buffers.hpp>

namespace pipeline = hocket::pipeline;

struct mine {
  [[nodiscard]] std::uint32_t ranks() const { return 1; }
  [[nodiscard]] std::uint32_t chunks() const { return 1; }
  [[nodiscard]] std::uint32_t micro_batches() const { return 1; }
#ifdef CORRECTED
  [[nodiscard]] std::uint32_t size(std::uint32_t) const { return 2; }
#else
  [[nodiscard]] std::uint32_t size(std::uint32_t) { return 2; }
#endif
  [[nodiscard]] pipeline::action at(std::uint32_t, std::uint32_t step) const {
    return {step == 0 ? pipeline::action_kind::forward : pipeline::action_kind::backward, 0, 0};
  }
  [[nodiscard]] pipeline::loop_placement placement() const { return {1}; }
};

void assigned() { static_cast<void>(pipeline::assign_receives(mine{})); }
