// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Reading a file, and the error that names what was wrong with one.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include <bench/support/aligned_buffer.hpp>

namespace inspect {

using bench::aligned_buffer;

/// Why a file cannot be inspected. The text does not name the file: who catches it knows.
class file_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A regular file that is read front to back.
/// Errors: every member throws file_error.
class input_file {
 public:
  explicit input_file(std::string const& path);

  std::uint64_t size() const { return size_; }
  std::uint64_t remaining() const { return size_ - position_; }
  /// Reads exactly that many bytes.
  void read(void* target, std::uint64_t bytes);
  /// Goes back to the first byte.
  void rewind();

 private:
  struct close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, close> file_;
  std::uint64_t size_     = 0;
  std::uint64_t position_ = 0;
};

/// A file's name for a message of one line: control characters become \xNN.
std::string printable(std::string const& name);

}  // namespace inspect
