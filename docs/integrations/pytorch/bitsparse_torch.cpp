// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// bitsparse as PyTorch operators. It needs no Python header: torch.ops.load_library() loads it
/// whatever the Python version.
///
/// An arena and a compressed tensor are each a tensor of one value whose storage's context is the
/// C++ object: the arena's value is its skip_step float, the compressed tensor's is of no use. A
/// compressed tensor whose storage dies gives its slabs back. So whoever holds tensors, be it
/// autograd, checkpointing or compiled code, holds slabs just as long; a copy of such a tensor has
/// no context and is refused.
///
/// compress does not declare that it writes to the arena: the arena is an allocator, no value of it
/// is read, and operations on different tensors commute.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operations.hpp"

namespace bitsparse_torch {
namespace {

using c10::cuda::CUDAStream;

constexpr std::int64_t handle_bytes = 64;  // one value, at an address that suits every kernel

// -------------------------------------------------------------------------------------------------
// Checks
// -------------------------------------------------------------------------------------------------

void require(bitsparse::status status) {
  TORCH_CHECK(
      status.ok(),
      "bitsparse: ",
      status.text(),
      status.native() == 0 ? "" : ": ",
      status.native() == 0 ? "" : cudaGetErrorString(static_cast<cudaError_t>(status.native())));
}

element_kind element_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBFloat16:
      return element_kind::bf16;
    case at::kHalf:
      return element_kind::fp16;
    case at::kFloat:
      return element_kind::fp32;
    default:
      TORCH_CHECK_TYPE(
          false, "bitsparse: the dtype is ", dtype, "; it has to be bfloat16, float16 or float32");
  }
}

template <class Kind, std::size_t Count>
Kind named(char const* what,
           std::string_view name,
           std::array<std::pair<std::string_view, Kind>, Count> const& kinds) {
  for (auto const& [known, kind] : kinds) {
    if (known == name) return kind;
  }
  std::string list;
  for (auto const& [known, kind] : kinds) list.append(list.empty() ? "" : ", ").append(known);
  TORCH_CHECK_VALUE(false, "bitsparse: ", what, " is '", name, "'; it has to be one of: ", list);
}
codec_kind codec_of(std::string_view name) {
  return named<codec_kind, 3>(
      "codec",
      name,
      {{{"fast", codec_kind::fast}, {"sign", codec_kind::sign}, {"compact", codec_kind::compact}}});
}
forward_kind forward_of(std::string_view name) {
  return named<forward_kind, 3>("op",
                                name,
                                {{{"relu", forward_kind::relu},
                                  {"relu_squared", forward_kind::relu_squared},
                                  {"square_of_relu", forward_kind::square_of_relu}}});
}
value_kind value_of(std::string_view name) {
  return named<value_kind, 3>("op",
                              name,
                              {{{"identity", value_kind::identity},
                                {"square", value_kind::square},
                                {"square_root", value_kind::square_root}}});
}
gradient_kind gradient_of(std::string_view name) {
  return named<gradient_kind, 3>("op",
                                 name,
                                 {{{"relu", gradient_kind::relu},
                                   {"relu_squared", gradient_kind::relu_squared},
                                   {"square_of_relu", gradient_kind::root}}});
}

dense_matrix matrix_of(char const* what, at::Tensor const& t, at::Device device) {
  TORCH_CHECK(t.device() == device,
              "bitsparse: ",
              what,
              " is on ",
              t.device(),
              ", the arena or the compressed tensor on ",
              device);
  TORCH_CHECK(t.layout() == at::kStrided && t.dim() == 2,
              "bitsparse: ",
              what,
              " has to be a dense matrix (2 dimensions); it has ",
              t.dim());
  auto const rows = t.size(0), cols = t.size(1);
  TORCH_CHECK(rows == 0 || ((cols <= 1 || t.stride(1) == 1) && (rows == 1 || t.stride(0) >= cols)),
              "bitsparse: ",
              what,
              " has to be row-major (strides (n, 1) with n >= columns); its strides are ",
              t.strides(),
              "; call .contiguous()");
  auto const ld =
      rows <= 1 ? std::max<std::int64_t>(cols, 1) : std::max<std::int64_t>(t.stride(0), 1);
  return {t.data_ptr(),
          static_cast<std::uint64_t>(rows),
          static_cast<std::uint64_t>(cols),
          static_cast<std::uint64_t>(ld)};
}

bool is_capturing(CUDAStream stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
         status != cudaStreamCaptureStatusNone;
}

