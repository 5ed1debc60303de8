// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Nothing waits for the device: calls behind a spinning kernel return, and a captured graph
/// replays as the values move. On the device a kernel waits for the one before, even if that lets it
/// start early.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include <bitsparse/device/report.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/compare.cuh>
#include <tests/support/device_round_trip.cuh>
#include <tests/support/step_kernels.cuh>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format    = bs::default_format<bs::bf16>;
using bits_type = format::bits_type;

constexpr std::uint64_t num_rows = 256, num_cols = 512, num_values = num_rows * num_cols;

/// Spins until the host sets the flag.
__global__ void spin_kernel(int const volatile* flag) {
  while (*flag == 0) {
  }
}

/// Fills a matrix from a counter in device memory: each replay has other values and another
/// density.
__global__ void fill_kernel(bits_type* values, unsigned const* step) {
  unsigned const i       = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint64_t mixed    = (std::uint64_t{*step} << 32 | i) * 0x9e3779b97f4a7c15u;
  mixed                  = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
  mixed                  = mixed ^ mixed >> 32;
  unsigned const percent = *step * 37 % 101;  // 0 .. 100 % zeros
  bool const is_kept     = mixed % 100 >= percent;
  values[i]              = is_kept ? static_cast<bits_type>(mixed >> 40 & 0x7fff) : bits_type{0};
}

struct operands {
  device_buffer dense{num_values * 2}, restored{num_values * 2};
  device_tensor<format> tensor{num_rows, num_cols, num_values * 2};

  bits_type* dense_values() { return reinterpret_cast<bits_type*>(dense.data()); }
  bits_type* restored_values() { return reinterpret_cast<bits_type*>(restored.data()); }
  bs::status compress(cudaStream_t stream) {
    return bs::compress<bs::codec::sign>(
        bs::const_matrix_view<bs::bf16>{dense_values(), num_rows, num_cols, num_cols},
        tensor.view(),
        stream);
  }
  bs::status decompress(cudaStream_t stream) {
    return bs::decompress(tensor.view(), {restored_values(), num_rows, num_cols, num_cols}, stream);
  }
};

}  // namespace

TEST_CASE("stream: 300 calls behind a spinning kernel return while it spins", "[device]") {
  operands o;
  unsigned* step = nullptr;
  require_cuda(cudaMalloc(&step, sizeof(*step)), "cudaMalloc");
  require_cuda(cudaMemset(step, 0, sizeof(*step)), "cudaMemset");
  fill_kernel<<<num_values / 256, 256>>>(o.dense_values(), step);
  int* flag = nullptr;
  require_cuda(cudaHostAlloc(reinterpret_cast<void**>(&flag), sizeof(*flag), cudaHostAllocMapped),
               "cudaHostAlloc");
  cudaStream_t stream;
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  // Modules load at a kernel's first use, which may wait for the device: use each once before.
  REQUIRE(o.compress(stream).ok());
  REQUIRE(o.decompress(stream).ok());
  require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  *flag = 0;
  spin_kernel<<<1, 1, 0, stream>>>(flag);
  bool all_ok = true;
  for (int i = 0; i < 150; ++i) {
    all_ok = all_ok && o.compress(stream).ok() && o.decompress(stream).ok();
  }
  bool const still_spinning        = cudaStreamQuery(stream) == cudaErrorNotReady && *flag == 0;
  *const_cast<int volatile*>(flag) = 1;
  CHECK(all_ok);
  CHECK(still_spinning);
  require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  CHECK(std::memcmp(o.dense.download().data(), o.restored.download().data(), num_values * 2) == 0);
  CHECK(o.tensor.state().conditions == 0);
  cudaStreamDestroy(stream);
  cudaFreeHost(flag);
  cudaFree(step);
}

TEST_CASE("graph: compress and decompress replay bit-exact while the density moves", "[device]") {
  operands o;
  unsigned* step                 = nullptr;
  unsigned long long* mismatches = nullptr;
  require_cuda(cudaMalloc(&step, sizeof(*step)), "cudaMalloc");
  require_cuda(cudaMalloc(&mismatches, sizeof(*mismatches)), "cudaMalloc");
  require_cuda(cudaMemset(step, 0, sizeof(*step)), "cudaMemset");
  require_cuda(cudaMemset(mismatches, 0, sizeof(*mismatches)), "cudaMemset");
  cudaStream_t stream;
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
               "cudaStreamBeginCapture");
  fill_kernel<<<num_values / 256, 256, 0, stream>>>(o.dense_values(), step);
  require_cuda(cudaMemsetAsync(o.restored.data(), 0xa5, num_values * 2, stream), "cudaMemsetAsync");
  REQUIRE(o.compress(stream).ok());
  REQUIRE(o.decompress(stream).ok());
  compare_kernel<<<num_values / 256, 256, 0, stream>>>(
      o.dense_values(), o.restored_values(), num_values, mismatches);
  advance_kernel<<<1, 1, 0, stream>>>(step);
  require_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  require_cuda(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  for (int i = 0; i < 1000; ++i)
    require_cuda(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
  require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  unsigned steps             = 0;
  unsigned long long differs = 1;
  require_cuda(cudaMemcpy(&steps, step, sizeof(steps), cudaMemcpyDeviceToHost), "cudaMemcpy");
  require_cuda(cudaMemcpy(&differs, mismatches, sizeof(differs), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
  CHECK(steps == 1000);
  CHECK(differs == 0);
  CHECK(o.tensor.state().conditions == 0);
  CHECK(o.tensor.state().cursor_units > 0);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  cudaFree(step);
  cudaFree(mismatches);
}

TEST_CASE("stream: a kernel that lets the next one start early is waited for", "[device]") {
  operands o;
  unsigned long long* mismatches = nullptr;
  require_cuda(cudaMalloc(&mismatches, sizeof(*mismatches)), "cudaMalloc");
  require_cuda(cudaMemset(mismatches, 0, sizeof(*mismatches)), "cudaMemset");
  bool all_ok = true;
  for (unsigned step = 0; step < 20; ++step) {
    late_fill_kernel<<<num_values / 256, 256>>>(o.dense_values(), step);
    all_ok = all_ok && o.compress(nullptr).ok();
    late_fill_kernel<<<num_values / 256, 256>>>(o.restored_values(), step + 1000);
    all_ok = all_ok && o.decompress(nullptr).ok();
    compare_kernel<<<num_values / 256, 256>>>(
        o.dense_values(), o.restored_values(), num_values, mismatches);
  }
  unsigned long long differs = 1;
  require_cuda(cudaMemcpy(&differs, mismatches, sizeof(differs), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
  CHECK(all_ok);
  CHECK(differs == 0);
  CHECK(o.tensor.state().conditions == 0);
  cudaFree(mismatches);
}
