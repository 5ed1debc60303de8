// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: the owner of a tensor's metadata, made once at set-up, and pools of them.
#pragma once

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include <bitsparse/arena/arena_tensor.cuh>
#include <bitsparse/arena/arena_view.cuh>
#include <bitsparse/config.hpp>

namespace bitsparse {
inline namespace v0 {

/// A compressed tensor in an arena; move-only. It owns its metadata, the arena its chunks.
///
/// Errors: the constructor throws std::invalid_argument or std::runtime_error.
/// Stream: constructor and destructor synchronise and allocate or free; release the tensor before.
template <class Format>
class compressed_tensor {
 public:
  compressed_tensor(arena_view const& arena, std::uint64_t rows, std::uint64_t cols) {
    std::uint64_t const bytes = arena_tensor_bytes<Format>(rows, cols, arena.slab_bytes());
    if (bytes == size_overflow)
      throw std::invalid_argument("arena tensor: its shape is larger than offsets can address");
    void* memory = nullptr;
    if (cudaMalloc(&memory, bytes) != cudaSuccess) {
      throw std::runtime_error("arena tensor: the device memory for its metadata cannot be had");
    }
    memory_.reset(memory);
    // Zeroed before any stream uses it, also one that does not wait for the default stream.
    if (cudaMemset(memory, 0, bytes) != cudaSuccess ||
        cudaStreamSynchronize(nullptr) != cudaSuccess)
      throw std::runtime_error("arena tensor: the state cannot be set");
    view_ = make_arena_tensor<Format>(memory, rows, cols, arena);
  }

  arena_tensor_view<Format> view() const { return view_; }

 private:
  struct free_device {
    void operator()(void* memory) const { cudaFree(memory); }
  };
  std::unique_ptr<void, free_device> memory_;
  arena_tensor_view<Format> view_;
};

/// Tensors of one shape for a pipeline whose number of live micro-batches varies. It hands out
/// views on the host, at the time a step is enqueued or captured, not on the device.
template <class Format>
class tensor_pool {
 public:
  tensor_pool(arena_view const& arena, std::uint64_t rows, std::uint64_t cols, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      tensors_.emplace_back(arena, rows, cols);
      free_.push_back(tensors_.back().view());
    }
  }

  /// @return false if all tensors are handed out
  [[nodiscard]] bool acquire(arena_tensor_view<Format>& tensor) {
    if (free_.empty()) return false;
    tensor = free_.back();
    free_.pop_back();
    return true;
  }
  /// Takes a tensor back whose release() is enqueued before its next compress.
  void give_back(arena_tensor_view<Format> const& tensor) { free_.push_back(tensor); }
  std::size_t num_free() const { return free_.size(); }

 private:
  std::vector<compressed_tensor<Format>> tensors_;
  std::vector<arena_tensor_view<Format>> free_;
};

}  // namespace v0
}  // namespace bitsparse