// -------------------------------------------------------------------------------------------------
// Arena
// -------------------------------------------------------------------------------------------------

struct arena_context {
  at::Tensor device_memory;
  at::Tensor host_memory;  // undefined if there is none
  arena_memory memory;
  std::atomic<std::uint64_t> num_resets{0};

  static void destroy(void* context) {
    auto* const arena = static_cast<arena_context*>(context);
    // The allocator of pinned memory does not know which kernels use it.
    if (arena->host_memory.defined()) static_cast<void>(cudaDeviceSynchronize());
    delete arena;
  }
  static arena_context& of(at::Tensor const& tensor) {
    auto* const context =
        tensor.has_storage()
            ? tensor.storage().data_ptr().cast_context<arena_context>(&arena_context::destroy)
            : nullptr;
    TORCH_CHECK(context != nullptr,
                "bitsparse: this tensor is not an arena, or it is a copy of one; pass what "
                "make_arena() returned (Arena.state)");
    return *context;
  }
  /// To be called before its memory is used on a stream.
  void used_on(CUDAStream stream) const { device_memory.record_stream(stream); }
};

at::Tensor make_arena(at::Tensor const& memory,
                      std::optional<at::Tensor> const& host_memory,
                      std::int64_t slab_bytes) {
  TORCH_CHECK(memory.is_cuda() && memory.scalar_type() == at::kByte && memory.is_contiguous(),
              "bitsparse: an arena's memory has to be a contiguous uint8 tensor on a CUDA device");
  TORCH_CHECK(slab_bytes > 0, "bitsparse: slab_bytes is ", slab_bytes);
  c10::cuda::CUDAGuard const guard(memory.device());
  auto const bytes = static_cast<std::uint64_t>(memory.numel());
  auto context     = std::make_unique<arena_context>();
  auto& m          = context->memory;
  m.slab_bytes     = static_cast<std::uint64_t>(slab_bytes);
  m.device         = memory.data_ptr();
  if (host_memory.has_value() && host_memory->numel() != 0) {
    TORCH_CHECK(host_memory->is_pinned() && host_memory->scalar_type() == at::kByte &&
                    host_memory->is_contiguous(),
                "bitsparse: an arena's host memory has to be a contiguous, pinned uint8 tensor");
    context->host_memory = *host_memory;
    m.num_host_slabs     = static_cast<std::uint64_t>(host_memory->numel()) / m.slab_bytes;
    TORCH_CHECK(cudaHostGetDevicePointer(&m.host, host_memory->data_ptr(), 0) == cudaSuccess,
                "bitsparse: the pinned host memory is not mapped into the device's address space");
  }
  m.num_device_slabs = bytes / m.slab_bytes;
  while (m.num_device_slabs > 0 &&
         arena_bytes(m.num_device_slabs, m.num_host_slabs, m.slab_bytes) > bytes) {
    --m.num_device_slabs;
  }
  TORCH_CHECK(arena_bytes(m.num_device_slabs, m.num_host_slabs, m.slab_bytes) <= bytes &&
                  m.num_device_slabs + m.num_host_slabs > 0,
              "bitsparse: the arena's memory has no room for a slab");
  require(check_arena(m));
  CUDAStream const stream = c10::cuda::getCurrentCUDAStream();
  context->device_memory  = memory;
  context->used_on(stream);
  TORCH_CHECK(cudaMemsetAsync(m.device, 0, arena_state_bytes(), stream) == cudaSuccess,
              "bitsparse: the arena's state could not be set");
  require(reset(m, stream));
  void* const skip_step = static_cast<std::byte*>(m.device) + skip_step_offset();
  return at::for_blob(skip_step, {1})
      .context(context.release(), &arena_context::destroy)
      .options(memory.options().dtype(at::kFloat))
      .target_device(memory.device())
      .make_tensor();
}

void arena_reset(at::Tensor const& arena) {
  auto& context = arena_context::of(arena);
  c10::cuda::CUDAGuard const guard(arena.device());
  CUDAStream const stream = c10::cuda::getCurrentCUDAStream();
  context.used_on(stream);
  require(reset(context.memory, stream));
  ++context.num_resets;
}

void arena_clear(at::Tensor const& arena) {
  auto const& context = arena_context::of(arena);
  c10::cuda::CUDAGuard const guard(arena.device());
  CUDAStream const stream = c10::cuda::getCurrentCUDAStream();
  context.used_on(stream);
  require(clear(context.memory, stream));
}

at::Tensor make_slot(std::size_t bytes) {
  return at::zeros({static_cast<std::int64_t>(bytes)},
                   at::TensorOptions().dtype(at::kByte).pinned_memory(true));
}

