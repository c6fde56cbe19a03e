// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hocket doctor: what this tool was built with, and what it finds on this machine.
#include <CLI/Version.hpp>
#include <bit>
#include <boost/version.hpp>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>
#ifndef _WIN32
#include <dlfcn.h>
#include <sys/utsname.h>
#endif

#include "command.hpp"
#include "defaults.hpp"
#include "terminal.hpp"

namespace hocket_cli {
namespace {

struct fact {
  std::string group, key, value;
  bool missing = false;
  nlohmann::ordered_json exact = nullptr;  ///< the value in JSON, if it is no text
};

fact number(const char* group, const std::string& key, std::int64_t value) {
  return {group, key, std::to_string(value), false, value};
}
fact truth(const char* group, const char* key, bool value, const char* yes = "on", const char* no = "off") {
  return {group, key, value ? yes : no, false, value};
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#elif defined(_MSC_VER)
  return "MSVC " + std::to_string(_MSC_VER);
#else
  return "unknown";
#endif
}

std::string standard_library() {
#if defined(_LIBCPP_VERSION)
  return "libc++ " + std::to_string(_LIBCPP_VERSION);
#elif defined(_GLIBCXX_RELEASE)
  return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE);
#else
  return "unknown";
#endif
}

std::string dotted(long a, long b, long c) {
  return std::to_string(a) + '.' + std::to_string(b) + '.' + std::to_string(c);
}

void add_build(std::vector<fact>& all) {
  all.push_back({"build", "hocket", HOCKET_VERSION_STRING});
  all.push_back({"build", "compiler", compiler()});
  all.push_back({"build", "language", "C++ " + std::to_string(__cplusplus)});
  all.push_back({"build", "standard_library", standard_library()});
#ifdef NDEBUG
  all.push_back(truth("build", "assertions", false));
#else
  all.push_back(truth("build", "assertions", true));
#endif
  all.push_back(truth("build", "exceptions", HOCKET_HAS_EXCEPTIONS != 0));
#ifdef __SIZEOF_INT128__
  all.push_back(truth("build", "integers_of_128_bits", true, "yes", "no"));
#else
  all.push_back(truth("build", "integers_of_128_bits", false, "yes", "no"));
  all.back().missing = true;
#endif
}

#if __has_include(<range/v3/version.hpp>)
constexpr bool has_range_v3 = true;
#else
constexpr bool has_range_v3 = false;
#endif
#if __has_include(<Eigen/Core>) || __has_include(<eigen3/Eigen/Core>)
constexpr bool has_eigen = true;
#else
constexpr bool has_eigen = false;
#endif
#if __has_include(<catch2/catch.hpp>) || __has_include(<catch2/catch_all.hpp>)
constexpr bool has_catch2 = true;
#else
constexpr bool has_catch2 = false;
#endif
#if __has_include(<benchmark/benchmark.h>)
constexpr bool has_google_benchmark = true;
#else
constexpr bool has_google_benchmark = false;
#endif
/// A package that some part of hocket can use: whether its headers were there when the tool was built.
fact found(const char* name, bool there, const char* for_what) {
  return {"dependencies", name, there ? "found" : std::string("not found, for ") + for_what, !there};
}

void add_dependencies(std::vector<fact>& all) {
  all.push_back({"dependencies", "cli11", CLI11_VERSION});
  all.push_back({"dependencies", "nlohmann_json",
                 dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)});
  all.push_back(
      {"dependencies", "boost", dotted(BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)});
  all.push_back(found("range_v3", has_range_v3, "hocket::range_v3"));
  all.push_back(found("eigen", has_eigen, "the training example"));
  all.push_back(found("catch2", has_catch2, "the tests"));
  all.push_back(found("google_benchmark", has_google_benchmark, "the benchmarks"));
}

#ifdef _WIN32
void add_devices(std::vector<fact>& all) {
  all.push_back({"devices", "cuda", "not looked for on Windows", true});
  all.push_back({"devices", "cann", "not looked for on Windows", true});
}
#else

