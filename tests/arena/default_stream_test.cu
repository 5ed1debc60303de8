// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Compiled with --default-stream per-thread: the null stream is then each host thread's own, in the
/// library's launches, too. All of a program has to be compiled so: the library's functions are inline.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <tests/support/arena_fixture.cuh>
#include <tests/support/catch.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

#if !defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#error "this test is about --default-stream per-thread"
#endif

namespace {

using format    = bs::default_format<bs::bf16>;
using bits_type = format::bits_type;

constexpr std::uint64_t slab_bytes = 32 * 1024;
constexpr std::uint64_t num_rows = 130, num_cols = 300, num_values = num_rows * num_cols;

__global__ void spin_kernel(int const volatile* stop) {
  while (*stop == 0) {
  }
}

/// What one thread keeps on the device; made before any thread spins, since allocations wait.
struct own_memory {
  bs::compressed_tensor<format> tensor;
  device_array<bits_type> dense{num_values}, restored{num_values};
  device_array<unsigned long long> mismatches{1};

  explicit own_memory(bs::arena_view const& arena) : tensor(arena, num_rows, num_cols) {}

  /// Round trips on the null stream; waits for it at the end.
  bool run(std::uint64_t seed, int times) {
    bool ok = true;
    for (int i = 0; i < times; ++i) {
      make_values_kernel<<<64, 256>>>(dense.data(), num_values, seed + i, (seed + i) * 13 % 101);
      ok = ok && bs::compress<bs::codec::sign>(
                     bs::const_matrix_view<bs::bf16>{dense.data(), num_rows, num_cols, num_cols},
                     tensor.view(),
                     nullptr)
                     .ok();
      ok = ok &&
           cudaMemsetAsync(restored.data(), 0xa5, num_values * sizeof(bits_type)) == cudaSuccess;
      ok =
          ok &&
          bs::consume(tensor.view(), {restored.data(), num_rows, num_cols, num_cols}, nullptr).ok();
      compare_kernel<<<64, 256>>>(dense.data(), restored.data(), num_values, mismatches.data());
    }
    return cudaStreamSynchronize(nullptr) == cudaSuccess && ok;
  }
};

}  // namespace

TEST_CASE("default stream: eight threads, each on its own, share an arena", "[arena]") {
  guarded_arena arena{1200, 0, slab_bytes};
  std::vector<std::unique_ptr<own_memory>> memories;
  for (int i = 0; i < 8; ++i) memories.push_back(std::make_unique<own_memory>(arena.view()));
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    threads.emplace_back([&, i] {
      if (!memories[i]->run(1000 * i, 200)) ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  for (auto const& memory : memories) CHECK(memory->mismatches.read() == 0);
  CHECK(arena.state().conditions == 0);
  CHECK(arena.state().in_use[0] == 0);
  CHECK(arena.free_slabs(0) == 1200);
}

TEST_CASE("default stream: a thread's work does not wait for another thread's null stream",
          "[arena]") {
  guarded_arena arena{64, 0, slab_bytes};
  own_memory memory{arena.view()};
  REQUIRE(memory.run(1, 1));  // loads the kernels, which waits
  int* stop = nullptr;
  require_cuda(cudaHostAlloc(reinterpret_cast<void**>(&stop), sizeof(*stop), cudaHostAllocMapped),
               "cudaHostAlloc");
  *stop = 0;
  spin_kernel<<<1, 1>>>(stop);
  std::atomic<bool> is_done{false};
  bool ok = false;
  std::thread other([&] {
    ok      = memory.run(2, 20);
    is_done = true;
  });
  auto const begin = std::chrono::steady_clock::now();
  while (!is_done && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) {
    std::this_thread::yield();
  }
  bool const was_done              = is_done;
  *const_cast<int volatile*>(stop) = 1;
  other.join();
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  CHECK(was_done);
  CHECK(ok);
  CHECK(memory.mismatches.read() == 0);
  cudaFreeHost(stop);
}