std::vector<std::int64_t> arena_report(at::Tensor const& arena) {
  auto const& context = arena_context::of(arena);
  c10::cuda::CUDAGuard const guard(arena.device());
  CUDAStream const stream = c10::cuda::getCurrentCUDAStream();
  context.used_on(stream);
  at::Tensor const slot = make_slot(report_slot_bytes());
  std::array<std::int64_t, 8> content{};
  require(report(context.memory, slot.data_ptr(), content, stream));
  std::vector<std::int64_t> report(content.begin(), content.end());
  report.push_back(static_cast<std::int64_t>(context.memory.num_device_slabs));
  report.push_back(static_cast<std::int64_t>(context.memory.num_host_slabs));
  report.push_back(static_cast<std::int64_t>(context.memory.slab_bytes));
  return report;
}

// -------------------------------------------------------------------------------------------------
// Compressed tensors
// -------------------------------------------------------------------------------------------------

class compressed_context {
 public:
  compressed_context(at::Tensor arena,
                     at::Tensor metadata,
                     compressed_matrix matrix,
                     CUDAStream home)
      : arena_(std::move(arena)),
        metadata_(std::move(metadata)),
        matrix_(matrix),
        home_(home),
        num_resets_(owner().num_resets),
        is_captured_(is_capturing(home)) {}

  static void destroy(void* context) {
    auto* const tensor = static_cast<compressed_context*>(context);
    tensor->give_back();
    delete tensor;
  }
  static compressed_context* find(at::Tensor const& tensor) {
    return tensor.has_storage() ? tensor.storage().data_ptr().cast_context<compressed_context>(
                                      &compressed_context::destroy)
                                : nullptr;
  }
  static compressed_context& of(at::Tensor const& tensor) {
    auto* const context = find(tensor);
    TORCH_CHECK(
        context != nullptr,
        "bitsparse: this tensor is not a compressed tensor's handle, or it is a copy of one. "
        "Only what compress() returned, or an alias of it, will do: saved-tensor hooks that "
        "copy (save_on_cpu) and CUDA graph trees (mode=\"reduce-overhead\") cannot be used");
    return *context;
  }

  compressed_matrix const& matrix() const { return matrix_; }

  /// To be called before the tensor is read on a stream.
  void read_on(CUDAStream stream) {
    require_full();
    note(stream);
  }
  void release_on(CUDAStream stream) {
    require_full();
    note(stream);
    TORCH_CHECK(!is_released_.exchange(true),
                "bitsparse: the compressed tensor was released before");
    await_readers(stream);
    require(release(matrix_, stream));
  }
  /// The tensor holds nothing: compress failed.
  void abandon() { is_released_ = true; }

 private:
  arena_context& owner() const { return arena_context::of(arena_); }

  void require_full() const {
    TORCH_CHECK(!is_released_, "bitsparse: the compressed tensor was released before");
    TORCH_CHECK(num_resets_ == owner().num_resets,
                "bitsparse: the arena was reset after the tensor was compressed into it");
  }
  void note(CUDAStream stream) {
    if (stream == home_) return;
    metadata_.record_stream(stream);
    owner().used_on(stream);
    std::lock_guard<std::mutex> const lock(mutex_);
    if (std::find(readers_.begin(), readers_.end(), stream) == readers_.end()) {
      readers_.push_back(stream);
    }
  }
  /// Lets a stream wait for all others that use the tensor.
  void await_readers(CUDAStream stream) {
    std::lock_guard<std::mutex> const lock(mutex_);
    if (stream != home_) await(home_, stream);
    for (CUDAStream const reader : readers_) {
      if (reader != stream) await(reader, stream);
    }
  }
  static void await(CUDAStream first, CUDAStream then) {
    at::cuda::CUDAEvent done;
    done.record(first);
    done.block(then);
  }

  /// For a tensor that nobody holds any more: releases it in the stream that compressed it. Nothing
  /// to do if it was released or its arena reset, nor in a CUDA graph whose replays fill the tensor
  /// when its capture has ended.
  void give_back() noexcept {
    try {
      if (is_released_ || num_resets_ != owner().num_resets) return;
      c10::cuda::CUDAGuard const guard(home_.device());
      bool const capturing = is_capturing(home_);
      if (capturing && !is_captured_) {
        TORCH_WARN_ONCE(
            "bitsparse: a compressed tensor was dropped while its stream captures a CUDA graph; "
            "its slabs are taken until Arena.reset()");
      }
      if (capturing != is_captured_) return;
      await_readers(home_);
      static_cast<void>(release(matrix_, home_));
    } catch (...) {  // the process ends, or the device has failed
    }
  }

