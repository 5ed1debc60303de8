// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// How close do compress and decompress come to the memory roofline?
///
/// Names: compress|decompress/<element>/<rows>x<cols>/zeros:<share>/<codec>, and copy/<bytes>.
/// Counters: fraction, useful bytes over the same run's copy rate and the time, where useful bytes
///   are the dense bytes once plus the encoding's ideal bits once, without padding and descriptors;
///   dense_GBps; ratio, dense bytes over chunks and descriptors; copy_GBps, bytes read and written
///   per second by cudaMemcpyAsync right before.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <bench/support/device.cuh>
#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>

namespace {

namespace bs = bitsparse;

constexpr std::uint64_t num_rows = 16000, num_cols = 21504;
constexpr int num_tensors         = 4;  // in rotation: together far more than L2 holds
constexpr int launches_per_timing = 2 * num_tensors;  // so that the events' own time does not count

/// Tensors of one element and density, all in device memory.
template <class Format>
class tensors {
 public:
  using element   = typename Format::element;
  using bits_type = typename Format::bits_type;

  static constexpr std::uint64_t num_values  = num_rows * num_cols;
  static constexpr std::uint64_t dense_bytes = num_values * sizeof(bits_type);

  explicit tensors(double zeros) {
    std::uint64_t const payload = bs::max_payload_bytes<Format>(num_rows, num_cols);
    for (int i = 0; i < num_tensors; ++i) {
      dense_.emplace_back(dense_bytes);
      restored_.emplace_back(dense_bytes);
      memory_.emplace_back(bs::device_tensor_bytes<Format>(num_rows, num_cols, payload));
      views_.push_back(bs::make_device_tensor<Format>(
          memory_[i].template as<void>(), num_rows, num_cols, payload));
      require(cudaMemset(views_[i].state, 0, sizeof(bs::tensor_state)));
      bench::fill_activations<element>(
          dense_[i].template as<bits_type>(), num_values, zeros, 1 + i);
    }
  }

  template <class Codec>
  void compress(int i) {
    require(bs::compress<Codec>(
        bs::const_matrix_view<element>{
            dense_[i].template as<bits_type>(), num_rows, num_cols, num_cols},
        views_[i],
        nullptr));
  }
  void decompress(int i) {
    require(bs::decompress(
        views_[i], {restored_[i].template as<bits_type>(), num_rows, num_cols, num_cols}, nullptr));
  }
  void copy(int i) {
    require(cudaMemcpyAsync(restored_[i].template as<void>(),
                            dense_[i].template as<void>(),
                            dense_bytes,
                            cudaMemcpyDeviceToDevice));
  }

  /// Bytes read and written per millisecond by a device-to-device copy; the median of five.
  double copy_bytes_per_ms() {
    std::vector<double> times;
    for (int repeat = 0; repeat < 5; ++repeat) {
      times.push_back(timer_.milliseconds(
                          [&] {
                            for (int i = 0; i < num_tensors; ++i) copy(i);
                          },
                          nullptr) /
                      num_tensors);
    }
    std::sort(times.begin(), times.end());
    return 2.0 * dense_bytes / times[2];
  }
  template <class Work>
  double milliseconds(Work work) {
    return timer_.milliseconds(
               [&] {
                 for (int i = 0; i < launches_per_timing; ++i) work(i % num_tensors);
               },
               nullptr) /
           launches_per_timing;
  }

  /// Of tensor 0: chunks and descriptors, and the values that are not 0.
  struct contents {
    double compressed_bytes;
    double kept;
  };
  contents read_contents() {
    bs::tensor_state state;
    require(cudaMemcpy(&state, views_[0].state, sizeof(state), cudaMemcpyDeviceToHost));
    std::vector<bs::tile_descriptor> directory(bs::num_tiles<Format>(num_rows, num_cols));
    require(cudaMemcpy(
        directory.data(), views_[0].directory, directory.size() * 8, cudaMemcpyDeviceToHost));
    double kept = 0;
    for (auto const& tile : directory) kept += tile.kept();
    if (state.conditions != 0) std::fprintf(stderr, "a condition was raised\n");
    return {state.cursor_units * 16.0 + directory.size() * 8.0, kept};
  }
  bool is_exact() {
    std::vector<bits_type> before(1 << 20), after(1 << 20);
    require(cudaMemcpy(before.data(),
                       dense_[1].template as<void>(),
                       before.size() * sizeof(bits_type),
                       cudaMemcpyDeviceToHost));
    require(cudaMemcpy(after.data(),
                       restored_[1].template as<void>(),
                       after.size() * sizeof(bits_type),
                       cudaMemcpyDeviceToHost));
    return before == after;
  }

 private:
  static void require(cudaError_t error) { bench::require_cuda(error, "kernels"); }
  static void require(bs::status result) {
    if (!result.ok()) bench::require_cuda(static_cast<cudaError_t>(result), result.text());
  }

