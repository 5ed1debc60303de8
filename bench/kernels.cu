// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// How close do compress and decompress come to the memory roofline, and what do others reach?
///
/// Names, <shape> being <rows>x<cols>/zeros:<share>:
///   copy/<bytes>; pattern/<read|write>/<bytes of a tile's row>/<shape>, plain kernels that move the
///   bytes of compress (read) and decompress (write) and compute nothing;
///   compress|decompress/<element>/<shape>/<codec>, and with /tile:<rows>x<cols>, /ld:<values>,
///   /arena or /real:<file> instead of uniform zeros where they differ from the default;
///   pair/<MiB> compress and then decompress, empty_pair two empty kernels, for the launch-bound end;
///   compress|decompress/peer:<name>/..., see bench/peers.
/// Counters: see bench/support/roofline.cuh.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>

#include <bench/peers/peers.hpp>
#include <bench/support/device_case.cuh>
#include <bench/support/roofline.cuh>
#include <bench/support/traffic_pattern.cuh>
#include <bitsparse/arena/arena.cuh>
#include <bitsparse/arena/compressed_tensor.cuh>
#include <bitsparse/arena/operations.cuh>
#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>

namespace {

namespace bs = bitsparse;

constexpr std::uint64_t num_rows = 16000, num_cols = 21504;  // BitSparse's experiment

// -------------------------------------------------------------------------------------------------
// Rows
// -------------------------------------------------------------------------------------------------

/// @param detail the end of the name
template <class Format, class Codec>
void add(std::uint64_t rows,
         std::uint64_t cols,
         double zeros,
         std::string const& detail = "",
         std::uint64_t ld          = 0) {
  if (ld == 0) ld = cols;
  std::string const middle =
      std::string("/") + Format::element::name + "/" + bench::shape_and_zeros(rows, cols, zeros);
  for (bench::operation const what : bench::both) {
    bench::add_row(
        bench::name_of(what) + middle + "/" + Codec::name + detail, [=](benchmark::State& state) {
          bench::run<Format, Codec>(
              state,
              what,
              bench::shared_case<bench::case_of<Format>>(middle + detail, rows, cols, ld, zeros));
        });
  }
}

template <class Element>
void add_element() {
  using format = bs::default_format<Element>;
  for (double const zeros : {0.0, 0.5, 0.8, 0.85, 0.9, 0.95, 0.99}) {
    add<format, bs::codec::fast>(num_rows, num_cols, zeros);
    add<format, bs::codec::sign>(num_rows, num_cols, zeros);
    add<format, bs::codec::compact>(num_rows, num_cols, zeros);
  }
}

template <class Element, int Rows, int Cols>
void add_tile() {
  for (double const zeros : {0.5, 0.9}) {
    add<bs::tile_format<Element, Rows, Cols>, bs::codec::sign>(
        num_rows, num_cols, zeros, "/tile:" + std::to_string(Rows) + "x" + std::to_string(Cols));
  }
}

/// Real activations, where the program finds them: the values of one file, repeated.
void add_real(std::string const& file) {
  using format = bs::default_format<bs::bf16>;
  std::ifstream stream("tests/data/relu_gpt_" + file + "_128x3072_bf16.bin", std::ios::binary);
  std::vector<std::uint16_t> sample(128 * 3072);
  auto const bytes = static_cast<std::streamsize>(sample.size() * sizeof(sample[0]));
  if (!stream.read(reinterpret_cast<char*>(sample.data()), bytes)) return;
  auto const add_codec = [&](auto codec) {
    using codec_type       = decltype(codec);
    std::string const name = std::string("/bf16/114688x3072/") + codec_type::name + "/real:" + file;
    for (bench::operation const what : bench::both) {
      bench::add_row(bench::name_of(what) + name, [=](benchmark::State& state) {
        bench::run<format, codec_type>(
            state, what, bench::shared_case<bench::case_of<format>>(file, 114688, 3072, sample));
      });
    }
  };
  add_codec(bs::codec::sign{});
  add_codec(bs::codec::compact{});
  bench::add_nvcomp_peers({"114688x3072/real:" + file, 114688, 3072, 0, sample});
}

/// Into an arena; what the plain buffer's row of the same name is without.
template <class Element>
void add_arena(double zeros) {
  using format = bs::default_format<Element>;
  std::string const middle =
      std::string("/") + Element::name + "/" + bench::shape_and_zeros(num_rows, num_cols, zeros);
  for (bench::operation const what : bench::both) {
    bench::add_row(bench::name_of(what) + middle + "/sign/arena", [=](benchmark::State& state) {
      auto& subject =
          bench::shared_case<bench::case_of<format>>(middle, num_rows, num_cols, num_cols, zeros);
      auto& dense                = subject.dense;
      std::uint64_t const stored = dense.dense_bytes() *
                                   (2.0 / sizeof(typename format::bits_type)) * (1.2 - zeros) *
                                   dense.count();
      bs::arena arena(stored / bs::default_slab_bytes + 256);
      std::vector<std::unique_ptr<bs::compressed_tensor<format>>> tensors;
      for (int i = 0; i < dense.count(); ++i) {
        tensors.push_back(
            std::make_unique<bs::compressed_tensor<format>>(arena.view(), num_rows, num_cols));
      }
      auto const compress = [&](int i) {
        bench::require(
            bs::compress<bs::codec::sign>(subject.source(i), tensors[i]->view(), nullptr));
      };
      auto const decompress = [&](int i) {
        bench::require(bs::decompress(tensors[i]->view(), subject.target(i), nullptr));
      };
      double const copy_rate = dense.copy_bytes_per_ms();
      dense.forget_restored();
      for (int i = 0; i < dense.count(); ++i) compress(i);
      for (int i = 0; i < dense.count(); ++i) decompress(i);
      if (!dense.is_exact()) state.SkipWithError("not exact");
      double const ms = what == bench::operation::compress
                            ? bench::measure(state, dense, compress)
                            : bench::measure(state, dense, decompress);
      bs::arena_state used;
      bench::require_cuda(
          cudaMemcpy(&used, arena.view().state, sizeof(used), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
      if (used.conditions != 0) state.SkipWithError("a condition was raised");
      bench::set_counters(
          state,
          ms,
          bench::useful_bytes(dense.dense_bytes(), Element::value_bits, dense.density(), true),
          dense.dense_bytes(),
          0,
          copy_rate);
    });
  }
}

void add_copy_and_patterns() {
  using format = bs::default_format<bs::bf16>;
  bench::add_row("copy/" + std::to_string(num_rows * num_cols * 2), [](benchmark::State& state) {
    auto& dense =
        bench::shared_case<bench::case_of<format>>("copy", num_rows, num_cols, num_cols, 0.9).dense;
    bench::measure(state, dense, [&](int i) { dense.copy(i); });
    state.counters["copy_GBps"] = dense.copy_bytes_per_ms() / 1e6;
  });
  for (double const zeros : {0.5, 0.8, 0.9, 0.95}) {
    for (std::uint32_t const row_bytes : {128, 256, 512}) {
      for (bool const reads : {true, false}) {
        std::string const name = std::string("pattern/") + (reads ? "read/" : "write/") +
                                 std::to_string(row_bytes) + "/" +
                                 bench::shape_and_zeros(num_rows, num_cols, zeros);
        bench::add_row(name, [=](benchmark::State& state) {
          auto& dense =
              bench::shared_case<bench::case_of<format>>("copy", num_rows, num_cols, num_cols, 0.9)
                  .dense;
          auto const chunk = static_cast<std::uint32_t>(512 / 16.0 * (1 + 15 * (1 - zeros)) + 0.5);
          bench::tile_pattern const pattern{num_cols * 2 / 16, row_bytes / 16, chunk};
          constexpr std::uint32_t tiles = num_rows * num_cols * 2 / 8192;
          auto const vectors            = [](std::uint16_t* values) {
            return reinterpret_cast<uint4*>(values);
          };
          double const copy_rate = dense.copy_bytes_per_ms();
          double const ms        = bench::measure(state, dense, [&](int i) {
            auto* const kernel = reads ? bench::read_tiles_kernel : bench::write_tiles_kernel;
            kernel<<<tiles, bench::pattern_threads>>>(
                pattern, vectors(dense.dense(i)), vectors(dense.restored(i)));
          });
          bench::set_counters(state,
                              ms,
                              dense.dense_bytes() * (1 + chunk / 512.0),
                              dense.dense_bytes(),
                              0,
                              copy_rate);
        });
      }
    }
  }
}

__global__ void empty_kernel() {}

/// From 1 MiB to 4 GiB of bf16, 90 % zeros.
void add_sizes() {
  using format = bs::default_format<bs::bf16>;
  bench::add_row("empty_pair", [](benchmark::State& state) {
    bench::event_timer timer;
    for (auto _ : state) {
      auto const pairs = [] {
        for (int i = 0; i < 200; ++i) {
          empty_kernel<<<1, 32>>>();
          empty_kernel<<<1, 32>>>();
        }
      };
      state.SetIterationTime(timer.milliseconds(pairs, nullptr) / 200 / 1e3);
    }
  });
  for (std::uint64_t const mib : {1, 4, 16, 64, 256, 1024, 4096}) {
    std::uint64_t const cols = 4096, rows = mib * (1 << 20) / 8192;
    std::string const name = "pair/" + std::to_string(mib);
    bench::add_row(name, [=](benchmark::State& state) {
      auto& subject = bench::shared_case<bench::case_of<format>>(name, rows, cols, cols, 0.9);
      auto& dense   = subject.dense;
      dense.forget_restored();
      double const ms = bench::measure(state, dense, [&](int i) {
        bench::require(
            bs::compress<bs::codec::sign>(subject.source(i), subject.tensor(i), nullptr));
        bench::require(bs::decompress(subject.tensor(i), subject.target(i), nullptr));
      });
      if (!dense.is_exact()) state.SkipWithError("not exact");
      double const copy_rate    = dense.copy_bytes_per_ms();
      state.counters["copy_ms"] = 2 * dense.dense_bytes() / copy_rate;
      bench::set_counters(state,
                          ms,
                          2 * bench::useful_bytes(dense.dense_bytes(), 16, dense.density(), true),
                          2 * dense.dense_bytes(),
                          0,
                          copy_rate);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  add_copy_and_patterns();
  add_element<bs::bf16>();
  add_element<bs::fp16>();
  add_element<bs::fp32>();
  add_element<bs::fp8_e4m3>();
  add_element<bs::fp8_e5m2>();
  add_tile<bs::bf16, 64, 64>();
  add_tile<bs::bf16, 64, 128>();
  add_tile<bs::fp8_e4m3, 64, 128>();
  add_tile<bs::fp8_e4m3, 64, 256>();
  using bf16_format = bs::default_format<bs::bf16>;
  add<bf16_format, bs::codec::sign>(num_rows, num_cols, 0.9, "/ld:21568", 21568);
  add<bf16_format, bs::codec::sign>(num_rows, num_cols, 0.9, "/ld:21505", 21505);
  for (char const* file : {"layer00", "layer03", "layer07", "layer11"}) add_real(file);
  for (double const zeros : {0.5, 0.9}) add_arena<bs::bf16>(zeros);
  add_arena<bs::fp8_e4m3>(0.9);
  add_sizes();
  for (double const zeros : {0.5, 0.9}) {
    bench::add_cub_peer(bench::uniform_data(zeros));
    bench::add_cusparse_peer(bench::uniform_data(zeros));
    bench::add_nvcomp_peers(bench::uniform_data(zeros));
  }
  int const result = bench::run_rows(argc, argv);
  bench::running.reset();
  return result;
}