  at::Tensor arena_;
  at::Tensor metadata_;
  compressed_matrix matrix_;
  CUDAStream home_;
  std::uint64_t num_resets_;  // the arena's, when it was filled
  bool is_captured_;
  std::atomic<bool> is_released_{false};
  std::mutex mutex_;
  std::vector<CUDAStream> readers_;
};

at::Tensor compress_with(at::Tensor const& source,
                         at::Tensor const& arena,
                         forward_kind op,
                         codec_kind codec) {
  auto const& owner         = arena_context::of(arena);
  dense_matrix const values = matrix_of("the source", source, arena.device());
  c10::cuda::CUDAGuard const guard(source.device());
  CUDAStream const stream = c10::cuda::getCurrentCUDAStream();
  owner.used_on(stream);

  compressed_matrix target{
      element_of(source.scalar_type()), nullptr, values.rows, values.cols, owner.memory};
  std::uint64_t const bytes =
      metadata_bytes(target.element, target.rows, target.cols, owner.memory.slab_bytes);
  TORCH_CHECK(bytes < std::uint64_t{1} << 48,
              "bitsparse: the source is too large; split it by rows");
  auto const all_bytes = static_cast<std::int64_t>(bytes) + handle_bytes;
  at::Tensor metadata  = at::empty({all_bytes}, source.options().dtype(at::kByte));
  auto* const memory   = static_cast<std::byte*>(metadata.data_ptr());
  target.metadata      = memory;
  auto const device    = source.device();
  auto const zeroed    = cudaMemsetAsync(memory, 0, static_cast<std::size_t>(all_bytes), stream);
  TORCH_CHECK(zeroed == cudaSuccess, "bitsparse: the metadata could not be zeroed");

  auto* const context = new compressed_context(arena, std::move(metadata), target, stream);
  at::Tensor handle   = at::for_blob(memory + bytes, {1})
                          .context(context, &compressed_context::destroy)
                          .options(at::TensorOptions().dtype(at::kLong).device(device))
                          .target_device(device)
                          .make_tensor();
  bitsparse::status const done = compress(values, op, codec, target, stream);
  if (!done.ok()) context->abandon();
  require(done);
  return handle;
}

at::Tensor compress_op(at::Tensor const& source, at::Tensor const& arena, std::string_view codec) {
  return compress_with(source, arena, forward_kind::identity, codec_of(codec));
}
at::Tensor compress_in_place_op(at::Tensor const& values,
                                at::Tensor const& arena,
                                std::string_view op,
                                std::string_view codec) {
  return compress_with(values, arena, forward_of(op), codec_of(codec));
}

/// The checks of decompress; the row range's are the library's.
dense_matrix result_of(char const* what, at::Tensor const& result, at::Tensor const& handle) {
  auto const& source = compressed_context::of(handle).matrix();
  TORCH_CHECK(element_of(result.scalar_type()) == source.element,
              "bitsparse: ",
              what,
              " has another dtype than the compressed tensor: ",
              result.scalar_type());
  dense_matrix const matrix = matrix_of(what, result, handle.device());
  TORCH_CHECK(matrix.cols == source.cols,
              "bitsparse: ",
              what,
              " has ",
              matrix.cols,
              " columns, the compressed tensor ",
              source.cols);
  return matrix;
}

void decompress_op(at::Tensor const& handle,
                   at::Tensor const& values,
                   std::string_view op,
                   std::int64_t first_row) {
  auto& source              = compressed_context::of(handle);
  dense_matrix const result = result_of("the result", values, handle);
  TORCH_CHECK(first_row >= 0, "bitsparse: first_row is ", first_row);
  c10::cuda::CUDAGuard const guard(handle.device());
  CUDAStream const stream = c10::cuda::getCurrentCUDAStream();
  source.read_on(stream);
  require(decompress(source.matrix(), value_of(op), first_row, result, stream));
}

