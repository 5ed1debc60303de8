// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Reading of files.
#include <bench/inspect/input_file.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace inspect {

input_file::input_file(std::string const& path) {
  namespace fs = std::filesystem;
  if (path.empty()) throw file_error{"the file name is empty"};
  std::error_code error;
  fs::file_status const status = fs::status(path, error);
  if (!fs::status_known(status) || !fs::exists(status)) {
    throw file_error{"cannot open: " + (error ? error.message() : "no such file")};
  }
  if (fs::is_directory(status)) throw file_error{"is a directory"};
  if (!fs::is_regular_file(status)) throw file_error{"is not a regular file"};
  file_.reset(std::fopen(path.c_str(), "rb"));
  if (!file_) throw file_error{std::string{"cannot open: "} + std::strerror(errno)};
  size_ = fs::file_size(path, error);
  if (error) throw file_error{"cannot tell its size: " + error.message()};
}

void input_file::read(void* target, std::uint64_t bytes) {
  if (bytes > remaining()) throw file_error{"ends early"};
  errno = 0;
  if (std::fread(target, 1, bytes, file_.get()) != bytes) {
    throw file_error{errno != 0 ? std::string{"cannot read: "} + std::strerror(errno)
                                : "became shorter while it was read"};
  }
  position_ += bytes;
}

void input_file::rewind() {
  if (std::fseek(file_.get(), 0, SEEK_SET) != 0) throw file_error{"cannot be read twice"};
  position_ = 0;
}

std::string printable(std::string const& name) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (char const c : name) {
    auto const code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code != 0x7f) {
      text += c;
    } else {
      text += {'\\', 'x', digits[code >> 4], digits[code & 0xf]};
    }
  }
  return text;
}

}  // namespace inspect
