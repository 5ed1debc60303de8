// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Tensors that move to host slabs and back: every bit, every slab's account, what stays for want of
/// room, misuse, and a captured step whose device slabs hold two of its layers.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <bitsparse/arena/offloader.cuh>
#include <tests/support/arena_fixture.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/step_kernels.cuh>
#include <tests/support/thinning.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format    = bs::default_format<bs::bf16>;
using bits_type = format::bits_type;

constexpr std::uint64_t slab_bytes = 32 * 1024;

/// A matrix, what it was compressed into, and where it is restored to.
struct subject {
  std::uint64_t rows, cols;
  bs::compressed_tensor<format> tensor;
  device_array<bits_type> dense{rows * cols + 1}, restored{rows * cols + 1};
  device_array<unsigned long long> mismatches{1};

  subject(bs::arena_view const& arena, std::uint64_t r, std::uint64_t c)
      : rows(r), cols(c), tensor(arena, r, c) {}
  bs::status compress(std::uint64_t seed, unsigned zeros, cudaStream_t stream = nullptr) {
    make_values_kernel<<<64, 256, 0, stream>>>(dense.data(), rows * cols, seed, zeros);
    return bs::compress<bs::codec::compact>(
        bs::const_matrix_view<bs::bf16>{dense.data(), rows, cols, cols}, tensor.view(), stream);
  }
  bs::status decompress(cudaStream_t stream = nullptr) {
    (void)cudaMemsetAsync(restored.data(), 0xa5, rows * cols * 2, stream);
    bs::status const result =
        bs::decompress(tensor.view(), {restored.data(), rows, cols, cols}, stream);
    compare_kernel<<<64, 256, 0, stream>>>(
        dense.data(), restored.data(), rows * cols, mismatches.data());
    return result;
  }
  bool comes_back() {
    bool const enqueued = decompress().ok();
    return enqueued && mismatches.read() == 0;
  }
  /// How many slabs of each kind hold its chunks.
  std::uint32_t slabs(int kind) const {
    std::uint32_t count = 0;
    for (std::uint32_t const slab : slabs_of(tensor.view())) {
      count += (slab < tensor.view().arena.num_device_slabs ? 0 : 1) == kind;
    }
    return count;
  }
};

bool is_clean(guarded_arena& arena) {
  auto const state = arena.state();
  return state.in_use[0] + state.in_use[1] == 0 && state.demand == 0 &&
         arena.free_slabs(0) == arena.view().num_device_slabs &&
         arena.free_slabs(1) == arena.view().num_host_slabs && arena.guards_intact();
}

}  // namespace

TEST_CASE("offload: a tensor moves to the host and back, bit for bit, and its slabs are free",
          "[arena][offload]") {
  std::uint64_t const rows = GENERATE(0, 1, 32, 300, 2048);
  std::uint64_t const cols = GENERATE(8, 136, 1000);
  unsigned const zeros     = GENERATE(0, 60, 97, 100);
  int const blocks         = GENERATE(1, 3, 8);
  CAPTURE(rows, cols, zeros, blocks);
  guarded_arena arena{400, 400, slab_bytes};
  subject s{arena.view(), rows, cols};
  REQUIRE(s.compress(rows + zeros, zeros).ok());
  std::uint32_t const slabs = s.slabs(0);
  CHECK(s.slabs(1) == 0);
  REQUIRE(bs::offload(s.tensor.view(), blocks, nullptr).ok());
  CHECK(s.slabs(0) == 0);
  CHECK(s.slabs(1) == slabs);
  CHECK(arena.free_slabs(0) == 400);
  CHECK(arena.state().in_use[1] == slabs);
  CHECK(s.comes_back());                                        // from host memory
  REQUIRE(bs::offload(s.tensor.view(), blocks, nullptr).ok());  // nothing is left to move
  REQUIRE(bs::prefetch(s.tensor.view(), blocks, nullptr).ok());
  CHECK(s.slabs(0) == slabs);
  CHECK(s.slabs(1) == 0);
  CHECK(arena.free_slabs(1) == 400);
  CHECK(s.comes_back());
  auto const state = arena.state();
  CHECK(state.moved_bytes[0] == state.moved_bytes[1]);
  CHECK(state.moved_bytes[1] <= slabs * slab_bytes);
  CHECK(state.moved_bytes[1] + slab_bytes >= slabs * slab_bytes);  // the last one is not full
  CHECK(state.unmoved == 0);
  CHECK(state.spilled == 0);
  CHECK(state.conditions == 0);
  REQUIRE(bs::release(s.tensor.view(), nullptr).ok());
  CHECK(is_clean(arena));
}

