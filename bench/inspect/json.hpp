// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Writing of one JSON object on one line.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace inspect {

/// Bytes of the UTF-8 character that the text starts with, or 0 if it starts with none: stray,
/// overlong, surrogate, beyond U+10FFFF or cut short.
inline std::size_t utf8_length(std::string_view text) {
  auto const byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  auto const follows = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80; };
  unsigned const b   = byte(0);
  if (b < 0x80) return text.empty() ? 0 : 1;
  if (b >= 0xc2 && b <= 0xdf) return follows(1) ? 2 : 0;
  if (b >= 0xe0 && b <= 0xef) {
    if ((b == 0xe0 && byte(1) < 0xa0) || (b == 0xed && byte(1) > 0x9f)) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (b >= 0xf0 && b <= 0xf4) {
    if ((b == 0xf0 && byte(1) < 0x90) || (b == 0xf4 && byte(1) > 0x8f)) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

/// A JSON string with its quotes.
inline std::string json_quoted(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    std::size_t const length = utf8_length(text);
    auto const c             = static_cast<unsigned char>(text.front());
    if (length == 0) {
      quoted += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      quoted += {'\\', text.front()};
    } else if (c < 0x20 || c == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", unsigned{c});
      quoted += escaped;
    } else {
      quoted += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return quoted + "\"";
}

/// An object whose members keep the order they were added in.
class json_object {
 public:
  void add(char const* key, std::string const& value) { add_raw(key, json_quoted(value)); }
  void add(char const* key, std::uint64_t value) { add_raw(key, std::to_string(value)); }
  void add(char const* key, bool value) { add_raw(key, value ? "true" : "false"); }
  void add(char const* key, json_object const& value) { add_raw(key, value.text()); }
  /// Ten significant digits; null if it is not finite.
  void add(char const* key, double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.10g", value);
    add_raw(key, std::isfinite(value) ? text : "null");
  }

  std::string text() const { return "{" + members_ + "}"; }

 private:
  void add_raw(char const* key, std::string const& value) {
    if (!members_.empty()) members_ += ", ";
    members_ += json_quoted(key) + ": " + value;
  }

  std::string members_;
};

}  // namespace inspect