void decompress_gradient_op(at::Tensor const& handle,
                            at::Tensor const& gradient,
                            std::optional<at::Tensor> const& values,
                            std::string_view op,
                            std::int64_t first_row) {
  auto& source                = compressed_context::of(handle);
  dense_matrix const in_place = result_of("the gradient", gradient, handle);
  dense_matrix const restored =
      values.has_value() ? result_of("the result", *values, handle) : dense_matrix{};
  TORCH_CHECK(!values.has_value() || restored.rows == in_place.rows,
              "bitsparse: gradient and result have different numbers of rows");
  TORCH_CHECK(first_row >= 0, "bitsparse: first_row is ", first_row);
  c10::cuda::CUDAGuard const guard(handle.device());
  CUDAStream const stream = c10::cuda::getCurrentCUDAStream();
  source.read_on(stream);
  require(decompress(source.matrix(), gradient_of(op), first_row, in_place, restored, stream));
}

void release_op(at::Tensor const& handle) {
  auto& tensor = compressed_context::of(handle);
  c10::cuda::CUDAGuard const guard(handle.device());
  tensor.release_on(c10::cuda::getCurrentCUDAStream());
}

std::vector<std::int64_t> statistics(at::Tensor const& handle) {
  auto& tensor = compressed_context::of(handle);
  c10::cuda::CUDAGuard const guard(handle.device());
  CUDAStream const stream = c10::cuda::getCurrentCUDAStream();
  tensor.read_on(stream);
  at::Tensor const slot = make_slot(statistics_slot_bytes());
  std::array<std::int64_t, 20> content{};
  require(report(tensor.matrix(), slot.data_ptr(), content, stream));
  return {content.begin(), content.end()};
}

// -------------------------------------------------------------------------------------------------
// Sizes: functions without a tensor
// -------------------------------------------------------------------------------------------------

std::int64_t arena_bytes_op(std::int64_t num_slabs, std::int64_t slab_bytes) {
  TORCH_CHECK(num_slabs >= 0 && slab_bytes > 0, "bitsparse: a negative number of slabs or bytes");
  std::uint64_t const bytes = arena_bytes(num_slabs, 0, slab_bytes);
  TORCH_CHECK(bytes < std::uint64_t{1} << 62, "bitsparse: so many slabs have no address");
  return static_cast<std::int64_t>(bytes);
}

std::int64_t planned_slabs_op(std::int64_t rows,
                              std::int64_t cols,
                              double density,
                              std::string_view codec,
                              at::ScalarType dtype,
                              std::int64_t slab_bytes) {
  TORCH_CHECK(rows >= 0 && cols >= 0 && slab_bytes > 0 && density >= 0 && density <= 1,
              "bitsparse: planned_slabs takes a shape, a density from 0 to 1 and a slab size");
  std::uint64_t const slabs =
      planned_slabs(element_of(dtype), codec_of(codec), rows, cols, density, slab_bytes);
  TORCH_CHECK(slabs < std::uint64_t{1} << 62, "bitsparse: the shape is too large");
  return static_cast<std::int64_t>(slabs);
}

}  // namespace

// The names as Python sees them: torch.ops.bitsparse.*
TORCH_LIBRARY(bitsparse, m) {
  m.def("arena_bytes(int num_slabs, int slab_bytes) -> int", &arena_bytes_op);
  m.def(
      "planned_slabs(int rows, int cols, float density, str codec, ScalarType dtype, "
      "int slab_bytes) -> int",
      &planned_slabs_op);

  m.def("make_arena(Tensor memory, Tensor? host_memory, int slab_bytes) -> Tensor");
  m.def("arena_reset(Tensor(a!) arena) -> ()");
  m.def("arena_clear(Tensor(a!) arena) -> ()");
  m.def("arena_report(Tensor arena) -> int[]");

  m.def("compress(Tensor source, Tensor arena, str codec) -> Tensor");
  m.def("compress_(Tensor(a!) values, Tensor arena, str op, str codec) -> Tensor");
  m.def("decompress(Tensor handle, Tensor(a!) values, str op, int first_row) -> ()");
  m.def(
      "decompress_gradient(Tensor handle, Tensor(a!) gradient, Tensor(b!)? values, str op, "
      "int first_row) -> ()");
  m.def("release(Tensor(a!) handle) -> ()");
  m.def("statistics(Tensor handle) -> int[]");
}

TORCH_LIBRARY_IMPL(bitsparse, CUDA, m) {
  m.impl("make_arena", &make_arena);
  m.impl("arena_reset", &arena_reset);
  m.impl("arena_clear", &arena_clear);
  m.impl("arena_report", &arena_report);
  m.impl("compress", &compress_op);
  m.impl("compress_", &compress_in_place_op);
  m.impl("decompress", &decompress_op);
  m.impl("decompress_gradient", &decompress_gradient_op);
  m.impl("release", &release_op);
  m.impl("statistics", &statistics);
}

}  // namespace bitsparse_torch
