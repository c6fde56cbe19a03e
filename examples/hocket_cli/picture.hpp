// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures: in which form, and PNG, which another program makes of an SVG.
#pragma once
#include <string>
#include <string_view>

namespace hocket_cli {

/// The format of a picture: the one that is given, else what the name of its file ends in (.svg, .json, .txt, .png),
/// else a text for a terminal, else svg.
std::string picture_format(const std::string& given, const std::string& out);

/// Ends a command with a PNG: has rsvg-convert draw the SVG into the file. Fails in one sentence if the file has no
/// name, or that program is not there.
void give_png(const std::string& out, std::string_view svg, std::string_view summary);

}  // namespace hocket_cli
