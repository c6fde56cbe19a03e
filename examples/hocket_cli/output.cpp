// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that the tool writes: beside their place first, and renamed when they are whole. Whatever happens on the way, a
// full disk or an interrupt, the old file or the new one is there.
#include "output.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "command.hpp"

#ifdef _WIN32
#include <io.h>
#include <process.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

namespace hocket_cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(const fs::path& path) { fail("cannot write " + path.string()); }

/// A name in that folder that no other run of the tool has.
fs::path spare_name(const fs::path& folder) {
  static int count = 0;
#ifdef _WIN32
  const int process = _getpid();
#else
  const int process = static_cast<int>(getpid());
#endif
  return folder / (".hocket-" + std::to_string(process) + "-" + std::to_string(count++) + ".tmp");
}

/// Where a path leads through symbolic links: the link stays, what it names is replaced.
fs::path resolved(const fs::path& path) {
  constexpr int most_links = 40;  // as Linux follows
  fs::path end = path;
  std::error_code failed;
  for (int i = 0; i < most_links && fs::is_symlink(end, failed); ++i) {
    const fs::path next = fs::read_symlink(end, failed);
    if (failed) break;
    end = end.parent_path() / next;  // the link alone if it is absolute
  }
  return end;
}

/// Whether a file that is there may be written: renaming would not ask.
bool is_protected(const fs::path& path) {
#ifdef _WIN32
  return false;
#else
  std::error_code none;
  return fs::exists(path, none) && access(path.c_str(), W_OK) != 0;
#endif
}

/// Whether the path names something to write into, and not to replace: a device, a pipe, a terminal.
bool is_special(const fs::path& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// Waits until what was written is on the disk, so that a crash of the machine, too, leaves the old file or the new
/// one. False if it could not be written; what cannot be waited for (a file system without it) is as it is.
bool is_on_disk(std::FILE* file) {
  if (std::fflush(file) != 0) return false;
#ifdef _WIN32
  return _commit(_fileno(file)) == 0 || errno != EIO;
#else
  return fsync(fileno(file)) == 0 || (errno != EIO && errno != ENOSPC && errno != EDQUOT);
#endif
}

/// The same for the names in a folder, as far as the system can.
void keep_names(const fs::path& folder) noexcept {
#ifndef _WIN32
  const int opened = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  (void)fsync(opened);
  (void)close(opened);
#else
  (void)folder;
#endif
}

/// A file under a spare name, which is gone at the end unless it was put into its place.
class spare_file {
 public:
  /// Writes all of it; the spare file is gone if it cannot be written.
  spare_file(const fs::path& folder, const fs::path& place, std::string_view data)
      : name_(spare_name(folder)), place_(resolved(place)) {
    if (is_protected(place_)) cannot_write(place);
    std::FILE* const file = std::fopen(name_.string().c_str(), "wbx");
    if (file == nullptr) cannot_write(place);
    const bool whole = std::fwrite(data.data(), 1, data.size(), file) == data.size() && is_on_disk(file);
    const bool closed = std::fclose(file) == 0;
    if (!whole || !closed) {
      remove();
      cannot_write(place);
    }
    std::error_code none;
    const fs::file_status old = fs::status(place_, none);
    if (fs::is_regular_file(old)) fs::permissions(name_, old.permissions(), none);
  }
  spare_file(const spare_file&) = delete;
  spare_file& operator=(const spare_file&) = delete;
  ~spare_file() { remove(); }

  void put_into_place() {
    std::error_code failed;
    fs::rename(name_, place_, failed);
    if (failed) cannot_write(place_);
  }

 private:
  void remove() noexcept {
    std::error_code none;
    fs::remove(name_, none);
  }

  fs::path name_, place_;
};

fs::path folder_of(const fs::path& path) {
  const fs::path folder = resolved(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

void write_to_standard_output(std::string_view data) {
  errno = 0;
  std::cout.write(data.data(), static_cast<std::streamsize>(data.size()));
  std::cout.flush();
  constexpr int reader_gone = 141;  // 128 + SIGPIPE, as shells count; head has what it wants, so nothing is said
  if (!std::cout && errno == EPIPE) throw failure{reader_gone, ""};
  if (!std::cout) fail("cannot write to standard output");
}

void write_into(const fs::path& path, std::string_view data) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(data.data(), static_cast<std::streamsize>(data.size()));
  file.close();
  if (!file) cannot_write(path);
}

/// The files that options of this run name. Files are the same if their paths are, or lead to one file.
std::vector<fs::path>& claimed() {
  static std::vector<fs::path> paths;
  return paths;
}

}  // namespace

std::string has_folder(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code none;
  if (!folder.empty() && !fs::is_directory(folder, none)) fail("cannot write " + path);
  if (is_special(path)) return {};
  const fs::path whole = fs::weakly_canonical(resolved(path), none);
  for (const fs::path& other : claimed())
    if (other == whole || fs::equivalent(other, whole, none))
      throw failure{2, "two options write to " + path + ": each needs a file of its own"};
  claimed().push_back(whole);
  return {};
}

void write_file(const std::string& path, std::string_view data) {
  if (path.empty()) return write_to_standard_output(data);
  if (is_special(path)) return write_into(path, data);
  spare_file(folder_of(path), path, data).put_into_place();
  keep_names(folder_of(path));
}

void write_folder(const std::string& folder, const std::vector<named_data>& files,
                  const std::vector<std::string>& outdated) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) fail("cannot make the folder " + folder + ": " + failed.message());
  for (const named_data& file : files)
    if (fs::is_directory(fs::path(folder) / file.name, failed)) cannot_write(fs::path(folder) / file.name);
  std::vector<std::unique_ptr<spare_file>> spare;
  for (const named_data& file : files)
    spare.push_back(std::make_unique<spare_file>(folder, fs::path(folder) / file.name, file.data));
  // From here on nothing is written any more. Without its marker a folder is not whole, so that goes first.
  fs::remove(fs::path(folder) / files.back().name, failed);
  for (const std::string& name : outdated) fs::remove(fs::path(folder) / name, failed);
  keep_names(folder);
  for (const auto& file : spare) {
    if (&file == &spare.back()) keep_names(folder);  // the marker comes after all others, on the disk too
    file->put_into_place();
  }
  keep_names(folder);
}

}  // namespace hocket_cli
