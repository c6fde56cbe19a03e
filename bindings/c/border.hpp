// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the functions of hocket.h share: how a failure becomes a status and a sentence. Nothing here is exported.
#pragma once
#include <hocket/hocket.h>
#include <hocket/core.hpp>
#include <hocket/core/message.hpp>

#include <cstring>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hocket_c {

// Cut where it does not fit, not within a character of UTF-8.
inline void say(hocket_error* error, std::string_view sentence) noexcept {
  if (error == nullptr) return;
  std::size_t length = sentence.size() < sizeof error->sentence ? sentence.size() : sizeof error->sentence - 1;
  if (length < sentence.size())
    while (length > 0 && (static_cast<unsigned char>(sentence[length]) & 0xc0u) == 0x80u) --length;
  if (length > 0) std::memcpy(error->sentence, sentence.data(), length);
  error->sentence[length] = '\0';
}

inline hocket_status fail(hocket_error* error, hocket_status status, std::string_view sentence) noexcept {
  say(error, sentence);
  return status;
}
inline hocket_status refuse(hocket_error* error, std::string_view sentence) noexcept {
  return fail(error, HOCKET_BAD_INPUT, sentence);
}
inline hocket_status refuse(hocket_error* error, const hocket::error& why) {
  const hocket_status status = why.code == hocket::errc::out_of_memory ? HOCKET_OUT_OF_MEMORY
                             : why.code == hocket::errc::wrong_answer  ? HOCKET_INTERNAL
                                                                       : HOCKET_BAD_INPUT;
  return fail(error, status, message(why));
}

// A pointer that must not be null, and what the sentence calls it.
struct required {
  const char* name;
  const void* pointer;
};
// Of an array: without entries it may be null.
inline required array(const char* name, const void* pointer, std::size_t count) noexcept {
  return {name, count == 0 ? name : pointer};
}

// Runs act(), which gives a status, if no pointer is null. What it throws becomes a status, too.
template <class Act>
hocket_status guarded(hocket_error* error, std::initializer_list<required> pointers, Act&& act) noexcept {
  say(error, "");
#if HOCKET_HAS_EXCEPTIONS
  try {
#endif
    for (const required& r : pointers)
      if (r.pointer == nullptr) return refuse(error, std::string(r.name) + " is a null pointer");
    return act();
#if HOCKET_HAS_EXCEPTIONS
  } catch (const std::bad_alloc&) {
    return fail(error, HOCKET_OUT_OF_MEMORY, "out of memory");
  } catch (const std::length_error&) {  // more than the address space has
    return fail(error, HOCKET_OUT_OF_MEMORY, "out of memory");
  } catch (...) {
    return fail(error, HOCKET_INTERNAL, "unexpected exception: a defect of the library");
  }
#endif
}

// A copy that the caller destroys.
inline char* copy_of(std::string_view text) {
  char* const copy = new char[text.size() + 1];
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace hocket_c
