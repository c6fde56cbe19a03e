// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes MindSpore's CPU wheel compile graphs for Ascend devices: no device, no CANN, compile only. The parallel passes
// refuse a CPU, and the wheel's stand-in for a communication manager says that the world has 2048 ranks. This registers
// the target by an exported function, and replaces the manager's GetRankSize, found in its virtual table by the
// constant 2048.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
namespace mindspore {
class MsContext {
 public:
  static void RegisterInitFunc(const std::string& name, void (*func)(MsContext*));
};
class CommManager {
 public:
  static CommManager& GetInstance() noexcept;
};
}  // namespace mindspore
static unsigned world = 8;
static bool rank_size(void*, const std::string*, unsigned* n) {
  *n = world;
  return true;
}
static void nothing(mindspore::MsContext*) {}
extern "C" void fake_ascend() { mindspore::MsContext::RegisterInitFunc("Ascend", nothing); }
extern "C" int fake_world(unsigned n) {
  world = n;
  void*** object = reinterpret_cast<void***>(&mindspore::CommManager::GetInstance());
  static void* table[34];
  std::memcpy(table, *object - 2, sizeof table);
  for (int i = 2; i < 10; ++i) {
    const unsigned char* code = static_cast<const unsigned char*>(table[i]);
    for (int k = 0; k < 24; ++k) {
      std::uint32_t imm;
      std::memcpy(&imm, code + k, 4);
      if (imm != 2048) continue;
      table[i] = reinterpret_cast<void*>(rank_size);
      *object = table + 2;
      return i - 2;
    }
  }
  return -1;
}
