// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// bitsparse_inspect: compresses files of activations, restores them, compares every bit and says
/// what was saved.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <utility>
#include <vector>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

#include <bench/inspect/backend.hpp>
#include <bench/inspect/command_line.hpp>
#include <bench/inspect/input_file.hpp>
#include <bench/inspect/output_file.hpp>
#include <bench/inspect/report.hpp>
#include <bench/inspect/tensor_file.hpp>
#include <bitsparse/version.hpp>

namespace inspect {
namespace {

constexpr int exit_exact = 0, exit_failed = 1, exit_usage = 2;

bool stderr_is_terminal() {
#if defined(_WIN32)
  return _isatty(_fileno(stderr)) != 0;
#else
  return isatty(STDERR_FILENO) != 0;
#endif
}

bool equal(aligned_buffer const& a, aligned_buffer const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

void print(std::string const& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

/// One line on stderr, behind what stdout has said so far.
void complain(std::string const& subject, std::string const& reason) {
  std::fflush(stdout);
  std::string const line = "bitsparse_inspect: " + subject + ": " + reason + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// Runs one backend; where the device has no code for the request and the user did not insist on it, the host.
/// @param[in,out] where the backend to use, and the one that ran
bitsparse::status round_trip(round_trip_request const& request,
                             options const& asked,
                             backend& where,
                             round_trip_result& result) {
  if (where == backend::cuda) {
    bitsparse::status const done = cuda_round_trip(request, result);
    bool const falls_back        = done.code() == bitsparse::status_code::unsupported &&
                            asked.backend == backend_choice::automatic;
    if (!falls_back) return done;
    where = backend::host;
  }
  return host_round_trip(request, result);
}

/// What there is to say of a file, and what --out is to hold.
struct inspected_file {
  codec_reports reports;
  aligned_buffer output;
};

/// Compresses with report.codec and restores. Errors: throws file_error, std::bad_alloc.
/// @param[in,out] where as in round_trip
/// @param[in,out] report gets all that depends on the codec
/// @return the serialised form, where --out or the file's own form asks for it
aligned_buffer inspect_codec(tensor_file const& tensor,
                             options const& asked,
                             backend& where,
                             file_report& report) {
  round_trip_request const request{tensor.element,
                                   report.codec,
                                   tensor.tile.rows,
                                   tensor.tile.cols,
                                   tensor.shape.rows,
                                   tensor.shape.cols,
                                   tensor.dense.data(),
                                   tensor.dense.size()};
  round_trip_result result;
  bitsparse::status const done = round_trip(request, asked, where, result);
  if (!done.ok()) throw file_error{std::string{name_of(where)} + ": " + done.text()};

  report.ran_on             = where;
  report.tiles              = measure_tiles(result.directory, tensor.shape, tensor.tile);
  report.compress_seconds   = result.compress_seconds;
  report.decompress_seconds = result.decompress_seconds;
  report.is_serialized      = tensor.is_serialized && report.codec == tensor.codec;
  report.same_values        = equal(result.restored, tensor.dense);
  if (!report.is_serialized && !asked.out) return {};
  aligned_buffer serialized = serialize(request, result);
  report.same_serialized    = equal(serialized, tensor.serialized);
  return serialized;
}

/// Does everything for one file but print and write. Errors: throws file_error, std::bad_alloc.
inspected_file inspect_file(std::string const& path, options const& asked, backend where) {
  std::error_code ignored;
  if (asked.out && std::filesystem::equivalent(path, *asked.out, ignored)) {
    throw file_error{"--out would overwrite it; name another file"};
  }
  tensor_file tensor = read_tensor_file(path, asked);
  file_report report{};
  report.file        = path;
  report.element     = tensor.element;
  report.tile        = tensor.tile;
  report.shape       = tensor.shape;
  report.dense_bytes = tensor.dense.size();
  report.values      = measure_values(
      tensor.element, tensor.dense.data(), tensor.dense.size() * 8 / value_bits_of(tensor.element));

  inspected_file inspected;
  for (auto const codec : asked.choose ? all_codecs() : std::vector{tensor.codec}) {
    report.codec              = codec;
    aligned_buffer serialized = inspect_codec(tensor, asked, where, report);
    if (inspected.reports.add(report)) inspected.output = std::move(serialized);
  }
  if (tensor.is_serialized) inspected.output = std::move(tensor.dense);
  return inspected;
}

/// Calls operation(), and complains of what is wrong with --out. @return whether nothing is
template <class Operation>
bool with_output(std::string const& path, Operation operation) {
  try {
    operation();
    return true;
  } catch (file_error const& error) {
    complain("--out " + printable(path), error.what());
    return false;
  }
}

/// One line on a terminal, which the next line replaces.
class progress {
 public:
  explicit progress(std::size_t num_files)
      : num_files_(num_files), shown_(num_files > 1 && stderr_is_terminal()) {}
  void show(std::size_t index, std::string const& file) const {
    if (!shown_) return;
    std::string const line = "\r\x1b[K[" + std::to_string(index + 1) + "/" +
                             std::to_string(num_files_) + "] " + printable(file);
    std::fflush(stdout);
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  void clear() const {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  std::size_t num_files_;
  bool shown_;
};

int inspect_files(options const& asked, backend where) {
  total_report total;
  bool written = true;
  progress const line{asked.files.size()};
  for (std::size_t i = 0; i < asked.files.size(); ++i) {
    std::string const& path = asked.files[i];
    std::string const name  = path.empty() ? "''" : printable(path);
    ++total.num_files;
    line.show(i, path);
    try {
      inspected_file const inspected = inspect_file(path, asked, where);
      codec_reports const& reports   = inspected.reports;
      file_report const& report      = reports.chosen();
      line.clear();
      print(asked.json ? to_json(reports) : to_text(reports));
      total.num_exact += reports.exact();
      total.dense_bytes += report.dense_bytes;
      total.compressed_bytes += report.tiles.compressed_bytes;
      if (!reports.exact()) complain(name, "did not come back exact");
      if (asked.out && reports.exact()) {
        std::fflush(stdout);  // the report is out whatever becomes of the file
        written = with_output(*asked.out, [&] { write_file(*asked.out, inspected.output); });
      }
    } catch (file_error const& error) {
      line.clear();
      complain(name, error.what());
    } catch (std::bad_alloc const&) {
      line.clear();
      complain(name, "not enough memory");
    }
  }
  if (!asked.json && total.num_files > 1) print(to_text(total));
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    complain("standard output", "cannot write");
    return exit_failed;
  }
  return written && total.num_exact == total.num_files ? exit_exact : exit_failed;
}

int run(std::vector<std::string> const& arguments) {
  options asked;
  if (std::string const wrong = parse_command_line(arguments, asked); !wrong.empty()) {
    std::string const line = "bitsparse_inspect: " + printable(wrong) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
    return exit_usage;
  }
  if (asked.help || asked.version) {
    print(asked.help ? help_text()
                     : "bitsparse_inspect " + std::to_string(BITSPARSE_VERSION_MAJOR) + "." +
                           std::to_string(BITSPARSE_VERSION_MINOR) + "." +
                           std::to_string(BITSPARSE_VERSION_PATCH) + "\n");
    return std::fflush(stdout) == 0 ? exit_exact : exit_failed;
  }

  if (asked.out && !with_output(*asked.out, [&] { check_output(*asked.out); })) return exit_failed;
  char const* why_not = nullptr;
  bool const use_cuda = asked.backend != backend_choice::host && cuda_available(&why_not);
  if (asked.backend == backend_choice::cuda && !use_cuda) {
    complain("--backend cuda", why_not);
    return exit_failed;
  }
  if (asked.backend == backend_choice::automatic && !asked.json) {
    print(use_cuda ? std::string{"backend: cuda, or host where a file says so\n"}
                   : std::string{"backend: host ("} + why_not + ")\n");
  }
  return inspect_files(asked, use_cuda ? backend::cuda : backend::host);
}

}  // namespace
}  // namespace inspect

int main(int argc, char** argv) {
  try {
    return inspect::run({argv + (argc > 0), argv + argc});
  } catch (std::bad_alloc const&) {
    std::fputs("bitsparse_inspect: not enough memory\n", stderr);
    return 1;
  }
}