TEST_CASE("offload: what finds no slab stays where it is, and is counted", "[arena][offload]") {
  guarded_arena arena{36, 18, slab_bytes};
  subject s{arena.view(), 512, 1024}, other{arena.view(), 512, 1024};
  REQUIRE(s.compress(1, 60).ok());
  std::uint32_t const slabs = s.slabs(0);
  REQUIRE(slabs > 12);
  REQUIRE(slabs <= 18);
  REQUIRE(bs::offload(s.tensor.view(), 4, nullptr).ok());
  CHECK(s.slabs(1) == slabs);
  REQUIRE(other.compress(2, 0).ok());  // leaves few slabs of either kind
  std::uint32_t const few_device = arena.free_slabs(0), few_host = arena.free_slabs(1);
  REQUIRE(few_device < slabs);
  REQUIRE(few_host < 12);

  REQUIRE(bs::offload(other.tensor.view(), 4, nullptr).ok());
  CHECK(other.slabs(1) == few_host);
  CHECK(arena.state().unmoved == other.slabs(0));
  CHECK(arena.free_slabs(1) == 0);
  CHECK(other.comes_back());
  REQUIRE(bs::clear(arena.view(), nullptr).ok());
  std::uint32_t const room = arena.free_slabs(0);
  REQUIRE(room < slabs);
  REQUIRE(bs::prefetch(s.tensor.view(), 8, nullptr).ok());
  CHECK(s.slabs(0) == room);
  CHECK(arena.state().unmoved == slabs - room);
  CHECK(arena.free_slabs(0) == 0);
  CHECK(s.comes_back());
  CHECK(arena.state().conditions == 0);
  REQUIRE(bs::release(other.tensor.view(), nullptr).ok());
  REQUIRE(bs::release(s.tensor.view(), nullptr).ok());
  CHECK(is_clean(arena));
}

TEST_CASE("offload: without host slabs nothing moves and nothing is lost", "[arena][offload]") {
  guarded_arena arena{100, 0, slab_bytes};
  subject s{arena.view(), 256, 512};
  REQUIRE(s.compress(5, 50).ok());
  std::uint32_t const slabs = s.slabs(0);
  REQUIRE(bs::offload(s.tensor.view(), 8, nullptr).ok());
  CHECK(arena.state().unmoved == slabs);
  CHECK(s.comes_back());
  REQUIRE(bs::release(s.tensor.view(), nullptr).ok());
  CHECK(is_clean(arena));
}

TEST_CASE("offload: lost tiles stay lost, the others come back", "[arena][offload]") {
  guarded_arena arena{8, 4, slab_bytes};
  subject s{arena.view(), 512, 512};
  REQUIRE(s.compress(5, 10).ok());
  CHECK((arena.state().conditions &
         static_cast<std::uint32_t>(bs::device_condition::capacity_exceeded)) != 0);
  REQUIRE(s.decompress().ok());
  unsigned long long const lost = s.mismatches.read();
  CHECK(lost > 0);
  REQUIRE(bs::offload(s.tensor.view(), 2, nullptr).ok());
  REQUIRE(bs::prefetch(s.tensor.view(), 2, nullptr).ok());
  REQUIRE(s.decompress().ok());
  CHECK(s.mismatches.read() == 2 * lost);
  REQUIRE(bs::release(s.tensor.view(), nullptr).ok());
  CHECK(is_clean(arena));
}

