// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A case's tensor in a plain buffer of exactly the capacity it needs, or less.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <bitsparse/device/report.cuh>
#include <bitsparse/device/tensor_state.cuh>
#include <tests/fuzz/device_fuzz/fuzz_worker.cuh>

namespace bitsparse_test {

/// device_condition bits.
constexpr std::uint32_t bits_of_condition(bitsparse::device_condition condition,
                                          bool is_raised = true) {
  return is_raised ? static_cast<std::uint32_t>(condition) : 0;
}

template <class Format>
class buffer_place {
 public:
  buffer_place(fuzz_worker& worker, fuzz_case const& c) : w_(worker), c_(c) {}

  // Only tensors in arenas have these.
  void prepare(cudaStream_t) {}
  void download(cudaStream_t) {}
  cudaError_t gather(cudaStream_t) { return cudaSuccess; }
  bitsparse::status end(cudaStream_t) { return {}; }
  bool consumes() const { return false; }
  bool reads_again() const { return false; }
  template <class Op, class Operands>
  bitsparse::status consume(Operands const&, cudaStream_t) {
    return {};
  }

  /// When the host codec has said what is needed.
  void add() {
    state_     = w_.image.add("state", sizeof(bitsparse::tensor_state));
    directory_ = w_.image.add("directory", w_.chunks.num_tiles() * 8, c_.number % 4 * 8);
    std::uint64_t const needed = w_.chunks.bytes();
    capacity_                  = needed;
    if (c_.place == fuzz_place::buffer_short && needed != 0) capacity_ -= bitsparse::unit_bytes;
    if (c_.place == fuzz_place::buffer_part)
      capacity_ = needed / bitsparse::unit_bytes * c_.part / 256 * bitsparse::unit_bytes;
    payload_ = w_.image.add("payload", capacity_, c_.number % 5 * bitsparse::unit_bytes);
    std::memset(w_.image.uploaded(state_), 0, sizeof(bitsparse::tensor_state));
  }
  bitsparse::device_tensor_view<Format> view() const {
    return {c_.rows,
            c_.cols,
            reinterpret_cast<bitsparse::tile_descriptor*>(w_.device(directory_)),
            w_.device(payload_),
            capacity_,
            reinterpret_cast<bitsparse::tensor_state*>(w_.device(state_))};
  }
  bitsparse::status clear(cudaStream_t stream) { return bitsparse::clear(view(), stream); }

  template <class>
  tiles_report compare() {
    fuzz_image& image         = w_.image;
    tiles_report const report = compare_tiles(
        w_.chunks,
        image.downloaded(directory_),
        capacity_ / bitsparse::unit_bytes,
        [&](std::uint64_t, bitsparse::tile_descriptor tile) {
          std::size_t const at = payload_ + tile.offset_units() * bitsparse::unit_bytes;
          image.accept(at, std::size_t{tile.chunk_units()} * bitsparse::unit_bytes);
          return image.downloaded(at);
        });
    image.accept(directory_, w_.chunks.num_tiles() * 8);
    if (c_.reuse) image.accept(payload_, capacity_);  // where the first compress wrote
    return report;
  }
  std::string check(tiles_report const& tiles, float scale, bool /*reads_tiles*/) {
    bool const fits = w_.chunks.bytes() <= capacity_;
    if ((tiles.lost == 0) != fits)
      return "tiles were lost, or none, against what there was room for";
    bitsparse::tensor_state state;
    std::memset(static_cast<void*>(&state), 0, sizeof(state));
    state.cursor_units = w_.chunks.bytes() / bitsparse::unit_bytes;
    state.needed_units = fits ? 0 : state.cursor_units;
    state.conditions   = bits_of_condition(bitsparse::device_condition::capacity_exceeded, !fits) |
                       bits_of_condition(bitsparse::device_condition::lost_tile_read, !fits);
    state.skip_step = fits ? 0.0f : 1.0f;
    state.scale     = scale;
    // A lost tile has values, so its rows are valid ones and were read.
    std::memcpy(w_.image.expected(state_), &state, sizeof(state));
    return {};
  }

 private:
  fuzz_worker& w_;
  fuzz_case const& c_;
  std::size_t state_ = 0, directory_ = 0, payload_ = 0;
  std::uint64_t capacity_ = 0;
};

}  // namespace bitsparse_test
