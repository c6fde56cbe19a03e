// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library to preload: the functions of Paddle's executor that hocket replaces. HOCKET_PADDLE says what they do:
//
//   replace            hocket builds the dependencies
//   compare            Paddle builds them, and a line on stderr says how ours differ
//   compare:FOLDER     … and both are written into the folder
//   off, or nothing    Paddle alone, without a word
//
// With another value, another version of Paddle, or anything that does not fit, Paddle's own functions go on as ever.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "drop_in.hpp"

namespace {

using namespace example;

constexpr const char* build_name =
    "_ZN6paddle9framework11interpreter20PirDependencyBuilder5BuildESt6vectorIPNS0_15InstructionBaseESaIS5_EE";
constexpr const char* construct_name = "_ZN6paddle9framework11interpreter20PirDependencyBuilderC1Ev";
constexpr const char* destroy_name = "_ZN6paddle9framework11interpreter20PirDependencyBuilderD1Ev";
constexpr const char* shrink_name =
    "_ZNK6paddle9framework11interpreter17PirStreamAnalyzer15ShrinkEventInfoERKNS1_"
    "20PirDependencyBuilderEPSt3mapIPKN3phi"
    "13DeviceContextES6_ImSt3setImSt4lessImESaImEESD_SaISt4pairIKmSF_EEESC_ISA_ESaISG_IKSA_SK_EEE";

// The file that holds a function or one of its instructions.
std::string file_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// A function of libpaddle.so, or null. Its symbols are not global, so the library is asked by name.
template <class Function>
Function find(void* library, const char* name) {
  void* const symbol = library == nullptr ? nullptr : dlsym(library, name);
  Function f = nullptr;
  std::memcpy(&f, &symbol, sizeof f);
  return f;
}

std::string version_beside(const std::string& libpaddle) {
  const std::size_t base = libpaddle.rfind("/base/");
  std::ifstream in(libpaddle.substr(0, base == std::string::npos ? 0 : base) + "/version/__init__.py");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find('\'');
    if (line.starts_with("full_version") && first != std::string::npos)
      return line.substr(first + 1, line.find('\'', first + 1) - first - 1);
  }
  return "";
}

constexpr unsigned char untouched = 0xa5;

// Has somebody put an object and its count here?
template <class T>
bool is_set(const std::shared_ptr<T>& p) {
  const void *words[2], *unset;
  static_assert(sizeof words == sizeof p);
  std::memcpy(words, &p, sizeof words);
  std::memset(&unset, untouched, sizeof unset);
  for (const void* const word : words)
    if (word == nullptr || word == unset) return false;
  return p.use_count() == 1;
}

// Does Paddle's constructor write what our declaration says, and not one byte more?
bool layout_fits(void* library) {
  const auto construct = find<void (*)(void*)>(library, construct_name);
  const auto destroy = find<void (*)(void*)>(library, destroy_name);
  if (construct == nullptr || destroy == nullptr) return false;
  constexpr std::size_t margin = 64;
  alignas(builder) unsigned char bytes[sizeof(builder) + margin];
  std::memset(bytes, untouched, sizeof bytes);
  construct(bytes);
  const builder& b = *std::launder(reinterpret_cast<const builder*>(bytes));
  bool fits = is_set(b.op_downstream_map_) && is_set(b.op_happens_before_) && b.op_downstream_map_->empty() &&
              b.op_happens_before_->empty() && b.instructions_ == nullptr && b.ops_before_.empty() &&
              b.ops_behind_.empty() && b.pir_instructions_.empty() && !b.is_build_;
  for (std::size_t i = sizeof(builder); i < sizeof bytes; ++i) fits = fits && bytes[i] == untouched;
  if (fits) destroy(bytes);
  return fits;
}

