// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Examples that are tests: gradient accumulation, a 1F1B pipeline, a skipped step that makes the arena grow.
#include <deque>
#include <memory>
#include <vector>

#include <bitsparse/arena/planner.hpp>
#include <bitsparse/arena/statistics.cuh>
#include <tests/support/arena_fixture.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/step_kernels.cuh>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format    = bs::default_format<bs::bf16>;
using bits_type = format::bits_type;

constexpr std::uint64_t slab_bytes = 32 * 1024;
constexpr std::uint64_t num_rows = 192, num_cols = 256, num_values = num_rows * num_cols;
constexpr int num_layers = 12;

/// An activation that is different for every layer and micro-batch, and how sparse it is.
void make_activation(bits_type* values, int layer, int micro_batch, cudaStream_t stream) {
  make_values_kernel<<<64, 256, 0, stream>>>(
      values, num_values, layer * 1000 + micro_batch, 50 + layer * 4 % 50);
}

/// Stands in for a weight gradient: sums an activation's bits into a layer's accumulator.
__global__ void accumulate_kernel(bits_type const* values, unsigned long long* sum) {
  unsigned long long own = 0;
  for (std::uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < num_values;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    own += values[i] * (i % 251 + 1);
  }
  atomicAdd(sum, own);
}

bs::const_matrix_view<bs::bf16> read_only(bits_type const* data) {
  return {data, num_rows, num_cols, num_cols};
}
bs::matrix_view<bs::bf16> writable(bits_type* data) {
  return {data, num_rows, num_cols, num_cols};
}

template <class Report>
struct pinned_slot {
  bs::report_slot<Report>* slot = nullptr;
  pinned_slot() {
    require_cuda(cudaHostAlloc(reinterpret_cast<void**>(&slot), sizeof(*slot), cudaHostAllocMapped),
                 "cudaHostAlloc");
    std::memset(static_cast<void*>(slot), 0, sizeof(*slot));
  }
  ~pinned_slot() { cudaFreeHost(slot); }
  Report wait() const {
    Report content{};
    require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    if (!bs::read_report(slot, content)) throw std::runtime_error("no report");
    return content;
  }
};

}  // namespace

TEST_CASE("arena example: 12 layers, last in first out, gradients accumulated over micro-batches",
          "[arena]") {
  constexpr int micro_batches = 4;
  guarded_arena arena{num_layers * 6, 0, slab_bytes};
  std::vector<bs::compressed_tensor<format>> saved;
  for (int i = 0; i < num_layers; ++i) saved.emplace_back(arena.view(), num_rows, num_cols);
  device_array<bits_type> activation(num_values);
  device_array<unsigned long long> gradients(num_layers), expected(num_layers);
  bool ok = true;
  for (int m = 0; m < micro_batches; ++m) {
    for (int layer = 0; layer < num_layers; ++layer) {  // forward: one dense buffer for all layers
      make_activation(activation.data(), layer, m, nullptr);
      accumulate_kernel<<<32, 256>>>(activation.data(), expected.data() + layer);
      ok = ok &&
           bs::compress<bs::codec::sign>(read_only(activation.data()), saved[layer].view(), nullptr)
               .ok();
    }
    for (int layer = num_layers - 1; layer >= 0; --layer) {  // backward
      ok = ok && bs::consume(saved[layer].view(), writable(activation.data()), nullptr).ok();
      accumulate_kernel<<<32, 256>>>(activation.data(), gradients.data() + layer);
    }
  }
  CHECK(ok);
  for (int layer = 0; layer < num_layers; ++layer)
    CHECK(gradients.read(layer) == expected.read(layer));
  CHECK(arena.state().conditions == 0);
  CHECK(arena.free_slabs(0) == num_layers * 6);
}

