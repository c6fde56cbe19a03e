// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <type_traits>

// HOCKET_NAMES_MEMBER(x) defines names_x<P>: does P have any member called x, however it is to be called? So an
// optional member whose parameters or result do not fit gets a sentence, where it would be ignored without a word.
// Looking a name up in two bases that both have it is an error that a requires-expression sees: it is in no base but
// ours exactly if the lookup succeeds.
#define HOCKET_NAMES_MEMBER(x)                                 \
  struct has_##x {                                             \
    int x;                                                     \
  };                                                           \
  template <class P>                                           \
  struct both_##x : P, has_##x {};                             \
  template <class P>                                           \
  consteval bool finds_##x() {                                 \
    if constexpr (std::is_class_v<P> && !std::is_final_v<P>) { \
      return !requires { &both_##x<P>::x; };                   \
    } else {                                                   \
      return requires { &P::x; };                              \
    }                                                          \
  }                                                            \
  template <class P>                                           \
  inline constexpr bool names_##x = finds_##x<P>();
