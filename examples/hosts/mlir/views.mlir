// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory seen through views, memory of unknown origin, and a call of unknown effects.
func.func private @log(memref<?xf32>)

func.func @views(%a: memref<64xf32>, %b: memref<64xf32>, %either: i1) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %i = arith.constant 3 : index
  %head = memref.subview %a[0] [32] [1] : memref<64xf32> to memref<32xf32, strided<[1]>>
  %any = memref.cast %a : memref<64xf32> to memref<?xf32>
  memref.store %one, %b[%i] : memref<64xf32>
  memref.store %one, %head[%i] : memref<32xf32, strided<[1]>>
  %x = memref.load %any[%i] : memref<?xf32>
  %own = memref.alloc() : memref<64xf32>
  memref.store %x, %own[%i] : memref<64xf32>
  func.call @log(%any) : (memref<?xf32>) -> ()
  %y = memref.load %b[%i] : memref<64xf32>
  memref.store %y, %a[%i] : memref<64xf32>
  %z = memref.load %own[%i] : memref<64xf32>
  %chosen = arith.select %either, %a, %b : memref<64xf32>
  memref.store %two, %chosen[%i] : memref<64xf32>
  %u = memref.load %b[%i] : memref<64xf32>
  memref.dealloc %own : memref<64xf32>
  return
}