TEST_CASE("offload: a tensor that holds nothing raises not_full and moves nothing",
          "[arena][offload]") {
  guarded_arena arena{100, 100, slab_bytes};
  subject s{arena.view(), 256, 512};
  auto const raised = [&] {
    std::uint32_t const conditions = arena.state().conditions;
    REQUIRE(bs::clear(arena.view(), nullptr).ok());
    return conditions == static_cast<std::uint32_t>(bs::device_condition::not_full);
  };
  REQUIRE(bs::offload(s.tensor.view(), 8, nullptr).ok());
  CHECK(raised());
  REQUIRE(s.compress(1, 50).ok());
  REQUIRE(bs::reset(arena.view(), nullptr).ok());
  REQUIRE(bs::prefetch(s.tensor.view(), 8, nullptr).ok());
  CHECK(raised());
  REQUIRE(s.compress(1, 50).ok());
  REQUIRE(bs::release(s.tensor.view(), nullptr).ok());
  REQUIRE(bs::offload(s.tensor.view(), 8, nullptr).ok());
  CHECK(raised());
  CHECK(arena.state().moved_bytes[0] + arena.state().moved_bytes[1] == 0);
  CHECK(is_clean(arena));
}

TEST_CASE("offload: an offloaded tensor is compressed into again, or abandoned by reset",
          "[arena][offload]") {
  guarded_arena arena{100, 100, slab_bytes};
  subject s{arena.view(), 256, 512};
  for (unsigned round = 0; round < 4; ++round) {
    REQUIRE(s.compress(round, 20 * round).ok());
    REQUIRE(bs::offload(s.tensor.view(), 8, nullptr).ok());
    CHECK(s.comes_back());
  }
  REQUIRE(bs::reset(arena.view(), nullptr).ok());
  CHECK(is_clean(arena));
}

TEST_CASE("offload: bad arguments are refused by name", "[arena][offload]") {
  guarded_arena arena{10, 10, slab_bytes};
  subject s{arena.view(), 64, 64};
  CHECK(std::string{bs::offload(s.tensor.view(), 0, nullptr).text()} ==
        "offload, prefetch: num_blocks is not 1 to 1024");
  CHECK(bs::prefetch(s.tensor.view(), 1025, nullptr).code() == bs::status_code::invalid_argument);
  CHECK(bs::offload(bs::arena_tensor_view<format>{}, 8, nullptr).code() ==
        bs::status_code::invalid_argument);
  CHECK_THROWS_AS(bs::offloader{0}, std::invalid_argument);
}

TEST_CASE("offload: pinned memory that cannot be had is said to be that", "[offload][api_error]") {
  // 64 TiB of pinned memory
  CHECK_THROWS_WITH((bs::arena{1, 1u << 20, 64u << 20}),
                    "arena: the pinned host memory for the slabs cannot be had");
  (void)cudaGetLastError();
}

// -------------------------------------------------------------------------------------------------
// A step
// -------------------------------------------------------------------------------------------------

namespace {

constexpr int num_layers         = 10;
constexpr std::uint64_t num_rows = 256, num_cols = 512, num_values = num_rows * num_cols;

struct network {
  guarded_arena arena;
  bs::offloader mover;
  std::vector<std::unique_ptr<bs::compressed_tensor<format>>> saved;
  std::vector<bs::transfer> transfers{num_layers};
  device_array<bits_type> activation{num_values}, restored{num_values};
  device_array<unsigned> step{1};
  device_array<unsigned long long> mismatches{1};

