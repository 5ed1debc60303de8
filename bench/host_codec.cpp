// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// How fast is the host codec on one thread, and how much does each codec save?
///
/// Names: host_compress|host_decompress/<element>/<rows>x<cols>/zeros:<share>/<codec>.
/// Counters: dense_GB/s, dense bytes per second of CPU time; ratio, dense bytes over chunks and
///   descriptors; density, of the values after rounding.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <bench/support/activations.hpp>
#include <bench/support/aligned_buffer.hpp>
#include <bitsparse/format/host_codec.hpp>

namespace {

namespace bs = bitsparse;

constexpr std::uint64_t rows = 2048, cols = 4096;
constexpr std::uint64_t seed = 1;

/// One tensor, dense and compressed, in memory that benchmarks of the same case share.
template <class Format, class Codec>
class tensor {
 public:
  explicit tensor(double zeros)
      : dense_(bench::make_activations<typename Format::element>(rows * cols, zeros, seed)),
        restored_(rows * cols),
        directory_(bs::num_tiles<Format>(rows, cols)),
        payload_(bs::max_payload_bytes<Format>(rows, cols)) {}

  bs::status compress() {
    return bs::host::compress<Format, Codec>(
        {dense_.data(), rows, cols, cols}, compressed(), needed_bytes_);
  }
  bs::status decompress() {
    return bs::host::decompress<Format>(compressed(), {restored_.data(), rows, cols, cols});
  }
  bool is_exact() const { return dense_ == restored_; }

  double dense_bytes() const {
    return static_cast<double>(dense_.size() * sizeof(typename Format::bits_type));
  }
  double compressed_bytes() const {
    return static_cast<double>(needed_bytes_ + bs::directory_bytes<Format>(rows, cols));
  }
  double density() const {
    auto const zeros = std::count(dense_.begin(), dense_.end(), typename Format::bits_type{0});
    return 1 - static_cast<double>(zeros) / static_cast<double>(dense_.size());
  }

 private:
  bs::compressed_view<Format> compressed() {
    return {rows, cols, directory_.data(), payload_.data(), payload_.size()};
  }

  std::vector<typename Format::bits_type> dense_;
  std::vector<typename Format::bits_type> restored_;
  std::vector<bs::tile_descriptor> directory_;
  bench::aligned_buffer payload_;
  std::uint64_t needed_bytes_ = 0;
};

template <class Tensor>
void report(benchmark::State& state, Tensor const& subject) {
  using benchmark::Counter;
  double const total           = static_cast<double>(state.iterations()) * subject.dense_bytes();
  state.counters["dense_GB/s"] = Counter(total / 1e9, Counter::kIsRate);
  state.counters["ratio"]      = Counter(subject.dense_bytes() / subject.compressed_bytes());
  state.counters["density"]    = Counter(subject.density());
}

/// Registers both directions of one case; the tensor is made when its first benchmark runs.
template <class Element, class Codec>
void add_case(double zeros) {
  using case_tensor = tensor<bs::default_format<Element>, Codec>;
  char suffix[64];
  std::snprintf(suffix,
                sizeof(suffix),
                "/%s/%dx%d/zeros:%.2f/%s",
                Element::name,
                static_cast<int>(rows),
                static_cast<int>(cols),
                zeros,
                Codec::name);
  benchmark::RegisterBenchmark((std::string{"host_compress"} + suffix).c_str(),
                               [zeros](benchmark::State& state) {
                                 case_tensor subject{zeros};
                                 for (auto _ : state) {
                                   if (bs::status const done = subject.compress(); !done.ok()) {
                                     state.SkipWithError(done.text());
                                     break;
                                   }
                                   benchmark::ClobberMemory();
                                 }
                                 report(state, subject);
                               })
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark((std::string{"host_decompress"} + suffix).c_str(),
                               [zeros](benchmark::State& state) {
                                 case_tensor subject{zeros};
                                 if (!subject.compress().ok())
                                   return state.SkipWithError("cannot compress");
                                 for (auto _ : state) {
                                   if (bs::status const done = subject.decompress(); !done.ok()) {
                                     state.SkipWithError(done.text());
                                     break;
                                   }
                                   benchmark::ClobberMemory();
                                 }
                                 if (!subject.is_exact())
                                   state.SkipWithError("the values came back different");
                                 report(state, subject);
                               })
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  for (double const zeros : {0.5, 0.9}) {
    add_case<bs::bf16, bs::codec::fast>(zeros);
    add_case<bs::bf16, bs::codec::sign>(zeros);
    add_case<bs::bf16, bs::codec::compact>(zeros);
  }
  add_case<bs::fp8_e4m3, bs::codec::sign>(0.9);
  add_case<bs::fp32, bs::codec::sign>(0.9);
  benchmark::AddCustomContext("compiler", __VERSION__);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
