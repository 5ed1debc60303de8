// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What does the arena cost against a plain buffer, and which slab size is best?
///
/// Names: compress|recompress|decompress/arena|host_<share>/zeros:<share>, where compress finds the tensor empty and
/// recompress full, so that it gives its slabs back first, and host_<share> has so large a share of its slabs in mapped
/// host memory; slabs/<KiB>, twelve layers of a trained ReLU² network's densities, compressed and
/// consumed; take_give/<blocks>, free-list throughput.
/// Counters: dense_GBps; relative, the plain buffer's time over this one's, measured alternately; held, slab bytes over
/// chunk bytes; million_per_s, slabs taken and given back.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <bench/support/device.cuh>
#include <bench/support/device_case.cuh>
#include <bench/support/roofline.cuh>
#include <bitsparse/arena/arena.cuh>
#include <bitsparse/arena/compressed_tensor.cuh>
#include <bitsparse/arena/operations.cuh>
#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>

namespace {

namespace bs = bitsparse;

using format    = bs::default_format<bs::bf16>;
using bits_type = format::bits_type;

constexpr std::uint64_t num_rows = 16000, num_cols = 21504;

using bench::require;

bs::const_matrix_view<bs::bf16> read_only(bench::device_memory const& m,
                                          std::uint64_t rows,
                                          std::uint64_t cols) {
  return {m.as<bits_type>(), rows, cols, cols};
}
bs::matrix_view<bs::bf16> writable(bench::device_memory const& m,
                                   std::uint64_t rows,
                                   std::uint64_t cols) {
  return {m.as<bits_type>(), rows, cols, cols};
}

/// The tensors of a case, and as many in an arena, over the same dense matrices.
class both : public bench::case_of<format> {
 public:
  both(double zeros, double host_share) : case_of(num_rows, num_cols, num_cols, zeros) {
    std::uint64_t const used = used_slabs(zeros);
    auto const in_host       = static_cast<std::uint64_t>(static_cast<double>(used) * host_share);
    // For what the estimate misses, and what is kept while slabs are taken ahead.
    std::uint64_t const spare = used / 16 + 256;
    arena_ = std::make_unique<bs::arena>(used - in_host + (host_share == 0 ? spare : 0),
                                         host_share == 0 ? 0 : in_host + spare);
    for (int i = 0; i < dense.count(); ++i) {
      tensors_.push_back(
          std::make_unique<bs::compressed_tensor<format>>(arena_->view(), num_rows, num_cols));
      compress_buffer(i);
      compress_arena(i);
    }
  }
  void compress_buffer(int i) {
    require(bs::compress<bs::codec::sign>(source(i), tensor(i), nullptr));
  }
  void compress_arena(int i) {
    require(bs::compress<bs::codec::sign>(source(i), tensors_[i]->view(), nullptr));
  }
  void decompress_buffer(int i) { require(bs::decompress(tensor(i), target(i), nullptr)); }
  void decompress_arena(int i) { require(bs::decompress(tensors_[i]->view(), target(i), nullptr)); }
  bs::arena_state state() const {
    bs::arena_state content;
    bench::require_cuda(
        cudaMemcpy(&content, arena_->view().state, sizeof(content), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    return content;
  }
  void release_arena(int i) { require(bs::release(tensors_[i]->view(), nullptr)); }
  /// Of one work(i), after prepare(i) for all tensors, which is not counted.
  template <class Prepare, class Work>
  double milliseconds(Prepare prepare, Work work) {
    for (int i = 0; i < dense.count(); ++i) prepare(i);
    // While this runs, the host enqueues what is timed.
    bench::require_cuda(cudaMemsetAsync(dense.restored(0), 0, dense.dense_bytes()),
                        "cudaMemsetAsync");
    return timer_.milliseconds(
               [&] {
                 for (int i = 0; i < dense.count(); ++i) work(i);
               },
               nullptr) /
           dense.count();
  }

 private:
  /// About the slabs that all tensors take together.
  std::uint64_t used_slabs(double zeros) const {
    double const bits = 1 + 15 * (1 - zeros);
    return static_cast<std::uint64_t>(dense.count() * (dense.dense_bytes() / 16.0) * bits /
                                      bs::default_slab_bytes);
  }

  std::unique_ptr<bs::arena> arena_;
  std::vector<std::unique_ptr<bs::compressed_tensor<format>>> tensors_;
  bench::event_timer timer_;
};

enum class operation { compress, recompress, decompress };

/// The buffer and the arena alternately; the arena's time is the iteration's.
void run_both(benchmark::State& state, operation what, double zeros, double host_share) {
  both subject(zeros, host_share);
  auto const nothing = [](int) {};
  auto const release = [&](int i) { subject.release_arena(i); };
  double buffer_ms = 0, arena_ms = 0;
  for (auto _ : state) {
    double ms = 0;
    if (what == operation::decompress) {
      buffer_ms += subject.milliseconds(nothing, [&](int i) { subject.decompress_buffer(i); });
      ms = subject.milliseconds(nothing, [&](int i) { subject.decompress_arena(i); });
    } else {
      auto const compress = [&](int i) { subject.compress_arena(i); };
      buffer_ms += subject.milliseconds(nothing, [&](int i) { subject.compress_buffer(i); });
      ms = what == operation::compress ? subject.milliseconds(release, compress)
                                       : subject.milliseconds(nothing, compress);
    }
    arena_ms += ms;
    state.SetIterationTime(ms / 1e3);
  }
  auto const used = subject.state();
  if (used.conditions != 0) state.SkipWithError("a condition was raised");
  state.counters["dense_GBps"] =
      subject.dense.dense_bytes() / (arena_ms / state.iterations()) / 1e6;
  state.counters["relative"] = buffer_ms / arena_ms;
  state.counters["host_share"] =
      static_cast<double>(used.in_use[1]) / (used.in_use[0] + used.in_use[1]);
}

/// Twelve layers, 16,384 tokens x 3072: forward, then backward.
void run_slab_size(benchmark::State& state, std::uint64_t slab_bytes) {
  constexpr std::uint64_t rows = 16384, cols = 3072;
  double const densities[] = {
      0.168, 0.034, 0.038, 0.055, 0.077, 0.089, 0.110, 0.128, 0.147, 0.174, 0.204, 0.273};
  bs::arena arena(std::uint64_t{700} * 1024 * 1024 / slab_bytes, 0, slab_bytes);
  std::vector<bench::device_memory> dense;
  std::vector<std::unique_ptr<bs::compressed_tensor<format>>> tensors;
  bench::device_memory restored{rows * cols * 2};
  for (double const density : densities) {
    dense.emplace_back(rows * cols * 2);
    tensors.push_back(std::make_unique<bs::compressed_tensor<format>>(arena.view(), rows, cols));
    bench::fill_activations<bs::bf16>(
        dense.back().as<bits_type>(), rows * cols, 1 - density, dense.size());
  }
  auto const forward = [&] {
    for (std::size_t i = 0; i < dense.size(); ++i)
      require(bs::compress<bs::codec::sign>(
          read_only(dense[i], rows, cols), tensors[i]->view(), nullptr));
  };
  forward();
  bs::arena_state used;
  bench::require_cuda(cudaMemcpy(&used, arena.view().state, sizeof(used), cudaMemcpyDeviceToHost),
                      "cudaMemcpy");
  double chunk_bytes = 0;
  for (auto const& tensor : tensors) {
    std::vector<bs::tile_descriptor> directory(bs::num_tiles<format>(rows, cols));
    bench::require_cuda(cudaMemcpy(directory.data(),
                                   tensor->view().directory,
                                   directory.size() * 8,
                                   cudaMemcpyDeviceToHost),
                        "cudaMemcpy");
    for (auto const& tile : directory) chunk_bytes += tile.chunk_units() * 16.0;
  }
  bench::event_timer timer;
  for (auto _ : state) {
    double const ms = timer.milliseconds(
        [&] {
          forward();
          for (std::size_t i = dense.size(); i-- > 0;)
            require(bs::consume(tensors[i]->view(), writable(restored, rows, cols), nullptr));
        },
        nullptr);
    state.SetIterationTime(ms / 1e3);
  }
  state.counters["held"] = used.in_use[0] * static_cast<double>(slab_bytes) / chunk_bytes;
}

/// Every thread takes a slab and gives it back, again and again.
__global__ void take_give_kernel(bs::arena_view const arena, int times) {
  for (int i = 0; i < times; ++i) {
    std::uint32_t const slab = arena.take();
    if (slab == bs::arena_view::no_slab) continue;
    arena.put(0, atomicAdd(&arena.state->given[0], 1ull), slab);
    arena.announce(0, 1);
  }
}

void run_take_give(benchmark::State& state, int blocks) {
  bs::arena arena(8192, 0, 32 * 1024);
  bench::event_timer timer;
  constexpr int times = 50;
  double total        = 0;
  for (auto _ : state) {
    double const ms =
        timer.milliseconds([&] { take_give_kernel<<<blocks, 32>>>(arena.view(), times); }, nullptr);
    state.SetIterationTime(ms / 1e3);
    total += ms;
  }
  state.counters["million_per_s"] = blocks * 32.0 * times * state.iterations() / total / 1e3;
}

template <class Run>
void add(std::string const& name, Run run) {
  bench::add_row(name, run, 8);
}

}  // namespace

int main(int argc, char** argv) {
  std::pair<char const*, operation> const operations[] = {{"compress", operation::compress},
                                                          {"recompress", operation::recompress},
                                                          {"decompress", operation::decompress}};
  for (double const zeros : {0.5, 0.9}) {
    std::string const share = zeros == 0.5 ? "0.50" : "0.90";
    for (auto const& [name, what] : operations) {
      add(std::string(name) + "/arena/zeros:" + share,
          [what = what, zeros](benchmark::State& state) { run_both(state, what, zeros, 0); });
    }
  }
  for (double const host : {0.01, 0.1, 1.0}) {
    std::string const percent = std::to_string(static_cast<int>(host * 100 + 0.5));
    for (auto const& [name, what] : operations) {
      if (what == operation::recompress) continue;
      add(std::string(name) + "/host_" + percent + "/zeros:0.90",
          [what = what, host](benchmark::State& state) { run_both(state, what, 0.9, host); });
    }
  }
  for (std::uint64_t const kib : {32, 64, 128, 256, 512, 1024, 4096}) {
    add("slabs/" + std::to_string(kib) + "KiB",
        [=](benchmark::State& state) { run_slab_size(state, kib * 1024); });
  }
  for (int const blocks : {1, 32, 132}) {
    add("take_give/" + std::to_string(blocks),
        [=](benchmark::State& state) { run_take_give(state, blocks); });
  }
  return bench::run_rows(argc, argv);
}
