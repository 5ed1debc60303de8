// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The CUDA backend: the device operations, timed with events.
#include <cuda_runtime_api.h>
#include <cstring>
#include <memory>

#include <bench/inspect/backend.hpp>
#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>
#include <bitsparse/format/visit_format.hpp>

namespace inspect {
namespace {

namespace bs = bitsparse;

struct release_device {
  void operator()(void* memory) const { cudaFree(memory); }
};
using device_memory = std::unique_ptr<void, release_device>;

/// CUDA's own words for what went wrong; they are static.
bs::status from(cudaError_t error) {
  return bs::detail::from_cuda(error, cudaGetErrorString(error));
}

bs::status allocate(device_memory& memory, std::uint64_t bytes) {
  void* pointer           = nullptr;
  cudaError_t const error = cudaMalloc(&pointer, bytes == 0 ? 1 : bytes);
  bs::status const result =
      error == cudaErrorMemoryAllocation
          ? bs::detail::from_cuda(error, "the device has not enough free memory for the tensor")
          : from(error);
  memory.reset(pointer);
  return result;
}

char const* condition_text(std::uint32_t conditions) {
  auto const has = [&](bs::device_condition one) {
    return (conditions & static_cast<std::uint32_t>(one)) != 0;
  };
  if (has(bs::device_condition::capacity_exceeded))
    return "the device raised capacity_exceeded: a bug, please report it";
  if (has(bs::device_condition::corrupt_tile))
    return "the device raised corrupt_tile: a bug, please report it";
  return "the device raised a condition: a bug, please report it";
}

/// What nobody wrote must not look like the zeros that were expected there.
constexpr int poison = 0xa5;

/// Runs an operation twice and times the second run: the first loads the kernel.
template <class Operation>
bs::status timed(Operation operation, double& seconds) {
  cudaEvent_t start = nullptr, stop = nullptr;
  float milliseconds = 0;
  bs::status result  = from(cudaEventCreate(&start));
  if (result.ok()) result = from(cudaEventCreate(&stop));
  if (result.ok()) result = operation();
  if (result.ok()) result = from(cudaEventRecord(start));
  if (result.ok()) result = operation();
  if (result.ok()) result = from(cudaEventRecord(stop));
  if (result.ok()) result = from(cudaEventSynchronize(stop));
  if (result.ok()) result = from(cudaEventElapsedTime(&milliseconds, start, stop));
  seconds = milliseconds / 1e3;
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return result;
}

template <class Format, class Codec>
bs::status round_trip(round_trip_request const& request, round_trip_result& result) {
  using element               = typename Format::element;
  using bits_type             = typename Format::bits_type;
  std::uint64_t const payload = bs::max_payload_bytes<Format>(request.rows, request.cols);
  std::uint64_t const bytes = bs::device_tensor_bytes<Format>(request.rows, request.cols, payload);
  if (bytes == bs::size_overflow) {
    return {bs::status_code::unsupported,
            "its dense bytes are more than the 512 GiB that a compressed tensor can address"};
  }
  device_memory dense, restored, memory;
  bs::status done = allocate(dense, request.dense_bytes);
  if (done.ok()) done = allocate(restored, request.dense_bytes);
  if (done.ok()) done = allocate(memory, bytes);
  if (!done.ok()) return done;
  auto const tensor =
      bs::make_device_tensor<Format>(memory.get(), request.rows, request.cols, payload);
  auto* const from_values = static_cast<bits_type*>(dense.get());
  auto* const to_values   = static_cast<bits_type*>(restored.get());
  done = from(cudaMemcpy(from_values, request.dense, request.dense_bytes, cudaMemcpyHostToDevice));
  if (done.ok()) done = from(cudaMemset(memory.get(), poison, bytes));
  if (done.ok()) done = from(cudaMemset(to_values, poison, request.dense_bytes));
  if (done.ok()) done = from(cudaMemset(tensor.state, 0, sizeof(bs::tensor_state)));
  if (done.ok()) {
    done = timed(
        [&] {
          return bs::compress<Codec>(
              bs::const_matrix_view<element>{from_values, request.rows, request.cols, request.cols},
              tensor,
              nullptr);
        },
        result.compress_seconds);
  }
  if (done.ok()) {
    done = timed(
        [&] {
          return bs::decompress(
              tensor, {to_values, request.rows, request.cols, request.cols}, nullptr);
        },
        result.decompress_seconds);
  }
  if (!done.ok()) return done;

  bs::tensor_state state;
  result.directory.resize(bs::num_tiles<Format>(request.rows, request.cols));
  result.payload  = aligned_buffer{payload};
  result.restored = aligned_buffer{request.dense_bytes};
  done            = from(cudaMemcpy(&state, tensor.state, sizeof(state), cudaMemcpyDeviceToHost));
  if (done.ok()) {
    done = from(cudaMemcpy(result.directory.data(),
                           tensor.directory,
                           result.directory.size() * 8,
                           cudaMemcpyDeviceToHost));
  }
  if (done.ok())
    done = from(cudaMemcpy(result.payload.data(), tensor.payload, payload, cudaMemcpyDeviceToHost));
  if (done.ok())
    done = from(
        cudaMemcpy(result.restored.data(), to_values, request.dense_bytes, cudaMemcpyDeviceToHost));
  if (done.ok() && state.conditions != 0)
    done = {bs::status_code::corrupt, condition_text(state.conditions)};
  return done;
}

}  // namespace

bs::status cuda_round_trip(round_trip_request const& request, round_trip_result& result) {
  return bs::visit_format(request.element, request.tile_rows, request.tile_cols, [&](auto format) {
    return bs::visit_codec(request.codec, [&](auto codec) {
      return round_trip<decltype(format), decltype(codec)>(request, result);
    });
  });
}

bool cuda_available(char const** why_not) {
  int count               = 0;
  cudaError_t const error = cudaGetDeviceCount(&count);
  *why_not = error != cudaSuccess ? cudaGetErrorString(error) : "there is no CUDA device";
  return error == cudaSuccess && count > 0;
}

}  // namespace inspect
