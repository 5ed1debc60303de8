// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Writing of JSON: objects and lists whose members keep the order they were added in.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace ffn {

/// The text of a JSON value.
struct json {
  std::string text;

  json(double value) {  // NOLINT(google-explicit-constructor)
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%.12g", value);
    text = std::isfinite(value) ? digits : "null";
  }
  json(std::uint64_t value) : text(std::to_string(value)) {}  // NOLINT
  json(std::uint32_t value) : text(std::to_string(value)) {}  // NOLINT
  json(int value) : text(std::to_string(value)) {}            // NOLINT
  json(bool value) : text(value ? "true" : "false") {}        // NOLINT
  json(char const* value) : text(quoted(value)) {}            // NOLINT
  json(std::string const& value) : text(quoted(value)) {}     // NOLINT
  template <class T>
  json(std::vector<T> const& values) {  // NOLINT(google-explicit-constructor)
    for (T const& value : values) text += (text.empty() ? "" : ", ") + json(value).text;
    text = "[" + text + "]";
  }

 private:
  static std::string quoted(std::string const& value) {
    std::string result = "\"";
    for (char const c : value) {
      if (c == '"' || c == '\\') result += '\\';
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return result + "\"";
  }
};

class json_object {
 public:
  json_object& add(std::string const& key, json const& value) {
    members_ += (members_.empty() ? "" : ",\n") + json(key).text + ": " + value.text;
    return *this;
  }
  json_object& add(std::string const& key, json_object const& value) {
    json member(0);
    member.text = value.text();
    return add(key, member);
  }
  json_object& add(std::string const& key, std::vector<json_object> const& values) {
    json member(0);
    member.text.clear();
    for (auto const& value : values)
      member.text += (member.text.empty() ? "" : ",\n") + value.text();
    member.text = "[" + member.text + "]";
    return add(key, member);
  }
  std::string text() const { return "{" + members_ + "}"; }

  /// Errors: false if the file cannot be written.
  bool write(std::string const& file) const {
    std::FILE* const stream = std::fopen(file.c_str(), "w");
    if (stream == nullptr) return false;
    bool const is_written = std::fputs((text() + "\n").c_str(), stream) >= 0;
    return std::fclose(stream) == 0 && is_written;
  }

 private:
  std::string members_;
};

}  // namespace ffn
