// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device fuzzer's large cases, up to more than 2^31 values: made and compared on the device, where
/// the reference is the same compression with another tuning.
#include <algorithm>
#include <mutex>

#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>
#include <tests/fuzz/device_fuzz/fuzz_worker.cuh>

namespace bitsparse_test {
namespace {

namespace bs = bitsparse;

struct large_pattern {
  std::uint64_t rows, cols, ld, seed;
  std::uint32_t threshold;  // of 2^32: the density of non-zero values
  std::uint32_t run_values;
  bool is_clustered, has_signs;
};

__device__ std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// The value of a place, whatever the leading dimension.
template <class Bits>
__device__ Bits value_at(large_pattern const& p, std::uint64_t index) {
  std::uint64_t const noise = mix(p.seed + index * 0x9e3779b97f4a7c15u);
  std::uint64_t const group = p.is_clustered ? mix(p.seed ^ (index / p.run_values + 1)) : noise;
  Bits const bits           = static_cast<Bits>(noise);
  constexpr auto sign       = static_cast<Bits>(std::uint64_t{1} << (8 * sizeof(Bits) - 1));
  if (static_cast<std::uint32_t>(group >> 32) >= p.threshold) return 0;
  return static_cast<Bits>((p.has_signs ? bits : bits & ~sign) | 1);
}

template <class Bits>
__global__ void large_fill_kernel(large_pattern const p, Bits* values) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < p.rows * p.cols;
       i += stride)
    values[i / p.cols * p.ld + i % p.cols] = value_at<Bits>(p, i);
}

/// counts[0]: values that are not those that were made; counts[1]: gaps between rows that were written.
template <class Bits>
__global__ void large_check_kernel(large_pattern const p,
                                   Bits const* values,
                                   unsigned long long* counts) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t const count  = (p.rows - 1) * p.ld + p.cols;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += stride) {
    std::uint64_t const row = i / p.ld, col = i % p.ld;
    if (col < p.cols) {
      if (values[i] != value_at<Bits>(p, row * p.cols + col)) atomicAdd(&counts[0], 1ull);
    } else if (values[i] != static_cast<Bits>(0xa5a5a5a5u)) {
      atomicAdd(&counts[1], 1ull);
    }
  }
}

/// counts[2]: tiles whose descriptors or chunks differ. A warp per tile.
__global__ void large_compare_kernel(bs::tile_descriptor const* a,
                                     std::byte const* a_chunks,
                                     bs::tile_descriptor const* b,
                                     std::byte const* b_chunks,
                                     std::uint64_t tiles,
                                     unsigned long long* counts) {
  std::uint64_t const tile = (blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x) / 32;
  if (tile >= tiles) return;
  bs::tile_descriptor const x = a[tile], y = b[tile];
  bool differs = x.form() != y.form() || x.kept() != y.kept() || x.chunk_units() != y.chunk_units();
  auto const* const x_units = reinterpret_cast<uint4 const*>(a_chunks) + x.offset_units();
  auto const* const y_units = reinterpret_cast<uint4 const*>(b_chunks) + y.offset_units();
  for (std::uint32_t i = threadIdx.x % 32; !differs && i < x.chunk_units(); i += 32) {
    uint4 const v = x_units[i], w = y_units[i];
    differs = v.x != w.x || v.y != w.y || v.z != w.z || v.w != w.w;
  }
  if (__any_sync(0xffffffffu, differs) && threadIdx.x % 32 == 0) atomicAdd(&counts[2], 1ull);
}

/// Memory for the largest case, taken once by the first.
struct large_memory {
  static constexpr std::uint64_t slack = 1 << 20;
  device_bytes dense, restored, first, second, counts;

  bool take() {
    if (dense != nullptr) return true;
    constexpr std::uint64_t bytes = fuzz_large_bytes + slack;
    // State and directory; chunks may be as large as the dense values, rounded up tile by tile.
    constexpr std::uint64_t tensor = 2 * bytes + slack;
    std::size_t free_bytes = 0, total_bytes = 0;
    require_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    if (free_bytes < 2 * bytes + 2 * tensor + (std::uint64_t{4} << 30)) return false;
    dense    = take_device(bytes);
    restored = take_device(bytes);
    first    = take_device(tensor);
    second   = take_device(tensor);
    counts   = take_device(3 * sizeof(unsigned long long));
    return true;
  }
};

