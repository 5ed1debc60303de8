// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What layers 3 and 4 launch kernels with.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <bitsparse/config.hpp>
#include <bitsparse/detail/cuda_status.cuh>
#include <bitsparse/format/bits.hpp>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

/// How a kernel starts relative to the one before it in its stream.
enum class launch_order {
  after,     // when it has ended
  overlaps,  // as soon as it allows, or at once when its blocks have ended, on sm_90 and newer; the
             // kernel calls wait_for_previous_kernel() before it uses its results
};

/// Lets the next kernel of the stream start, if it was launched with launch_order::overlaps.
__device__ __forceinline__ void allow_next_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Waits until the kernel before this one has ended and its writes are seen.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The number of the block's work, of which the first \p Leading blocks have none. With an op it is
/// counted from the last one: so the end of a dense operand, which the kernel before has most often
/// written last, is probably read while L2 still holds it. A plain copy is a little quicker the other
/// way (docs/tuning.md).
template <bool HasOp, int Leading = 0>
__device__ __forceinline__ std::uint32_t block_number() {
  return HasOp ? gridDim.x - 1 - blockIdx.x : blockIdx.x - Leading;
}

inline constexpr char const* no_kernel_text =
    "launch: the kernel could not be launched; native() says why, which is often that the program "
    "was "
    "not compiled for this device's architecture";

/// Asks for as much shared memory per multiprocessor as so many blocks of a kernel need, and leaves the
/// rest to L1. Left to itself the driver makes room for more blocks where a thread needs few registers,
/// at the cost of an L1 that data on their way need (docs/tuning.md). It is a wish: the device gives a
/// size that it has, and nothing depends on it. The driver counts how many blocks' own bytes, without
/// what the system adds to each, fit in the percentage, and takes the smallest size for so many; half a
/// block more is asked for, so that rounding loses none.
template <class Params>
BITSPARSE_OWN_COPY void prefer_blocks(void (*kernel)(Params),
                                      std::size_t block_shared_bytes,
                                      int num_blocks) {
  int device = 0, most = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) !=
          cudaSuccess ||
      most <= 0) {
    return;
  }
  std::size_t const wanted =
      50 * (2 * static_cast<std::size_t>(num_blocks) + 1) * block_shared_bytes;
  std::size_t const percent = ceil_div(wanted, static_cast<std::size_t>(most));
  (void)cudaFuncSetAttribute(kernel,
                             cudaFuncAttributePreferredSharedMemoryCarveout,
                             static_cast<int>(percent < 100 ? percent : 100));
}

/// Loads a kernel, so that launching it later does not fail for want of memory, and says how it may
/// start relative to the kernel before it. What counts is the code that runs, not the device: code for
/// older architectures, compiled for a newer device at load time, has no wait_for_previous_kernel().
/// Errors: cuda_error.
/// @param num_blocks how many of its blocks a multiprocessor should hold; 1: as many as it can
template <class Params>
BITSPARSE_OWN_COPY status load(void (*kernel)(Params), launch_order& order, int num_blocks = 1) {
  cudaFuncAttributes code{};
  cudaError_t const error = cudaFuncGetAttributes(&code, kernel);
  order =
      error == cudaSuccess && code.ptxVersion >= 90 ? launch_order::overlaps : launch_order::after;
  if (error == cudaSuccess && num_blocks > 1)
    prefer_blocks(kernel, code.sharedSizeBytes, num_blocks);
  return from_cuda(error, no_kernel_text);
}

/// Launches a kernel that takes its parameters as one struct.
/// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable.
/// Errors: cuda_error with the launch's own code, not the thread's last error.
/// @param order `overlaps` only if load() said so
/// @param spread blocks that start together, each on a multiprocessor of its own: a power of two up to
///   8 that divides num_blocks; more than 1 only for code for sm_90 and newer
template <class Params>
BITSPARSE_OWN_COPY status launch(void (*kernel)(Params),
                                 std::uint32_t num_blocks,
                                 int num_threads,
                                 Params const& params,
                                 cudaStream_t stream,
                                 launch_order order   = launch_order::after,
                                 std::uint32_t spread = 1) {
  cudaLaunchAttribute attributes[3]{};
  unsigned num_attributes = 0;
  if (order == launch_order::overlaps) {
    auto& attribute = attributes[num_attributes++];
    attribute.id    = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  if (spread > 1) {
    auto& cluster          = attributes[num_attributes++];
    cluster.id             = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {spread, 1, 1};
    auto& policy           = attributes[num_attributes++];
    policy.id              = cudaLaunchAttributeClusterSchedulingPolicyPreference;
    policy.val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicySpread;
  }
  cudaLaunchConfig_t config{};
  config.gridDim  = dim3(num_blocks);
  config.blockDim = dim3(static_cast<unsigned>(num_threads));
  config.stream   = stream;
  config.attrs    = attributes;
  config.numAttrs = num_attributes;
  return from_cuda(cudaLaunchKernelEx(&config, kernel, params), no_kernel_text);
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