TEST_CASE("arena example: a 1F1B pipeline, micro-batches first in first out, on a stream per stage",
          "[arena]") {
  constexpr int stages = 3, layers_per_stage = 4, micro_batches = 10;
  guarded_arena arena{stages * stages * layers_per_stage * 5, 0, slab_bytes};
  device_array<unsigned long long> mismatches(1);
  struct stage {
    cudaStream_t stream;
    std::unique_ptr<bs::tensor_pool<format>> pool;
    std::deque<std::vector<bs::arena_tensor_view<format>>>
        live;  // micro-batches, each its layers' tensors
    std::unique_ptr<device_array<bits_type>> activation, restored;
  };
  std::vector<stage> pipeline(stages);
  for (int s = 0; s < stages; ++s) {
    require_cuda(cudaStreamCreateWithFlags(&pipeline[s].stream, cudaStreamNonBlocking),
                 "cudaStreamCreate");
    pipeline[s].pool = std::make_unique<bs::tensor_pool<format>>(
        arena.view(), num_rows, num_cols, (stages - s) * layers_per_stage);
    pipeline[s].activation = std::make_unique<device_array<bits_type>>(num_values);
    pipeline[s].restored   = std::make_unique<device_array<bits_type>>(num_values);
  }
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  bool ok            = true;
  auto const forward = [&](int s, int m) {
    stage& at = pipeline[s];
    at.live.emplace_back(layers_per_stage);
    for (int layer = 0; layer < layers_per_stage; ++layer) {
      ok = ok && at.pool->acquire(at.live.back()[layer]);
      make_activation(at.activation->data(), s * layers_per_stage + layer, m, at.stream);
      ok = ok && bs::compress<bs::codec::sign>(
                     read_only(at.activation->data()), at.live.back()[layer], at.stream)
                     .ok();
    }
  };
  auto const backward = [&](int s, int m) {
    stage& at = pipeline[s];
    for (int layer = layers_per_stage - 1; layer >= 0; --layer) {
      auto const tensor = at.live.front()[layer];
      ok                = ok && bs::consume(tensor, writable(at.restored->data()), at.stream).ok();
      make_activation(at.activation->data(), s * layers_per_stage + layer, m, at.stream);
      compare_kernel<<<64, 256, 0, at.stream>>>(
          at.activation->data(), at.restored->data(), num_values, mismatches.data());
      at.pool->give_back(tensor);
    }
    at.live.pop_front();
  };
  for (int s = 0; s < stages; ++s) {
    int const warm_up = stages - s - 1;  // micro-batches in flight before the first backward
    for (int m = 0; m < warm_up; ++m) forward(s, m);
    for (int m = warm_up; m < micro_batches; ++m) {
      forward(s, m);
      backward(s, m - warm_up);
    }
    for (int m = micro_batches - warm_up; m < micro_batches; ++m) backward(s, m);
  }
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  CHECK(ok);
  CHECK(mismatches.read() == 0);
  CHECK(arena.state().conditions == 0);
  CHECK(arena.state().in_use[0] == 0);
  CHECK(arena.free_slabs(0) == arena.view().num_device_slabs);
  for (auto& each : pipeline) cudaStreamDestroy(each.stream);
}

TEST_CASE(
    "arena example: an overflow skips the step on the device, and the arena grows at a safe point",
    "[arena]") {
  std::vector<std::unique_ptr<device_array<bits_type>>> activations;
  for (int i = 0; i < num_layers; ++i) {
    activations.push_back(std::make_unique<device_array<bits_type>>(num_values));
    make_activation(activations[i]->data(), i, 7, nullptr);
  }
  auto const run_step = [&](bs::arena_view const& arena,
                            std::vector<bs::compressed_tensor<format>>& saved,
                            unsigned long long& wrong) {
    device_array<bits_type> restored(num_values);
    device_array<unsigned long long> mismatches(1);
    bool ok = true;
    for (int i = 0; i < num_layers; ++i)
      ok = ok && bs::compress<bs::codec::sign>(
                     read_only(activations[i]->data()), saved[i].view(), nullptr)
                     .ok();
    for (int i = num_layers - 1; i >= 0; --i) {
      ok = ok && bs::consume(saved[i].view(), writable(restored.data()), nullptr).ok();
      compare_kernel<<<64, 256>>>(
          activations[i]->data(), restored.data(), num_values, mismatches.data());
    }
    wrong = mismatches.read();
    (void)arena;
    return ok;
  };
  auto const make_tensors = [](bs::arena_view const& arena) {
    std::vector<bs::compressed_tensor<format>> tensors;
    for (int i = 0; i < num_layers; ++i) tensors.emplace_back(arena, num_rows, num_cols);
    return tensors;
  };
  unsigned long long wrong = 0;
  pinned_slot<bs::arena_report> slot;
  bs::arena_report told{};
  {
    guarded_arena small{9, 0, slab_bytes};
    auto saved = make_tensors(small.view());
    REQUIRE(run_step(small.view(), saved, wrong));
    CHECK(wrong > 0);
    CHECK(small.state().skip_step ==
          1.0f);  // what an optimiser kernel reads, as it reads found_inf
    REQUIRE(bs::report(small.view(), slot.slot, nullptr).ok());
    told = slot.wait();
    CHECK(told.refused_slabs > 0);
    CHECK(told.needed_slabs > 9);
  }
  guarded_arena grown{bs::planned_slabs(told), 0, slab_bytes};
  auto saved = make_tensors(grown.view());
  REQUIRE(run_step(grown.view(), saved, wrong));
  CHECK(wrong == 0);
  CHECK(grown.state().skip_step == 0.0f);
}

