// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gunzip.hpp"

#include <zlib.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <string>

#include "failure.hpp"

namespace hocket_cli {

namespace {

constexpr std::size_t max_content = std::size_t{1} << 30;

// A zlib stream that reads gzip members, one after another, from a file.
class gzip_stream {
 public:
  explicit gzip_stream(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) fail("cannot read " + path);
    if (inflateInit2(&zlib_, 16 + MAX_WBITS) != Z_OK) fail("zlib cannot begin");
  }
  ~gzip_stream() { inflateEnd(&zlib_); }
  gzip_stream(const gzip_stream&) = delete;
  gzip_stream& operator=(const gzip_stream&) = delete;

  // Appends all members to `out`.
  void read_all(std::string& out) {
    do {
      read_member(out);
      inflateReset(&zlib_);
    } while (has_input());
  }

 private:
  void read_member(std::string& out) {
    int state = Z_OK;
    while (state != Z_STREAM_END) {
      if (!has_input()) fail(path_ + ": the compressed data ends early");
      zlib_.next_out = unpacked_.data();
      zlib_.avail_out = static_cast<uInt>(unpacked_.size());
      state = inflate(&zlib_, Z_NO_FLUSH);
      if (state != Z_OK && state != Z_STREAM_END) fail(path_ + ": the compressed data is damaged");
      const std::size_t count = unpacked_.size() - zlib_.avail_out;
      if (out.size() + count > max_content) fail(path_ + ": holds more than 1 GiB");
      out.append(unpacked_.begin(), unpacked_.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }
  // Whether bytes are left, which are read from the file as they are needed.
  bool has_input() {
    if (zlib_.avail_in > 0) return true;
    file_.read(packed_.data(), static_cast<std::streamsize>(packed_.size()));
    // zlib takes unsigned bytes, and writes nothing there.
    zlib_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    zlib_.avail_in = static_cast<uInt>(file_.gcount());
    return zlib_.avail_in > 0;
  }

  const std::string& path_;
  std::ifstream file_;
  z_stream zlib_{};
  std::array<char, std::size_t{1} << 16> packed_{};
  std::array<unsigned char, std::size_t{1} << 16> unpacked_{};
};

}  // namespace

std::string read_compressed(const std::string& path) {
  std::string out;
  gzip_stream(path).read_all(out);
  if (out.find('\0') != out.npos) fail(path + ": holds a zero byte, so it is no text");
  return out;
}

}  // namespace hocket_cli
