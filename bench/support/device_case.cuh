// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A case of the device benchmarks: dense matrices and the tensors that they are compressed into, and
/// the run of one operation on them.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>

#include <bench/support/roofline.cuh>
#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>

namespace bench {

inline void require(bitsparse::status result) {
  if (!result.ok()) require_cuda(static_cast<cudaError_t>(result), result.text());
}

/// Bits of a full tile's chunk without padding.
template <class Format>
double ideal_bits(bitsparse::tile_descriptor tile) {
  namespace format     = bitsparse::detail;
  auto const form      = tile.form();
  double const kept    = tile.kept();
  double value_bits    = Format::element::value_bits;
  double const carried = format::carries_mask(form) ? kept : 0;
  if (form == bitsparse::encoding::zero) return 0;
  if (form == bitsparse::encoding::dense) return value_bits * Format::values;
  if (format::is_window(form)) value_bits = 12;
  auto const lower_bits = format::lower_bits<Format>(tile.kept());
  double const mask     = format::is_elias_fano(form)
                              ? (1 + lower_bits) * kept + (Format::values >> lower_bits)
                              : Format::values;
  return value_bits * kept + mask - carried;
}

/// Dense matrices and the tensors of one format that they are compressed into.
template <class Format>
class case_of {
 public:
  using element   = typename Format::element;
  using bits_type = typename Format::bits_type;

  template <class... Arguments>
  explicit case_of(Arguments const&... arguments) : dense(arguments...) {
    std::uint64_t const payload = bitsparse::max_payload_bytes<Format>(dense.rows(), dense.cols());
    for (int i = 0; i < dense.count(); ++i) {
      memory_.emplace_back(
          bitsparse::device_tensor_bytes<Format>(dense.rows(), dense.cols(), payload));
      views_.push_back(bitsparse::make_device_tensor<Format>(
          memory_[i].template as<void>(), dense.rows(), dense.cols(), payload));
      require_cuda(cudaMemset(views_[i].state, 0, sizeof(bitsparse::tensor_state)), "cudaMemset");
    }
  }
  bitsparse::const_matrix_view<element> source(int i) const {
    return {dense.dense(i), dense.rows(), dense.cols(), dense.ld()};
  }
  bitsparse::matrix_view<element> target(int i) const {
    return {dense.restored(i), dense.rows(), dense.cols(), dense.ld()};
  }
  bitsparse::device_tensor_view<Format> const& tensor(int i) const { return views_[i]; }
  /// Bytes of chunks and descriptors of the first tensor, when it is compressed.
  double stored_bytes() const {
    bitsparse::tensor_state state;
    require_cuda(cudaMemcpy(&state, views_[0].state, sizeof(state), cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
    if (state.conditions != 0) std::fprintf(stderr, "a condition was raised\n");
    return state.cursor_units * 16.0 +
           static_cast<double>(bitsparse::directory_bytes<Format>(dense.rows(), dense.cols()));
  }

  /// The ideal bytes of the first tensor's encodings, when it is compressed: values and mask streams,
  /// no padding and no descriptors.
  double ideal_bytes() const {
    std::vector<bitsparse::tile_descriptor> directory(
        bitsparse::num_tiles<Format>(dense.rows(), dense.cols()));
    require_cuda(cudaMemcpy(directory.data(),
                            views_[0].directory,
                            directory.size() * sizeof(directory[0]),
                            cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
    double bits = 0;
    for (bitsparse::tile_descriptor const tile : directory) bits += ideal_bits<Format>(tile);
    return bits / 8;
  }

  dense_matrices<element> dense;

 private:
  std::vector<device_memory> memory_;
  std::vector<bitsparse::device_tensor_view<Format>> views_;
};

/// The case whose rows are running: rows of one case follow each other and share it.
inline std::shared_ptr<void> running;
inline std::string running_name;

template <class Case, class... Arguments>
Case& shared_case(std::string const& name, Arguments const&... arguments) {
  if (running_name != name) {
    running.reset();
    running_name.clear();
    running      = std::make_shared<Case>(arguments...);
    running_name = name;
  }
  return *std::static_pointer_cast<Case>(running);
}

enum class operation { compress, decompress };
inline constexpr operation both[] = {operation::compress, operation::decompress};

inline char const* name_of(operation what) {
  return what == operation::compress ? "compress" : "decompress";
}

template <class Format, class Codec>
void run(benchmark::State& state, operation what, case_of<Format>& subject) {
  auto& dense         = subject.dense;
  auto const compress = [&](int i) {
    require(bitsparse::compress<Codec>(subject.source(i), subject.tensor(i), nullptr));
  };
  auto const decompress = [&](int i) {
    require(bitsparse::decompress(subject.tensor(i), subject.target(i), nullptr));
  };
  for (int i = 0; i < dense.count(); ++i) compress(i);
  double const copy_rate = dense.copy_bytes_per_ms();
  dense.forget_restored();
  for (int i = 0; i < dense.count(); ++i) decompress(i);
  if (!dense.is_exact()) state.SkipWithError("not exact");
  double const ms     = what == operation::compress ? measure(state, dense, compress)
                                                    : measure(state, dense, decompress);
  double const useful = std::is_same_v<Codec, bitsparse::codec::compact>
                            ? dense.dense_bytes() + subject.ideal_bytes()
                            : useful_bytes(dense.dense_bytes(),
                                           Format::element::value_bits,
                                           dense.density(),
                                           std::is_same_v<Codec, bitsparse::codec::sign>);
  set_counters(state, ms, useful, dense.dense_bytes(), subject.stored_bytes(), copy_rate);
}

}  // namespace bench
