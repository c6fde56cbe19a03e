// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A host translation unit against the real CUDA runtime: no nvcc needed, only its header and libcudart. Reports what is
// there, and that no call of a backend without a device does anything but return its code. 77: no device.
#include <hocket/launch.hpp>
#include <hocket/launch/backends/cuda.hpp>

#include <cstdio>

int main() {
  using namespace hocket::launch;
  const device_probe found = cuda_backend::probe();
  std::printf("cuda: %s (code %lld), %d devices\n", to_string(found.state).data(), static_cast<long long>(found.code),
              found.devices);
  if (found) return 0;

  cuda_backend cuda;
  event_pool events(cuda);
  const auto list = command_list::make(std::vector{run_op(0, 0), record_event(0, 0), wait_event(0, 1)}, 2).value();
  const auto ready = events.prepare(list);
  const bool refused = !ready && ready.error().code == hocket::errc::event_not_created &&
                       ready.error().values[2] == found.code && events.size() == 0;
  cudaStream_t stream = nullptr;
  const cudaError_t status = cuda.create_stream(stream);
  const bool right =
      refused && static_cast<long long>(status) == found.code && stream == nullptr &&
      (found.code != 35 || found.state == device_state::no_driver || found.state == device_state::old_driver);
  std::printf("%s: %s\n", right ? "every call says so, and nothing else happens" : "WRONG", cuda_backend::text(status));
  return right ? 77 : 1;
}
