// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// One case on the device: its image is made on the host, travels there, is worked on, comes back, and is
/// compared byte by byte with what the host codec and the ops' expressions make of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>
#include <bitsparse/device/report.cuh>
#include <tests/fuzz/device_fuzz/fuzz_arena_place.cuh>
#include <tests/fuzz/device_fuzz/fuzz_buffer_place.cuh>
#include <tests/fuzz/device_fuzz/fuzz_operands.cuh>
#include <tests/fuzz/device_fuzz/fuzz_types.cuh>
#include <tests/fuzz/device_fuzz/fuzz_worker.cuh>

namespace bitsparse_test {

/// The first call that failed.
class first_failure {
 public:
  void note(bitsparse::status result, char const* call) {
    if (text_.empty() && !result.ok()) text_ = std::string{call} + ": " + result.text();
  }
  void note(cudaError_t error, char const* call) {
    if (text_.empty() && error != cudaSuccess)
      text_ = std::string{call} + ": " + cudaGetErrorString(error);
  }
  std::string const& text() const { return text_; }

 private:
  std::string text_;
};

/// @tparam Types fuzz_types @tparam Place buffer_place or arena_place
template <class Types, class Codec, class Place>
class fuzz_run {
  using format  = typename Types::format;
  using element = typename format::element;

 public:
  fuzz_run(fuzz_worker& worker, fuzz_case const& c)
      : w_(worker), c_(c), dense_(worker, c), place_(worker, c) {}

  /// @return the fault, or nothing
  std::string run() {
    w_.image.begin();
    dense_.add_sources();
    std::string fault = w_.chunks.template compress<format, Codec>(dense_.make_stored());
    if (!fault.empty()) return fault;
    place_.add();
    dense_.add_results(place_.reads_again());
    w_.image.close();
    dense_.expect_results(place_.reads_again());

    cudaStream_t const stream = w_.streams[c_.stream], next = w_.streams[c_.second_stream];
    failed_.note(cudaMemcpyAsync(w_.device(0),
                                 w_.image.uploaded(),
                                 w_.image.used_bytes(),
                                 cudaMemcpyHostToDevice,
                                 stream),
                 "upload");
    fill(stream);
    if (next != stream) {
      failed_.note(cudaEventRecord(w_.event, stream), "cudaEventRecord");
      failed_.note(cudaStreamWaitEvent(next, w_.event, 0), "cudaStreamWaitEvent");
    }
    read(next);
    place_.download(next);
    failed_.note(cudaMemcpyAsync(w_.image.downloaded(),
                                 w_.device(0),
                                 w_.image.used_bytes(),
                                 cudaMemcpyDeviceToHost,
                                 next),
                 "download");
    // Also where a call failed: nothing may use the image any more.
    failed_.note(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    failed_.note(cudaStreamSynchronize(next), "cudaStreamSynchronize");
    return failed_.text().empty() ? check() : failed_.text();
  }

 private:
  void fill(cudaStream_t stream) {
    place_.prepare(stream);
    if constexpr (Types::stores_bits && Types::restores_bits &&
                  std::is_same_v<typename Types::first, element>) {
      if (c_.reuse) {  // what is to be overwritten is as good a matrix as any
        auto const target = dense_.operands_of_read(0, c_.rows, false).first;
        failed_.note(bitsparse::compress<Codec>(
                         bitsparse::const_matrix_view<element>{target}, place_.view(), stream),
                     "the first compress");
        failed_.note(place_.clear(stream), "clear");
      }
    }
    failed_.note(bitsparse::compress<Codec, typename Types::forward_op>(
                     dense_.operands_of_compress(), place_.view(), stream),
                 "compress");
    failed_.note(place_.gather(stream), "gather");
  }

  void read(cudaStream_t stream) {
    using op = typename Types::backward_op;
    if (place_.consumes()) {
      failed_.note(place_.template consume<op>(dense_.operands_of_read(0, c_.rows, false), stream),
                   "consume");
    } else {
      // A range is whole tile rows, but for the last.
      std::uint64_t const split = c_.rows / format::rows * c_.split / 256 * format::rows;
      std::uint64_t const first = c_.reading == fuzz_reading::whole ? c_.rows : split;
      failed_.note(bitsparse::decompress<op>(
                       place_.view(), dense_.operands_of_read(0, first, false), stream),
                   "decompress");
      if (first < c_.rows) {
        failed_.note(bitsparse::decompress<op>(
                         place_.view(), dense_.operands_of_read(first, c_.rows, false), stream),
                     "decompress of the rest");
      }
      failed_.note(place_.end(stream), "release");
    }
    if (place_.reads_again()) {
      failed_.note(bitsparse::decompress<op>(
                       place_.view(), dense_.operands_of_read(0, c_.rows, true), stream),
                   "decompress after release");
    }
  }

  std::string check() {
    tiles_report const tiles = place_.template compare<format>();
    if (!tiles.fault.empty()) return tiles.fault;
    if (tiles.lost != 0) dense_.expect_lost(tiles.is_lost);
    dense_.accept_nans();
    bool const reads_tiles = w_.chunks.num_tiles() != 0 && dense_.rows_of_read() != 0;
    std::string fault      = place_.check(tiles, dense_.scale(), reads_tiles);
    return fault.empty() ? w_.image.fault() : fault;
  }

  fuzz_worker& w_;
  fuzz_case const& c_;
  dense_operands<Types> dense_;
  Place place_;
  first_failure failed_;
};

/// Chooses the place.
template <class Types, class Codec>
std::string run_codec(fuzz_worker& worker, fuzz_case const& c) {
  using format = typename Types::format;
  return c.is_arena() ? fuzz_run<Types, Codec, arena_place<format>>(worker, c).run()
                      : fuzz_run<Types, Codec, buffer_place<format>>(worker, c).run();
}

/// Chooses the codec, of those that the case's op is compiled for.
template <class Types, class... Codecs>
std::string run_types(bitsparse::type_list<Codecs...>, fuzz_worker& worker, fuzz_case const& c) {
  auto const id     = static_cast<bitsparse::codec_id>(static_cast<int>(c.codec) + 1);
  std::string fault = "the case's codec is not compiled for its op";
  (void)((Codecs::id == id ? (fault = run_codec<Types, Codecs>(worker, c), true) : false) || ...);
  return fault;
}

}  // namespace bitsparse_test