  network(std::uint64_t device_slabs, std::uint64_t host_slabs)
      : arena(device_slabs, host_slabs, slab_bytes) {
    for (int i = 0; i < num_layers; ++i) {
      saved.push_back(
          std::make_unique<bs::compressed_tensor<format>>(arena.view(), num_rows, num_cols));
    }
  }
  bs::matrix_view<bs::bf16> matrix(device_array<bits_type> const& of) const {
    return {of.data(), num_rows, num_cols, num_cols};
  }
  /// All layers go to the host in forward; in backward each comes back while the one after it is used.
  bool run(cudaStream_t stream) {
    bool ok = true;
    for (int layer = 0; layer < num_layers; ++layer) {
      // The slabs of two layers are all there are.
      if (layer >= 2) ok = ok && transfers[layer - 2].wait(stream).ok();
      activation_kernel<<<num_values / 256, 256, 0, stream>>>(
          activation.data(), step.data(), layer);
      ok = ok &&
           bs::compress<bs::codec::sign>(
               bs::const_matrix_view<bs::bf16>{activation.data(), num_rows, num_cols, num_cols},
               saved[layer]->view(),
               stream)
               .ok() &&
           mover.offload(saved[layer]->view(), transfers[layer], stream).ok();
    }
    ok = ok && transfers[num_layers - 2].wait(stream).ok();
    for (int layer = num_layers - 1; layer >= 0; --layer) {
      if (layer == num_layers - 1) {
        ok = ok && mover.prefetch(saved[layer]->view(), transfers[layer], stream).ok();
      }
      if (layer > 0) {
        ok = ok && mover.prefetch(saved[layer - 1]->view(), transfers[layer - 1], stream).ok();
      }
      ok = ok && transfers[layer].wait(stream).ok();
      activation_kernel<<<num_values / 256, 256, 0, stream>>>(
          activation.data(), step.data(), layer);
      (void)cudaMemsetAsync(restored.data(), 0xa5, num_values * 2, stream);
      ok = ok && bs::consume(saved[layer]->view(), matrix(restored), stream).ok();
      compare_kernel<<<64, 256, 0, stream>>>(
          activation.data(), restored.data(), num_values, mismatches.data());
    }
    advance_kernel<<<1, 1, 0, stream>>>(step.data());
    return ok;
  }
};

constexpr std::uint64_t layer_slabs = num_values * 2 / (slab_bytes - 8192) + 2;

}  // namespace

TEST_CASE(
    "offload graph: a step whose layers all go to the host replays bit-exact beside other traffic",
    "[arena][offload]") {
  std::uint64_t const device_slabs = GENERATE(3 * layer_slabs, layer_slabs, 1);
  // Each block that moves a slab holds two meanwhile.
  std::uint64_t const host_slabs = num_layers * layer_slabs + 2 * bs::default_mover_blocks;
  CAPTURE(device_slabs);
  network net{device_slabs, host_slabs};
  cudaStream_t stream, noise;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  require_cuda(cudaStreamCreateWithFlags(&noise, cudaStreamNonBlocking), "cudaStreamCreate");
  require_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
               "cudaStreamBeginCapture");
  bool const captured = net.run(stream);
  require_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  require_cuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  REQUIRE(captured);
  constexpr std::size_t noise_bytes = 8 << 20;
  void* pinned                      = nullptr;
  device_array<std::byte> device_noise(noise_bytes);
  require_cuda(cudaHostAlloc(&pinned, noise_bytes, 0), "cudaHostAlloc");
  unsigned const replays = 300 / thinning();
  for (unsigned i = 0; i < replays; ++i) {
    (void)cudaMemcpyAsync(device_noise.data(), pinned, noise_bytes, cudaMemcpyHostToDevice, noise);
    require_cuda(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
  }
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  CHECK(net.step.read() == replays);
  CHECK(net.mismatches.read() == 0);
  auto const state = net.arena.state();
  CHECK(state.conditions == 0);
  CHECK(state.refused == 0);
  CHECK(state.moved_bytes[1] > 0);
  if (device_slabs == 3 * layer_slabs) {
    CHECK(state.moved_bytes[0] == state.moved_bytes[1]);
    CHECK(state.unmoved == 0);
  }
  CHECK(is_clean(net.arena));
  // The same without a graph.
  net.run(stream);
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  CHECK(net.mismatches.read() == 0);
  CHECK(is_clean(net.arena));
  cudaFreeHost(pinned);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(noise);
  cudaStreamDestroy(stream);
}