template <class F>
F* symbol(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

void add_cuda_devices(void* driver, std::vector<fact>& all) {
  const auto init = symbol<int(unsigned)>(driver, "cuInit");
  const auto version = symbol<int(int*)>(driver, "cuDriverGetVersion");
  const auto count = symbol<int(int*)>(driver, "cuDeviceGetCount");
  const auto name_of = symbol<int(char*, int, int)>(driver, "cuDeviceGetName");
  if (init == nullptr || version == nullptr || count == nullptr || name_of == nullptr) {
    all.push_back({"devices", "cuda", "libcuda.so.1 lacks functions of the driver", true});
    return;
  }
  int v = 0, devices = 0;
  version(&v);
  all.push_back(
      {"devices", "cuda", "driver for CUDA " + std::to_string(v / 1000) + '.' + std::to_string(v % 1000 / 10)});
  if (const int error = init(0); error != 0 || count(&devices) != 0) {
    all.push_back(number("devices", "cuda_devices", 0));
    all.back().missing = true;
    return;
  }
  all.push_back(number("devices", "cuda_devices", devices));
  all.back().missing = devices == 0;
  for (int i = 0; i < devices; ++i) {
    char name[256] = "";
    if (name_of(name, sizeof name - 1, i) == 0)
      all.push_back({"devices", "cuda_device_" + std::to_string(i), hocket::to_printable(name)});
  }
}

// The libraries are opened by name, as launch/ does: nothing is linked, so a machine without them is no error.
void add_devices(std::vector<fact>& all) {
  if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL); driver != nullptr)
    add_cuda_devices(driver, all);  // left open: drivers do not like to be closed
  else all.push_back({"devices", "cuda", "no libcuda.so.1", true});
  void* const runtime = dlopen("libascendcl.so", RTLD_LAZY | RTLD_LOCAL);
  if (runtime == nullptr) {
    all.push_back({"devices", "cann", "no libascendcl.so", true});
    return;
  }
  std::int32_t a = 0, b = 0, c = 0;
  const auto version = symbol<int(std::int32_t*, std::int32_t*, std::int32_t*)>(runtime, "aclrtGetVersion");
  const bool known = version != nullptr && version(&a, &b, &c) == 0;
  all.push_back({"devices", "cann", known ? "AscendCL " + dotted(a, b, c) : "libascendcl.so, of unknown version"});
}
#endif

void add_machine(std::vector<fact>& all) {
#ifdef _WIN32
  all.push_back({"machine", "system", "Windows"});
#else
  utsname name{};
  if (uname(&name) == 0)
    all.push_back({"machine", "system", std::string(name.sysname) + ' ' + name.release + ' ' + name.machine});
#endif
  all.push_back(number("machine", "threads", std::thread::hardware_concurrency()));
  all.push_back({"machine", "endianness", std::endian::native == std::endian::little ? "little" : "big"});
  all.push_back(number("machine", "pointer_bits", 8 * sizeof(void*)));
  all.push_back(number("machine", "long_bits", 8 * sizeof(long)));
}

void add_defaults(std::vector<fact>& all) {
  const defaults_file& file = file_of_this_run();
  all.push_back({"defaults", "file", file.text.empty() ? "none" : hocket::to_printable(file.text), file.is_bad});
}

std::string as_text(const std::vector<fact>& all, bool to_terminal) {
  std::string out, group;
  for (const fact& x : all) {
    if (x.group != group) out += (out.empty() ? "" : "\n") + x.group + '\n';
    group = x.group;
    std::string key = x.key;
    key.resize((std::max)(std::size_t{22}, key.size()), ' ');
    out += "  " + key + ' ' + (to_terminal ? coloured(x.value, x.missing ? ink::soft : ink::good, 1) : x.value) + '\n';
  }
  return out;
}

std::string as_json(const std::vector<fact>& all) {
  nlohmann::ordered_json out = {{"version", 1}};
  for (const fact& x : all) {
    if (x.exact.is_null()) out[x.group][x.key] = x.value;
    else out[x.group][x.key] = x.exact;
  }
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

void doctor(const std::string& out) {
  std::vector<fact> all;
  add_build(all);
  add_dependencies(all);
  add_devices(all);
  add_machine(all);
  add_defaults(all);
  std::size_t missing = 0;
  for (const fact& x : all) missing += x.missing ? 1 : 0;
  give(out, this_run().json ? as_json(all) : as_text(all, out.empty()),
       "facts=" + std::to_string(all.size()) + " missing=" + std::to_string(missing));
}

}  // namespace

void add_doctor(CLI::App& app) {
  const auto out = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("doctor", "What this tool was built with, and what it finds on this machine");
  add_out(*command, *out);
  command->callback([out] { doctor(*out); });
}

}  // namespace hocket_cli
