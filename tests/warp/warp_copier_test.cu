// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// One warp's copies: every size around the ring's, one after the other, between device and host memory.
#include <cstdint>
#include <vector>

#include <bitsparse/warp/warp_copier.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/device_memory.cuh>
#include <tests/support/guarded_buffer.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

struct job {
  std::byte* target;
  std::byte const* source;
  std::uint64_t bytes;
};

/// A job in pieces of the copier's size.
struct job_pieces {
  job rest;
  std::uint32_t piece_bytes;
  __device__ bool next(bs::copy_piece& piece) {
    if (rest.bytes == 0) return false;
    auto const bytes = static_cast<std::uint32_t>(
        rest.bytes < piece_bytes ? rest.bytes : std::uint64_t{piece_bytes});
    piece = {rest.target, rest.source, bytes};
    rest  = {rest.target + bytes, rest.source + bytes, rest.bytes - bytes};
    return true;
  }
};

/// Block b does jobs b, b + gridDim.x, ... with one copier.
template <bs::far_end Far>
__global__ void __launch_bounds__(32) copy_kernel(job const* jobs, unsigned count) {
  using copier_type = bs::warp_copier<Far>;
  __shared__ typename copier_type::temp_storage storage;
  copier_type copier(storage);
  for (unsigned i = blockIdx.x; i < count; i += gridDim.x) {
    job_pieces pieces{jobs[i], copier_type::piece_bytes};
    copier.copy(pieces);
  }
}

/// Pinned host memory.
struct pinned {
  std::byte* data = nullptr;
  explicit pinned(std::size_t bytes) {
    require_cuda(cudaHostAlloc(&data, bytes, cudaHostAllocMapped), "cudaHostAlloc");
  }
  ~pinned() { cudaFreeHost(data); }
  pinned(pinned const&)            = delete;
  pinned& operator=(pinned const&) = delete;
};

constexpr std::uint64_t gap = 128;  // bytes after each copy that must stay as they are

}  // namespace

TEST_CASE("warp_copier: every size, many in a row, leaves the bytes beside it alone", "[warp]") {
  std::vector<std::uint64_t> sizes{16, 32, 48, 2544, 2560, 2576, 5120, 15344, 15360, 15376};
  for (std::uint64_t bytes : {17904, 17920, 17936, 20480, 65536, 524288, 524272}) {
    sizes.push_back(bytes);
  }
  for (std::uint64_t i = 0; i < 64; ++i) sizes.push_back(16 * (1 + i * 977 % 4500));
  std::uint64_t total = 0;
  for (std::uint64_t const bytes : sizes) total += bytes + gap;

  bool const from_host = GENERATE(false, true);
  bool const to_host   = GENERATE(false, true);
  int const blocks     = GENERATE(1, 3, 8);
  CAPTURE(from_host, to_host, blocks);
  pinned source_host(total), target_host(total), jobs_memory(sizes.size() * sizeof(job));
  void *source_device = nullptr, *target_device = nullptr;
  require_cuda(cudaMalloc(&source_device, total), "cudaMalloc");
  require_cuda(cudaMalloc(&target_device, total), "cudaMalloc");
  std::vector<std::byte> content(total), expected(total, std::byte{0x5a});
  for (std::uint64_t i = 0; i < total; ++i) {
    content[i] = static_cast<std::byte>((i * 0x9e3779b97f4a7c15u) >> 56);
  }
  auto* const source = from_host ? source_host.data : static_cast<std::byte*>(source_device);
  auto* const target = to_host ? target_host.data : static_cast<std::byte*>(target_device);
  require_cuda(cudaMemcpy(source, content.data(), total, cudaMemcpyDefault), "cudaMemcpy");
  require_cuda(cudaMemcpy(target, expected.data(), total, cudaMemcpyDefault), "cudaMemcpy");
  auto* const jobs     = reinterpret_cast<job*>(jobs_memory.data);
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    jobs[i] = {target + offset, source + offset, sizes[i]};
    std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset),
                sizes[i],
                expected.begin() + static_cast<std::ptrdiff_t>(offset));
    offset += sizes[i] + gap;
  }
  auto* const kernel =
      to_host ? copy_kernel<bs::far_end::target> : copy_kernel<bs::far_end::source>;
  kernel<<<blocks, 32>>>(jobs, static_cast<unsigned>(sizes.size()));
  require_cuda(cudaDeviceSynchronize(), "copy_kernel");
  std::vector<std::byte> copied(total);
  require_cuda(cudaMemcpy(copied.data(), target, total, cudaMemcpyDefault), "cudaMemcpy");
  CHECK(copied == expected);
  cudaFree(source_device);
  cudaFree(target_device);
}
