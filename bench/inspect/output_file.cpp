// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Writing of files.
#include <bench/inspect/output_file.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

#include <bench/inspect/input_file.hpp>

namespace inspect {
namespace {

namespace fs = std::filesystem;

file_error cannot_write(std::string const& reason) {
  return file_error{"cannot write: " + reason};
}

// -------------------------------------------------------------------------------------------------
// Signals
// -------------------------------------------------------------------------------------------------

/// What a signal's handler has to remove, or null.
std::atomic<char const*> pending{nullptr};
static_assert(std::atomic<char const*>::is_always_lock_free);

extern "C" void remove_pending(int number) {
  if (char const* const path = pending.load(); path != nullptr) {
#if defined(_WIN32)
    _unlink(path);
#else
    unlink(path);
#endif
  }
  std::signal(number, SIG_DFL);
  std::raise(number);
}

/// While it lives, signals that end the program remove `pending` first, and a file over the size
/// limit is an error of fwrite.
class signal_guard {
 public:
  signal_guard() {
    for (std::size_t i = 0; i < num_ending; ++i) {
      before_[i] = std::signal(ending[i], remove_pending);
      if (before_[i] == SIG_IGN) std::signal(ending[i], SIG_IGN);
    }
#if defined(SIGXFSZ)
    std::signal(SIGXFSZ, SIG_IGN);
#endif
  }
  ~signal_guard() {
    for (std::size_t i = 0; i < num_ending; ++i) std::signal(ending[i], before_[i]);
  }
  signal_guard(signal_guard const&)            = delete;
  signal_guard& operator=(signal_guard const&) = delete;

 private:
  static constexpr int ending[] = {
      SIGINT,
      SIGTERM,
#if defined(SIGHUP)
      SIGHUP,
#endif
  };
  static constexpr std::size_t num_ending = sizeof(ending) / sizeof(ending[0]);
  void (*before_[num_ending])(int);
};

// -------------------------------------------------------------------------------------------------
// The temporary
// -------------------------------------------------------------------------------------------------

/// A new file of an unused name, which is gone at the end unless it was renamed.
/// Errors: every member throws file_error.
class temporary_file {
 public:
  explicit temporary_file(fs::path const& folder) {
    for (int n = 0; file_ == nullptr; ++n) {
      path_ = (folder / (".bitsparse_inspect-" + std::to_string(n) + ".tmp")).string();
      file_ = std::fopen(path_.c_str(), "wbx");  // fails if it exists
      if (file_ == nullptr && (errno != EEXIST || n == 999))
        throw cannot_write(std::strerror(errno));
    }
    pending = path_.c_str();
  }
  ~temporary_file() {
    if (file_ != nullptr) std::fclose(file_);
    std::error_code ignored;
    if (!renamed_) fs::remove(path_, ignored);
    pending = nullptr;
  }
  temporary_file(temporary_file const&)            = delete;
  temporary_file& operator=(temporary_file const&) = delete;

  void write(bench::aligned_buffer const& bytes) {
    bool const written = std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
    int const error    = errno;
    bool const closed  = std::fclose(std::exchange(file_, nullptr)) == 0;
    if (!written || !closed) throw cannot_write(std::strerror(written ? errno : error));
  }
  /// Takes the place of `target`, and its permissions if it is there.
  void replace(fs::path const& target) {
    std::error_code error;
    fs::file_status const before = fs::status(target, error);
    if (fs::exists(before)) fs::permissions(path_, before.permissions(), error);
    fs::rename(path_, target, error);
    if (error) throw cannot_write(error.message());
    renamed_ = true;
  }

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  bool renamed_    = false;
};

/// The file that a path means, behind symbolic links. Errors: those of check_output.
fs::path resolve(std::string const& path) {
  std::error_code error;
  fs::file_status const status = fs::status(path, error);
  if (!fs::status_known(status)) throw cannot_write(error.message());
  if (!fs::exists(status)) {
    if (fs::is_symlink(fs::symlink_status(path, error))) {
      throw file_error{"is a symbolic link to nothing; name the file itself"};
    }
    fs::path const folder = fs::path{path}.parent_path();
    if (!folder.empty() && !fs::is_directory(folder, error)) {
      throw cannot_write("there is no folder " + printable(folder.string()));
    }
    return path;
  }
  if (fs::is_directory(status)) throw file_error{"is a directory; name a file in it"};
  if (!fs::is_regular_file(status)) {
    throw file_error{"is not a regular file; name one, or one that does not exist yet"};
  }
  std::FILE* const file = std::fopen(path.c_str(), "r+b");  // changes nothing
  if (file == nullptr) throw cannot_write(std::strerror(errno));
  std::fclose(file);
  fs::path const found = fs::canonical(path, error);
  if (error) throw cannot_write(error.message());
  return found;
}

}  // namespace

void check_output(std::string const& path) {
  resolve(path);
}

void write_file(std::string const& path, bench::aligned_buffer const& bytes) {
  fs::path const target = resolve(path);
  signal_guard const guard;
  temporary_file temporary{target.parent_path()};
  temporary.write(bytes);
  temporary.replace(target);
}

}  // namespace inspect
