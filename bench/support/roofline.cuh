// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What the rows of one roofline run share: dense matrices in rotation, the copy rate that everything
/// is compared with, and the bytes that count as useful.
#pragma once

#include <cuda_runtime_api.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <bench/support/device.cuh>

namespace bench {

/// Dense matrices of one element in device memory: together far more than L2 holds, so that each
/// operation finds its own in none of it.
template <class Element>
class dense_matrices {
 public:
  using bits_type = typename Element::bits_type;

  /// @param ld leading dimension, at least cols; the gap holds values too
  dense_matrices(std::uint64_t rows, std::uint64_t cols, std::uint64_t ld, double zeros)
      : rows_(rows), cols_(cols), ld_(ld) {
    allocate();
    for (int i = 0; i < count_; ++i) fill_activations<Element>(dense(i), rows * ld, zeros, 1 + i);
  }
  /// The values of a sample, repeated.
  dense_matrices(std::uint64_t rows, std::uint64_t cols, std::vector<bits_type> const& sample)
      : rows_(rows), cols_(cols), ld_(cols) {
    allocate();
    for (int i = 0; i < count_; ++i) {
      for (std::uint64_t at = 0; at < rows * cols; at += sample.size()) {
        std::uint64_t const values = std::min<std::uint64_t>(sample.size(), rows * cols - at);
        require_cuda(
            cudaMemcpy(
                dense(i) + at, sample.data(), values * sizeof(bits_type), cudaMemcpyHostToDevice),
            "cudaMemcpy");
      }
    }
  }

  std::uint64_t rows() const { return rows_; }
  std::uint64_t cols() const { return cols_; }
  std::uint64_t ld() const { return ld_; }
  std::uint64_t num_values() const { return rows_ * cols_; }
  std::uint64_t dense_bytes() const { return num_values() * sizeof(bits_type); }
  int count() const { return count_; }
  bits_type* dense(int i) const { return dense_[i].template as<bits_type>(); }
  bits_type* restored(int i) const { return restored_[i].template as<bits_type>(); }

  /// Device time of one work(i), over all matrices twice.
  template <class Work>
  double milliseconds(Work work) {
    return timer_.milliseconds(
               [&] {
                 for (int i = 0; i < 2 * count_; ++i) work(i % count_);
               },
               nullptr) /
           (2 * count_);
  }
  void copy(int i) const {
    require_cuda(
        cudaMemcpyAsync(
            restored(i), dense(i), rows_ * ld_ * sizeof(bits_type), cudaMemcpyDeviceToDevice),
        "cudaMemcpyAsync");
  }
  /// Bytes read and written per millisecond by a device-to-device copy; the median of five.
  double copy_bytes_per_ms() {
    std::vector<double> times(5);
    for (double& time : times) time = milliseconds([&](int i) { copy(i); });
    std::sort(times.begin(), times.end());
    return 2.0 * rows_ * ld_ * sizeof(bits_type) / times[2];
  }
  void forget_restored() const {
    for (int i = 0; i < count_; ++i) {
      require_cuda(cudaMemset(restored(i), 0xa5, restored_[i].bytes()), "cudaMemset");
    }
  }
  /// Whether the last rows, about a million values of each matrix, are restored as they were.
  bool is_exact() const {
    std::uint64_t const last_rows = std::min(rows_, (1 << 20) / ld_ + 1);
    std::vector<bits_type> before(last_rows * ld_), after(before.size());
    std::uint64_t const at = (rows_ - last_rows) * ld_, bytes = before.size() * sizeof(bits_type);
    for (int i = 0; i < count_; ++i) {
      require_cuda(cudaMemcpy(before.data(), dense(i) + at, bytes, cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
      require_cuda(cudaMemcpy(after.data(), restored(i) + at, bytes, cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
      for (std::uint64_t row = 0; row < last_rows; ++row) {  // the gap is not restored
        auto const* const values = before.data() + row * ld_;
        if (!std::equal(values, values + cols_, after.data() + row * ld_)) return false;
      }
    }
    return true;
  }
  /// The share of values that are not 0, of the first matrix's first million.
  double density() const {
    std::vector<bits_type> values(std::min<std::uint64_t>(rows_ * ld_, 1 << 20));
    require_cuda(
        cudaMemcpy(
            values.data(), dense(0), values.size() * sizeof(bits_type), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    auto const zeros = std::count(values.begin(), values.end(), bits_type{0});
    return 1 - static_cast<double>(zeros) / static_cast<double>(values.size());
  }

 private:
  void allocate() {
    std::uint64_t const bytes = rows_ * ld_ * sizeof(bits_type);
    count_                    = static_cast<int>(
        std::min<std::uint64_t>(64, std::max<std::uint64_t>(4, (512u << 20) / bytes)));
    for (int i = 0; i < count_; ++i) {
      dense_.emplace_back(bytes);
      restored_.emplace_back(bytes);
    }
  }

  std::uint64_t rows_, cols_, ld_;
  int count_ = 0;
  std::vector<device_memory> dense_, restored_;
  event_timer timer_;
};

/// The dense bytes once and the encoding's ideal bits once: a mask bit per value and the kept values,
/// with their sign bits or without; no padding and no descriptors, so that worse packing never scores
/// better. Peers are credited with the bytes of the smaller one.
inline double useful_bytes(double dense_bytes,
                           double value_bits,
                           double density,
                           bool drops_signs) {
  double const bits = std::min(value_bits, 1 + (value_bits - (drops_signs ? 1 : 0)) * density);
  return dense_bytes * (1 + bits / value_bits);
}

/// The counters of a row: fraction, useful bytes over the copy rate and the time; dense_GBps; ratio,
/// dense bytes over all that is stored; copy_GBps, the same run's copy rate.
inline void set_counters(benchmark::State& state,
                         double ms,
                         double useful,
                         double dense_bytes,
                         double stored_bytes,
                         double copy_bytes_per_ms) {
  state.counters["fraction"]   = useful / copy_bytes_per_ms / ms;
  state.counters["dense_GBps"] = dense_bytes / ms / 1e6;
  if (stored_bytes != 0) state.counters["ratio"] = dense_bytes / stored_bytes;
  state.counters["copy_GBps"] = copy_bytes_per_ms / 1e6;
}

/// "16000x21504/zeros:0.90", as in the rows' names.
inline std::string shape_and_zeros(std::uint64_t rows, std::uint64_t cols, double zeros) {
  char text[64];
  std::snprintf(text,
                sizeof(text),
                "%llux%llu/zeros:%.2f",
                static_cast<unsigned long long>(rows),
                static_cast<unsigned long long>(cols),
                zeros);
  return text;
}

/// Runs a row's iterations, each of which is work(i) over all matrices; returns their mean in ms.
template <class Element, class Work>
double measure(benchmark::State& state, dense_matrices<Element>& dense, Work work) {
  double total = 0;
  for (auto _ : state) {
    double const ms = dense.milliseconds(work);
    state.SetIterationTime(ms / 1e3);
    total += ms;
  }
  return total / static_cast<double>(state.iterations());
}

/// Registers a row whose time is what the program measured on the device.
template <class Run>
void add_row(std::string const& name, Run run, int iterations = 5) {
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->UseManualTime()
      ->Iterations(iterations)
      ->Unit(benchmark::kMillisecond);
}

/// A program's main, when its rows are registered.
inline int run_rows(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  cudaDeviceProp properties;
  require_cuda(cudaGetDeviceProperties(&properties, 0), "no CUDA device");
  benchmark::AddCustomContext("device", properties.name);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace bench
