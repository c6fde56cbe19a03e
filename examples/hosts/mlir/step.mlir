// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A step of a two-layer perceptron: forward, loss gradient, backward, update in place.
func.func @step(%x: tensor<8x16xf32>, %y: tensor<8x4xf32>, %w1: tensor<16x32xf32>, %w2: tensor<32x4xf32>)
    -> (tensor<16x32xf32>, tensor<32x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %h0 = tensor.empty() : tensor<8x32xf32>
  %h1 = linalg.fill ins(%zero : f32) outs(%h0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %h = linalg.matmul ins(%x, %w1 : tensor<8x16xf32>, tensor<16x32xf32>) outs(%h1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r0 = tensor.empty() : tensor<8x32xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%r0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = linalg.max ins(%h, %zeros : tensor<8x32xf32>, tensor<8x32xf32>) outs(%r0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %o0 = tensor.empty() : tensor<8x4xf32>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %o = linalg.matmul ins(%r, %w2 : tensor<8x32xf32>, tensor<32x4xf32>) outs(%o1 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %d0 = tensor.empty() : tensor<8x4xf32>
  %d = linalg.sub ins(%o, %y : tensor<8x4xf32>, tensor<8x4xf32>) outs(%d0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %g20 = tensor.empty() : tensor<32x4xf32>
  %g21 = linalg.fill ins(%zero : f32) outs(%g20 : tensor<32x4xf32>) -> tensor<32x4xf32>
  %g2 = linalg.matmul_transpose_a ins(%r, %d : tensor<8x32xf32>, tensor<8x4xf32>) outs(%g21 : tensor<32x4xf32>) -> tensor<32x4xf32>
  %e0 = tensor.empty() : tensor<8x32xf32>
  %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %e = linalg.matmul_transpose_b ins(%d, %w2 : tensor<8x4xf32>, tensor<32x4xf32>) outs(%e1 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %g10 = tensor.empty() : tensor<16x32xf32>
  %g11 = linalg.fill ins(%zero : f32) outs(%g10 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %g1 = linalg.matmul_transpose_a ins(%x, %e : tensor<8x16xf32>, tensor<8x32xf32>) outs(%g11 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %n1 = linalg.sub ins(%w1, %g1 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%w1 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %n2 = linalg.sub ins(%w2, %g2 : tensor<32x4xf32>, tensor<32x4xf32>) outs(%w2 : tensor<32x4xf32>) -> tensor<32x4xf32>
  return %n1, %n2 : tensor<16x32xf32>, tensor<32x4xf32>
}