  std::vector<bench::device_memory> dense_, restored_, memory_;
  std::vector<bs::device_tensor_view<Format>> views_;
  bench::event_timer timer_;
};

/// The one case whose tensors are alive, whatever its element.
std::shared_ptr<void> alive;

/// The tensors of the case that runs: benchmarks of one element and density follow each other and
/// share them; the next case frees them.
template <class Format>
tensors<Format>& shared_tensors(double zeros) {
  static std::weak_ptr<tensors<Format>> mine;
  static double mine_zeros = -1;
  auto kept                = mine.lock();
  if (kept == nullptr || mine_zeros != zeros) {
    kept.reset();
    alive.reset();
    kept       = std::make_shared<tensors<Format>>(zeros);
    mine       = kept;
    mine_zeros = zeros;
    alive      = kept;
  }
  return *kept;
}

enum class operation { compress, decompress };

template <class Format, class Codec>
void run(benchmark::State& state, operation what, double zeros) {
  auto& subject = shared_tensors<Format>(zeros);
  for (int i = 0; i < num_tensors; ++i) {
    subject.template compress<Codec>(i);
    subject.decompress(i);
  }
  auto const contents    = subject.read_contents();
  double const copy_rate = subject.copy_bytes_per_ms();
  double total           = 0;
  for (auto _ : state) {
    double const ms = subject.milliseconds([&](int i) {
      if (what == operation::compress) {
        subject.template compress<Codec>(i);
      } else {
        subject.decompress(i);
      }
    });
    state.SetIterationTime(ms / 1e3);
    total += ms;
  }
  if (!subject.is_exact()) state.SkipWithError("not exact");
  using subject_type         = tensors<Format>;
  double const value_bits    = Format::element::value_bits;
  double const density       = contents.kept / subject_type::num_values;
  bool const carries         = std::is_same_v<Codec, bs::codec::sign>;
  double const ideal_bits    = std::min(value_bits, 1 + (value_bits - (carries ? 1 : 0)) * density);
  double const useful_bytes  = subject_type::dense_bytes * (1 + ideal_bits / value_bits);
  double const ms            = total / state.iterations();
  state.counters["fraction"] = useful_bytes / copy_rate / ms;
  state.counters["dense_GBps"] = subject_type::dense_bytes / ms / 1e6;
  state.counters["ratio"]      = subject_type::dense_bytes / contents.compressed_bytes;
  state.counters["copy_GBps"]  = copy_rate / 1e6;
}

template <class Format>
void run_copy(benchmark::State& state) {
  auto& subject = shared_tensors<Format>(0.9);
  double total  = 0;
  for (auto _ : state) {
    double const ms = subject.milliseconds([&](int i) { subject.copy(i); });
    state.SetIterationTime(ms / 1e3);
    total += ms;
  }
  state.counters["copy_GBps"] =
      2.0 * tensors<Format>::dense_bytes / (total / state.iterations()) / 1e6;
}

template <class Format, class Codec>
void add(double zeros) {
  for (operation const what : {operation::compress, operation::decompress}) {
    char share[16];
    std::snprintf(share, sizeof(share), "%.2f", zeros);
    std::string const name = std::string{what == operation::compress ? "compress" : "decompress"} +
                             "/" + Format::element::name + "/" + std::to_string(num_rows) + "x" +
                             std::to_string(num_cols) + "/zeros:" + share + "/" + Codec::name;
    benchmark::RegisterBenchmark(
        name.c_str(), [=](benchmark::State& state) { run<Format, Codec>(state, what, zeros); })
        ->UseManualTime()
        ->Iterations(8)
        ->Unit(benchmark::kMillisecond);
  }
}

template <class Element>
void add_element() {
  using format = bs::default_format<Element>;
  for (double const zeros : {0.5, 0.8, 0.9, 0.95}) {
    add<format, bs::codec::fast>(zeros);
    add<format, bs::codec::sign>(zeros);
  }
}

}  // namespace

int main(int argc, char** argv) {
  using copy_format           = bs::default_format<bs::bf16>;
  std::string const copy_name = "copy/" + std::to_string(tensors<copy_format>::dense_bytes);
  benchmark::RegisterBenchmark(copy_name.c_str(), run_copy<copy_format>)
      ->UseManualTime()
      ->Iterations(8)
      ->Unit(benchmark::kMillisecond);
  add_element<bs::bf16>();
  add_element<bs::fp16>();
  add_element<bs::fp32>();
  add_element<bs::fp8_e4m3>();
  add_element<bs::fp8_e5m2>();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  cudaDeviceProp properties;
  bench::require_cuda(cudaGetDeviceProperties(&properties, 0), "no CUDA device");
  benchmark::AddCustomContext("device", properties.name);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
