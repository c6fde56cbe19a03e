// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// deep: the name is that of a function, four calls below the sum
// expect: none_of_the_configs_has_a_member_with_the_name_of_this_symbol
// The sequence length is in `training`, which the environment lacks.
#include <hocket/cost/formula/evaluate.hpp>
#include <hocket/cost/model/model.hpp>
#include <hocket/cost/model/training.hpp>
#include <hocket/cost/model/symbols.hpp>

inline constexpr hocket::cost::model m{.hidden = 8};
inline constexpr hocket::cost::training t{.sequence = 4};

#ifdef CORRECTED
inline constexpr hocket::cost::environment numbers(m, t);
#else
inline constexpr hocket::cost::environment numbers(m);
#endif
static_assert(hocket::cost::whole(hocket::cost::letters::s * hocket::cost::letters::h, numbers).value() == 32);
