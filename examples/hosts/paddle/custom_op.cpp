// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the check alone: an op that Paddle knows by its name only. Its result is its operand, and it says so nowhere.
#include <paddle/phi/api/ext/op_meta_info.h>

#include <vector>

namespace {

std::vector<paddle::Tensor> same(const paddle::Tensor& x) { return {x}; }
std::vector<std::vector<int64_t>> shape_of(std::vector<int64_t> shape) { return {shape}; }
std::vector<paddle::DataType> type_of(paddle::DataType type) { return {type}; }

}  // namespace

PD_BUILD_OP(hocket_same)
    .Inputs({"X"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(same))
    .SetInferShapeFn(PD_INFER_SHAPE(shape_of))
    .SetInferDtypeFn(PD_INFER_DTYPE(type_of));
