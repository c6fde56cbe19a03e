// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the check alone: a drop-in that needs a function which this Paddle does not have.
extern "C" {
void paddle_has_no_such_function();
const void* hocket_paddle_drop_in() {
  paddle_has_no_such_function();
  return nullptr;
}
}
