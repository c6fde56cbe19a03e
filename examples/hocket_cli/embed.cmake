# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes a header of text files: cmake -DOUT=FILE -DFILES=a.html;b.css -P embed.cmake. Each becomes a function that
# returns its text, named after it: report.css is report_css(). Bytes, so that no compiler minds the length of a literal.
set(text "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n// Made by embed.cmake.\n")
string(APPEND text "#pragma once\n#include <string_view>\n\n")
string(APPEND text "namespace hocket_cli {\n")
foreach(file IN LISTS FILES)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  get_filename_component(name "${file}" NAME)
  string(REPLACE "." "_" name "${name}")
  string(APPEND text "inline constexpr unsigned char ${name}_bytes[] = {${bytes}};\n"
    "inline std::string_view ${name}() { return {reinterpret_cast<const char*>(${name}_bytes), sizeof ${name}_bytes}; }\n")
endforeach()
file(WRITE "${OUT}" "${text}}  // namespace hocket_cli\n")
