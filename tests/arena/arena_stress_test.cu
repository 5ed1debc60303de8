// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Many tensors, streams and orders at once: no slab handed out twice, none lost, nobody waits for ever.
#include <memory>
#include <set>

#include <bitsparse/arena/offload.cuh>
#include <tests/support/arena_fixture.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format    = bs::default_format<bs::bf16>;
using bits_type = format::bits_type;

constexpr std::uint64_t slab_bytes = 32 * 1024;
constexpr std::uint64_t num_rows = 192, num_cols = 320, num_values = num_rows * num_cols;

struct member {
  bs::compressed_tensor<format> tensor;
  device_array<bits_type> dense{num_values}, restored{num_values};
  cudaStream_t stream;
  bool is_full = false;

  member(bs::arena_view const& arena, cudaStream_t s)
      : tensor(arena, num_rows, num_cols), stream(s) {}
  bs::status compress(std::uint64_t seed, unsigned zeros) {
    make_values_kernel<<<64, 256, 0, stream>>>(dense.data(), num_values, seed, zeros);
    is_full = true;
    return bs::compress<bs::codec::sign>(
        bs::const_matrix_view<bs::bf16>{dense.data(), num_rows, num_cols, num_cols},
        tensor.view(),
        stream);
  }
  bs::status decompress(unsigned long long* mismatches) {
    (void)cudaMemsetAsync(restored.data(), 0xa5, num_values * 2, stream);
    bs::status const result =
        bs::decompress(tensor.view(), {restored.data(), num_rows, num_cols, num_cols}, stream);
    compare_kernel<<<64, 256, 0, stream>>>(dense.data(), restored.data(), num_values, mismatches);
    return result;
  }
};

/// Spins on all but two multiprocessors: each block takes a whole one's shared memory.
__global__ void hog_kernel(int const volatile* stop) {
  extern __shared__ char all_of_it[];
  all_of_it[0] = 0;
  while (*stop == 0) {
  }
}

}  // namespace

