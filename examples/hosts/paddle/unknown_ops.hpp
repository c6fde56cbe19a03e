// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace example {

/// Says on stderr, once in the process for each op, that it is taken to touch everything.
inline void warn_of_unknown_ops(const std::vector<std::string>& names) {
  static std::mutex guard;
  static std::set<std::string> said;
  for (const std::string& name : names) {
    const std::scoped_lock lock(guard);
    if (!said.insert(name).second) continue;
    std::fprintf(stderr, "hocket: Paddle does not say what %s reads and writes, so no other op runs at the same time\n",
                 name.c_str());
  }
}

}  // namespace example
