// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Macros that system headers and frameworks really define: <complex.h> (I), Windows (small, min, max), <termios.h>
// (B0), <sys/sysmacros.h> (major, minor), and single letters that hosts use for sizes.
#pragma once
#define I hocket_macro_trap !
#define N hocket_macro_trap !
#define B0 hocket_macro_trap !
#define small hocket_macro_trap !
#define major hocket_macro_trap !
#define minor hocket_macro_trap !
#define min(a, b) hocket_macro_trap !
#define max(a, b) hocket_macro_trap !