class replacement {
 public:
  explicit replacement(const void* caller) : libpaddle_(file_of(caller)) {
    void* const library = dlopen(libpaddle_.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    build_ = find<build_function>(library, build_name);
    shrink_ = find<shrink_function>(library, shrink_name);
    const char* const wish = std::getenv("HOCKET_PADDLE");
    const std::string_view mode = wish == nullptr ? "" : wish;
    if (mode.empty() || mode == "off") return;
    const std::string reason = load(library, mode);
    if (reason.empty()) return;
    drop_in_ = nullptr;
    std::fprintf(stderr, "hocket: Paddle builds its dependencies itself, because %s\n", reason.c_str());
  }

  /// Paddle's own functions.
  [[nodiscard]] build_function build() const {
    if (build_ == nullptr) throw std::runtime_error("hocket: " + libpaddle_ + " has no PirDependencyBuilder::Build");
    return build_;
  }
  [[nodiscard]] shrink_function shrink() const {
    if (shrink_ == nullptr) throw std::runtime_error("hocket: " + libpaddle_ + " has no ShrinkEventInfo");
    return shrink_;
  }
  [[nodiscard]] const drop_in* replaces() const noexcept { return compares_ ? nullptr : drop_in_; }
  [[nodiscard]] const drop_in* compares() const noexcept { return compares_ ? drop_in_ : nullptr; }
  [[nodiscard]] const char* folder() const noexcept { return folder_.empty() ? nullptr : folder_.c_str(); }

 private:
  // Why hocket cannot be used; empty if it can.
  std::string load(void* library, std::string_view mode) {
    constexpr std::string_view compare = "compare", folder = "compare:";
    compares_ = mode.starts_with(compare);
    if (mode.starts_with(folder)) folder_ = mode.substr(folder.size());
    else if (mode != compare && mode != "replace") return "HOCKET_PADDLE is neither compare nor replace";
    if (const std::string found = version_beside(libpaddle_); found != HOCKET_PADDLE_VERSION)
      return "the drop-in was built for version " HOCKET_PADDLE_VERSION " and this one is " +
             (found.empty() ? "unknown" : found);
    if (build_ == nullptr || shrink_ == nullptr) return "a function that the drop-in replaces is missing";
    if (!layout_fits(library)) return "its dependency builder has another layout than the drop-in's";
    const std::string here = file_of(reinterpret_cast<const void*>(&file_of));
    const std::string path = here.substr(0, here.rfind('/') + 1) + "libhocket_paddle.so";
    void* const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // a missing symbol ends here
    if (loaded == nullptr) return dlerror();
    const auto get = find<decltype(&hocket_paddle_drop_in)>(loaded, "hocket_paddle_drop_in");
    if (get == nullptr) return path + " is no drop-in";
    drop_in_ = get();
    return "";
  }

  std::string libpaddle_, folder_;
  build_function build_ = nullptr;
  shrink_function shrink_ = nullptr;
  const drop_in* drop_in_ = nullptr;  // null: Paddle alone
  bool compares_ = false;
};

const replacement& loaded(const void* caller) {
  static const replacement once(caller);
  return once;
}

}  // namespace

namespace paddle::framework::interpreter {

const downstream_map& PirDependencyBuilder::Build(std::vector<InstructionBase*> list) {
  const replacement& r = loaded(__builtin_return_address(0));
  if (is_build_) return *op_downstream_map_;
  if (const drop_in* const ours = r.replaces(); ours != nullptr && ours->replace(*this, list))
    return *op_downstream_map_;
  const drop_in* const compared = r.compares();
  if (compared == nullptr) return r.build()(this, list);
  const double start = compared->now_us();
  const downstream_map& built = r.build()(this, list);
  compared->compare(*this, list, compared->now_us() - start, r.folder());
  return built;
}

void PirStreamAnalyzer::ShrinkEventInfo(const PirDependencyBuilder& builder, event_map* events) const {
  const replacement& r = loaded(__builtin_return_address(0));
  if (const drop_in* const ours = r.replaces(); ours != nullptr) ours->before_shrink(builder, *events);
  r.shrink()(this, builder, events);
}

}  // namespace paddle::framework::interpreter