TEST_CASE("arena: a tensor's statistics are its directory's", "[arena]") {
  guarded_arena arena{32, 0, slab_bytes};
  bs::compressed_tensor<format> tensor{arena.view(), num_rows, num_cols};
  device_array<bits_type> activation(num_values);
  make_activation(activation.data(), 3, 1, nullptr);
  pinned_slot<bs::tensor_statistics> slot;
  REQUIRE(bs::compress<bs::codec::sign>(read_only(activation.data()), tensor.view(), nullptr).ok());
  REQUIRE(bs::report(tensor.view(), slot.slot, nullptr).ok());
  auto const content = slot.wait();
  std::vector<bits_type> values(num_values);
  std::vector<bs::tile_descriptor> directory(bs::num_tiles<format>(num_rows, num_cols));
  require_cuda(cudaMemcpy(values.data(), activation.data(), num_values * 2, cudaMemcpyDeviceToHost),
               "cudaMemcpy");
  require_cuda(
      cudaMemcpy(
          directory.data(), tensor.view().directory, directory.size() * 8, cudaMemcpyDeviceToHost),
      "cudaMemcpy");
  std::uint64_t kept = 0, bytes = 0, tiles = 0;
  for (bits_type const bits : values) kept += bits != 0;
  for (auto const& tile : directory) bytes += tile.chunk_units() * 16;
  for (std::uint64_t const count : content.tiles) tiles += count;
  CHECK(content.kept == kept);
  CHECK(content.chunk_bytes == bytes);
  CHECK(tiles == directory.size());
  CHECK(content.tiles[static_cast<int>(bs::encoding::flat_sign)] == directory.size());
  CHECK(content.slabs == slabs_of(tensor.view()).size());
  CHECK(content.is_full);
  CHECK(content.sign_bytes == bytes);
  REQUIRE(bs::compress<bs::codec::fast>(read_only(activation.data()), tensor.view(), nullptr).ok());
  REQUIRE(bs::report(tensor.view(), slot.slot, nullptr).ok());
  CHECK(slot.wait().chunk_bytes == content.fast_bytes);
  REQUIRE(bs::release(tensor.view(), nullptr).ok());
  REQUIRE(bs::report(tensor.view(), slot.slot, nullptr).ok());
  CHECK_FALSE(slot.wait().is_full);
}

TEST_CASE("arena: the twelve densities of a trained network waste less than 3 % in slabs",
          "[arena][large]") {
  constexpr std::uint64_t rows = 16384, cols = 3072;
  double const densities[] = {
      0.168, 0.034, 0.038, 0.055, 0.077, 0.089, 0.110, 0.128, 0.147, 0.174, 0.204, 0.273};
  bs::arena arena{2400};
  device_array<bits_type> dense(rows * cols);
  std::vector<std::unique_ptr<bs::compressed_tensor<format>>> tensors;
  pinned_slot<bs::tensor_statistics> slot;
  std::uint64_t chunk_bytes = 0, slabs = 0;
  int layer = 0;
  for (double const density : densities) {
    tensors.push_back(std::make_unique<bs::compressed_tensor<format>>(arena.view(), rows, cols));
    make_values_kernel<<<1024, 256>>>(
        dense.data(), rows * cols, ++layer, static_cast<unsigned>(100 - density * 100 + 0.5));
    REQUIRE(bs::compress<bs::codec::sign>(
                bs::const_matrix_view<bs::bf16>{dense.data(), rows, cols, cols},
                tensors.back()->view(),
                nullptr)
                .ok());
    REQUIRE(bs::report(tensors.back()->view(), slot.slot, nullptr).ok());
    auto const content = slot.wait();
    CHECK(content.is_full);
    chunk_bytes += content.chunk_bytes;
    slabs += content.slabs;
  }
  double const held =
      static_cast<double>(slabs * bs::default_slab_bytes) / static_cast<double>(chunk_bytes);
  CAPTURE(chunk_bytes, slabs, held);
  CHECK(held < 1.03);
  CHECK(held >= 1.0);
}