template <class Format, class Codec>
std::string run_format(large_memory const& memory, fuzz_case const& c, cudaStream_t stream) {
  using element               = typename Format::element;
  using bits_type             = typename Format::bits_type;
  using other_tuning          = bs::tile_tuning<128, 1>;
  std::size_t const shift     = c.source_offset * sizeof(bits_type);
  auto* const dense           = reinterpret_cast<bits_type*>(memory.dense.get() + shift);
  auto* const restored        = reinterpret_cast<bits_type*>(memory.restored.get() + shift);
  auto* const counts          = reinterpret_cast<unsigned long long*>(memory.counts.get());
  std::uint64_t const payload = bs::max_payload_bytes<Format>(c.rows, c.cols);
  if (c.rows == 0 || bs::device_tensor_bytes<Format>(c.rows, c.cols, payload) >
                         2 * (fuzz_large_bytes + large_memory::slack))
    return {};  // of very narrow or low tiles, whose descriptors take more than the values
  large_pattern const pattern{c.rows,
                              c.cols,
                              c.source_ld,
                              c.seed ^ c.number,
                              static_cast<std::uint32_t>(c.density * 4294967295.0),
                              c.run_values,
                              c.positions == fuzz_positions::clusters,
                              c.negatives != 0};
  auto const first  = bs::make_device_tensor<Format>(memory.first.get(), c.rows, c.cols, payload);
  auto const second = bs::make_device_tensor<Format>(memory.second.get(), c.rows, c.cols, payload);
  std::size_t const span = ((c.rows - 1) * c.source_ld + c.cols) * sizeof(bits_type);
  require_cuda(cudaMemsetAsync(memory.first.get(), 0, sizeof(bs::tensor_state), stream), "memset");
  require_cuda(cudaMemsetAsync(memory.second.get(), 0, sizeof(bs::tensor_state), stream), "memset");
  require_cuda(cudaMemsetAsync(counts, 0, 3 * sizeof(*counts), stream), "memset");
  require_cuda(cudaMemsetAsync(restored, 0xa5, span, stream), "memset");
  large_fill_kernel<<<1024, 256, 0, stream>>>(pattern, dense);
  bs::const_matrix_view<element> const source{dense, c.rows, c.cols, c.source_ld};
  bs::status done = bs::compress<Codec>(source, first, stream);
  if (done.ok()) done = bs::compress<Codec, bs::identity, other_tuning>(source, second, stream);
  if (done.ok()) done = bs::decompress(first, {restored, c.rows, c.cols, c.source_ld}, stream);
  if (!done.ok()) return done.text();
  std::uint64_t const tiles = bs::num_tiles<Format>(c.rows, c.cols);
  large_compare_kernel<<<static_cast<unsigned>((tiles + 7) / 8), 256, 0, stream>>>(
      first.directory, first.payload, second.directory, second.payload, tiles, counts);
  large_check_kernel<<<1024, 256, 0, stream>>>(pattern, restored, counts);
  unsigned long long found[3];
  bs::tensor_state states[2];
  require_cuda(cudaMemcpyAsync(found, counts, sizeof(found), cudaMemcpyDeviceToHost, stream),
               "counts");
  require_cuda(cudaMemcpyAsync(&states[0], first.state, 64, cudaMemcpyDeviceToHost, stream),
               "state");
  require_cuda(cudaMemcpyAsync(&states[1], second.state, 64, cudaMemcpyDeviceToHost, stream),
               "state");
  require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  if (found[0] != 0) return std::to_string(found[0]) + " values differ";
  if (found[1] != 0) return "decompress wrote between the rows";
  if (found[2] != 0) return std::to_string(found[2]) + " tiles differ from the other tuning's";
  if (states[0].conditions != 0 || states[1].conditions != 0) return "a condition was raised";
  return states[0].cursor_units == states[1].cursor_units ? ""
                                                          : "the tunings' chunks differ in size";
}

}  // namespace

std::string run_large(fuzz_case const& c, bool& is_skipped) {
  static std::mutex mutex;
  static large_memory memory;
  std::lock_guard<std::mutex> const lock(mutex);
  is_skipped = !memory.take();
  if (is_skipped) return {};
  cudaStream_t stream;
  require_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  using bf16         = bs::default_format<bs::bf16>;
  using e4m3         = bs::default_format<bs::fp8_e4m3>;
  bool const is_16   = c.format == fuzz_format::bf16_32x128;
  bool const is_sign = c.codec == fuzz_codec::sign;
  std::string fault  = is_16 ? (is_sign ? run_format<bf16, bs::codec::sign>(memory, c, stream)
                                        : run_format<bf16, bs::codec::compact>(memory, c, stream))
                             : (is_sign ? run_format<e4m3, bs::codec::sign>(memory, c, stream)
                                        : run_format<e4m3, bs::codec::compact>(memory, c, stream));
  cudaStreamDestroy(stream);
  return fault;
}

}  // namespace bitsparse_test
