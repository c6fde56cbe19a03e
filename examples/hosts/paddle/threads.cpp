// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the check alone, preloaded too: Paddle's CPU executor always takes four threads; here it takes as many as
// HOCKET_PADDLE_THREADS says, so that an answer can be seen not to depend on their number.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace phi {
class Place;
}

namespace paddle::framework::interpreter {

struct ExecutionConfig {
  void AnalyzeThreadPoolConfig(const phi::Place& place, std::size_t ops);

  bool switches[5];
  std::size_t device_num_threads;
  std::size_t host_num_threads;
};

void ExecutionConfig::AnalyzeThreadPoolConfig(const phi::Place& place, std::size_t ops) {
  using function = void (*)(ExecutionConfig*, const phi::Place&, std::size_t);
  void* const library = dlopen("libpaddle.so", RTLD_NOLOAD | RTLD_LAZY);
  void* const symbol =
      dlsym(library, "_ZN6paddle9framework11interpreter15ExecutionConfig23AnalyzeThreadPoolConfigERKN3phi5PlaceEm");
  function own = nullptr;
  std::memcpy(&own, &symbol, sizeof own);
  own(this, place, ops);
  const char* const wish = std::getenv("HOCKET_PADDLE_THREADS");
  if (wish == nullptr) return;
  if (device_num_threads != 0 || host_num_threads != 4) {
    std::fprintf(stderr, "hocket: Paddle has another number of threads than expected\n");
    std::exit(1);
  }
  host_num_threads = std::strtoul(wish, nullptr, 10);
}

}  // namespace paddle::framework::interpreter