TEST_CASE("arena: 10,000 random operations on four streams keep every slab's account", "[arena]") {
  constexpr int num_tensors = 12;
  // So few that device slabs run out; so many that all are taken ahead; and between the two.
  std::uint32_t const num_device_slabs = GENERATE(num_tensors * 3, 1400, 1160);
  // A mover's block holds two slabs while it moves one.
  constexpr std::uint32_t moving = 4 * bs::default_mover_blocks;
  guarded_arena arena{num_device_slabs, num_tensors * 6 + moving, slab_bytes};
  device_array<unsigned long long> mismatches(1);
  cudaStream_t streams[4];
  for (auto& stream : streams)
    require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  std::vector<std::unique_ptr<member>> members;
  for (int i = 0; i < num_tensors; ++i)
    members.push_back(std::make_unique<member>(arena.view(), streams[i % 4]));
  random_bits random{2024};
  bool all_ok = true;
  for (int step = 0; step < 10000 && all_ok; ++step) {
    member& m = *members[random.below(num_tensors)];
    switch (random.below(7)) {
      case 0:
      case 1:
        all_ok = m.compress(random.next(), random.below(101)).ok();
        break;
      case 2:
      case 3:
        if (m.is_full) all_ok = m.decompress(mismatches.data()).ok();
        break;
      case 4:
        if (m.is_full) all_ok = bs::offload(m.tensor.view(), 8, m.stream).ok();
        break;
      case 5:
        if (m.is_full) all_ok = bs::prefetch(m.tensor.view(), 8, m.stream).ok();
        break;
      default:
        if (m.is_full) all_ok = bs::release(m.tensor.view(), m.stream).ok();
        m.is_full = false;
    }
    if (step % 500 != 499) continue;
    require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    if (step % 2000 == 1999) {  // an abandoned step
      all_ok = all_ok && bs::reset(arena.view(), nullptr).ok();
      for (auto& each : members) each->is_full = false;
      require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    std::multiset<std::uint32_t> held;
    for (auto& each : members) {
      if (!each->is_full) continue;
      for (std::uint32_t const slab : slabs_of(each->tensor.view())) held.insert(slab);
    }
    auto const state = arena.state();
    CHECK(std::set<std::uint32_t>(held.begin(), held.end()).size() == held.size());
    CHECK(state.in_use[0] + state.in_use[1] == held.size());
    CHECK(state.demand == held.size());
    CHECK(arena.free_slabs(0) + state.in_use[0] == arena.view().num_device_slabs);
    CHECK(arena.free_slabs(1) + state.in_use[1] == arena.view().num_host_slabs);
  }
  CHECK(all_ok);
  CHECK(mismatches.read() == 0);
  CHECK(arena.state().conditions == 0);
  CHECK((arena.state().spilled > 0) == (num_device_slabs == num_tensors * 3));
  CHECK(arena.guards_intact());
  for (auto& stream : streams) cudaStreamDestroy(stream);
}

TEST_CASE("arena: a tensor of many more slabs than are taken ahead", "[arena]") {
  constexpr std::uint64_t rows = 4096, cols = 4096, values = rows * cols;
  // All slabs are taken ahead; only the first ones; none.
  std::uint32_t const num_slabs = GENERATE(4000, 1500, 60);
  guarded_arena arena{num_slabs, 1400, slab_bytes};
  bs::compressed_tensor<format> tensor(arena.view(), rows, cols);
  device_array<bits_type> dense{values}, restored{values};
  device_array<unsigned long long> mismatches(1);
  bool all_ok = true;
  for (unsigned i = 0; i < 40; ++i) {
    make_values_kernel<<<512, 256>>>(dense.data(), values, i, i * 7 % 101);
    (void)cudaMemsetAsync(restored.data(), 0xa5, values * 2);
    all_ok =
        all_ok &&
        bs::compress<bs::codec::sign>(
            bs::const_matrix_view<bs::bf16>{dense.data(), rows, cols, cols}, tensor.view(), nullptr)
            .ok() &&
        bs::decompress(tensor.view(), {restored.data(), rows, cols, cols}, nullptr).ok();
    compare_kernel<<<512, 256>>>(dense.data(), restored.data(), values, mismatches.data());
    if (i % 3 == 1) all_ok = all_ok && bs::release(tensor.view(), nullptr).ok();
  }
  CHECK(all_ok);
  CHECK(mismatches.read() == 0);
  auto const state = arena.state();
  CHECK(state.conditions == 0);
  CHECK(state.in_use[0] + state.in_use[1] == slabs_of(tensor.view()).size());
  CHECK(arena.free_slabs(0) + state.in_use[0] == num_slabs);
  CHECK(arena.free_slabs(1) + state.in_use[1] == 1400);
  CHECK(arena.guards_intact());
}

TEST_CASE("arena: exactly the slabs that a tensor fills are enough, whatever is taken ahead",
          "[arena]") {
  // 1,088 stay free when slabs of 32 KiB are taken ahead.
  std::uint32_t const num_slabs = GENERATE(33, 65, 100, 129, 600, 1200, 1900, 3000);
  std::uint64_t const rows = std::uint64_t{num_slabs} * format::rows, cols = 4 * format::cols;
  device_array<bits_type> dense{rows * cols}, restored{rows * cols};
  make_values_kernel<<<512, 256>>>(
      dense.data(), rows * cols, 7, 0);  // chunks of 8 KiB, four to a slab
  guarded_arena arena{num_slabs, 0, slab_bytes};
  bs::compressed_tensor<format> tensor(arena.view(), rows, cols);
  device_array<unsigned long long> mismatches(1);
  bool all_ok = true;
  for (int i = 0; i < 20; ++i) {
    (void)cudaMemsetAsync(restored.data(), 0xa5, rows * cols * sizeof(bits_type));
    all_ok =
        all_ok &&
        bs::compress<bs::codec::sign>(
            bs::const_matrix_view<bs::bf16>{dense.data(), rows, cols, cols}, tensor.view(), nullptr)
            .ok() &&
        bs::decompress(tensor.view(), {restored.data(), rows, cols, cols}, nullptr).ok();
    compare_kernel<<<512, 256>>>(dense.data(), restored.data(), rows * cols, mismatches.data());
    if (i % 2 == 1) all_ok = all_ok && bs::release(tensor.view(), nullptr).ok();
  }
  CHECK(all_ok);
  CHECK(mismatches.read() == 0);
  auto const state = arena.state();
  CHECK(state.conditions == 0);
  CHECK(state.refused == 0);
  CHECK(state.peak[0] == num_slabs);
  CHECK(state.peak_demand == num_slabs);
  CHECK(state.in_use[0] == 0);
  CHECK(arena.free_slabs(0) == num_slabs);
}

TEST_CASE("arena: publishing and waiting makes progress on two multiprocessors", "[arena]") {
  int device = 0, sms = 0, shared_bytes = 0;
  require_cuda(cudaGetDevice(&device), "cudaGetDevice");
  require_cuda(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "attribute");
  require_cuda(
      cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
      "attribute");
  require_cuda(
      cudaFuncSetAttribute(hog_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
      "attribute");
  guarded_arena arena{64, 0, slab_bytes};
  device_array<unsigned long long> mismatches(1);
  cudaStream_t hog_stream, stream;
  require_cuda(cudaStreamCreateWithFlags(&hog_stream, cudaStreamNonBlocking), "cudaStreamCreate");
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  member m{arena.view(), stream};
  REQUIRE(m.compress(1, 30).ok());
  REQUIRE(m.decompress(mismatches.data()).ok());
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  int* stop = nullptr;
  require_cuda(cudaHostAlloc(reinterpret_cast<void**>(&stop), sizeof(*stop), cudaHostAllocMapped),
               "cudaHostAlloc");
  *stop = 0;
  hog_kernel<<<sms - 2, 64, shared_bytes, hog_stream>>>(stop);
  bool all_ok = cudaGetLastError() == cudaSuccess;
  for (int i = 0; i < 200; ++i) {
    all_ok = all_ok && m.compress(i, i % 101).ok() && m.decompress(mismatches.data()).ok();
  }
  require_cuda(cudaStreamSynchronize(stream),
               "cudaStreamSynchronize");  // a time-out of the test if it hangs
  *const_cast<int volatile*>(stop) = 1;
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  CHECK(all_ok);
  CHECK(mismatches.read() == 0);
  CHECK(arena.state().conditions == 0);
  cudaFreeHost(stop);
  cudaStreamDestroy(stream);
  cudaStreamDestroy(hog_stream);
}