TEST_CASE("arena: more than 4 GiB of payload and more than 2^31 values in one tensor",
          "[arena][large]") {
  constexpr std::uint64_t rows = 40009, cols = 72001, count = rows * cols;
  std::size_t free_bytes = 0, total_bytes = 0;
  require_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  if (free_bytes < count * 7) {
    WARN("skipped: the device has too little free memory");
    return;
  }
  bs::arena arena{bs::planned_slabs<format, bs::codec::sign>(rows, cols, 0.91) + 64};
  bs::compressed_tensor<format> tensor{arena.view(), rows, cols};
  device_array<bits_type> dense(count), restored(count);
  device_array<unsigned long long> mismatches(1);
  make_values_kernel<<<2048, 256>>>(dense.data(), count, 1, 10);
  require_cuda(cudaMemset(restored.data(), 0xa5, count * 2), "cudaMemset");
  REQUIRE(
      bs::compress<bs::codec::sign>(
          bs::const_matrix_view<bs::bf16>{dense.data(), rows, cols, cols}, tensor.view(), nullptr)
          .ok());
  REQUIRE(bs::decompress(tensor.view(), {restored.data(), rows, cols, cols}, nullptr).ok());
  compare_kernel<<<2048, 256>>>(dense.data(), restored.data(), count, mismatches.data());
  pinned_slot<bs::tensor_statistics> slot;
  REQUIRE(bs::report(tensor.view(), slot.slot, nullptr).ok());
  auto const content = slot.wait();
  CHECK(mismatches.read() == 0);
  CHECK(content.chunk_bytes > std::uint64_t{1} << 32);
  CHECK(content.tiles[static_cast<int>(bs::encoding::lost)] == 0);
  REQUIRE(bs::release(tensor.view(), nullptr).ok());
}

TEST_CASE("arena: a report's peaks count what tensors still hold", "[arena]") {
  guarded_arena arena{num_layers * 6, 0, slab_bytes};
  bs::compressed_tensor<format> first{arena.view(), num_rows, num_cols};
  bs::compressed_tensor<format> second{arena.view(), num_rows, num_cols};
  device_array<bits_type> activation(num_values);
  device_array<unsigned> step(1);
  activation_kernel<<<num_values / 256, 256>>>(activation.data(), step.data(), 4u);
  pinned_slot<bs::arena_report> slot;
  auto const reported = [&] {
    REQUIRE(bs::report(arena.view(), slot.slot, nullptr).ok());
    return slot.wait();
  };
  auto const compress = [&](auto& tensor) {
    REQUIRE(
        bs::compress<bs::codec::sign>(read_only(activation.data()), tensor.view(), nullptr).ok());
  };
  compress(first);
  bs::arena_report const one = reported();
  REQUIRE(one.device_slabs_in_use > 0);
  CHECK(one.peak_device_slabs == one.device_slabs_in_use);
  CHECK(one.needed_slabs == one.device_slabs_in_use);
  compress(second);
  CHECK(reported().peak_device_slabs == 2 * one.device_slabs_in_use);
  REQUIRE(bs::release(first.view(), nullptr).ok());
  bs::arena_report const less = reported();
  CHECK(less.device_slabs_in_use == one.device_slabs_in_use);
  CHECK(less.peak_device_slabs == 2 * one.device_slabs_in_use);
  CHECK(less.needed_slabs == 2 * one.device_slabs_in_use);
  REQUIRE(bs::clear(arena.view(), nullptr).ok());
  CHECK(reported().peak_device_slabs == one.device_slabs_in_use);
}
