// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 4: the owner of the side streams on which tensors move, and of the events that order them.
#pragma once

#include <cuda_runtime_api.h>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include <bitsparse/arena/arena_tensor.cuh>
#include <bitsparse/arena/offload.cuh>
#include <bitsparse/config.hpp>
#include <bitsparse/detail/cuda_status.cuh>
#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {
namespace detail {

struct destroy_event {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
struct destroy_stream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using unique_event  = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroy_event>;
using unique_stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, destroy_stream>;

inline unique_event make_event() {
  cudaEvent_t event = nullptr;
  if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) {
    throw std::runtime_error("offloader: an event cannot be created");
  }
  return unique_event{event};
}

}  // namespace detail

/// A tensor's last transfer, which its next user waits for; move-only. Made at set-up, one per tensor.
///
/// Errors: the constructor throws std::runtime_error.
class transfer {
 public:
  transfer() : done_(detail::make_event()) {}

  /// Makes a stream wait until the transfer is done; at once if there was none.
  /// Stream: asynchronous on `stream`; does not synchronise or allocate; capturable, in the same
  ///   capture as the transfer.
  /// Errors: cuda_error.
  status wait(cudaStream_t stream) const {
    return detail::from_cuda(
        cudaStreamWaitEvent(stream, done_.get(), 0),
        "transfer: the stream cannot wait for it; one that was captured can be "
        "waited for in the same capture only");
  }

 private:
  friend class offloader;
  detail::unique_event done_;
};

/// Two side streams, to the host and back, of the highest priority: their few blocks start before the
/// blocks of a kernel that fills the device. One per device; move-only.
///
/// Errors: the constructor throws std::runtime_error or std::invalid_argument.
/// Stream: the constructor and the destructor may synchronise; nothing else does.
class offloader {
 public:
  /// @param num_blocks of one warp, that move a tensor
  explicit offloader(int num_blocks = default_mover_blocks) : num_blocks_(num_blocks) {
    if (num_blocks < 1 || num_blocks > 1024) {
      throw std::invalid_argument("offloader: num_blocks is not 1 to 1024");
    }
    int least = 0, greatest = 0;
    bool made = cudaDeviceGetStreamPriorityRange(&least, &greatest) == cudaSuccess;
    for (detail::unique_stream& side : sides_) {
      cudaStream_t stream = nullptr;
      made                = made &&
             cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest) == cudaSuccess;
      side.reset(stream);
    }
    if (!made) throw std::runtime_error("offloader: a stream cannot be created");
  }

  /// Moves a tensor to the host when \p after has done what is enqueued on it so far.
  ///
  /// Stream: asynchronous; does not synchronise or allocate; capturable, if a stream of the capture
  ///   waits for the transfer before it ends. Nothing uses the tensor, release() included, before it
  ///   has waited for \p moved.
  /// Errors: as offload(); cuda_error.
  template <class Format>
  status offload(arena_tensor_view<Format> tensor, transfer& moved, cudaStream_t after) {
    return move(tensor, 1, moved, after);
  }
  /// Moves a tensor back, when its offload is done and \p after has done what is enqueued on it so
  /// far: as a rule the release of the tensor whose slabs it will take.
  template <class Format>
  status prefetch(arena_tensor_view<Format> tensor, transfer& moved, cudaStream_t after) {
    if (status const checked = moved.wait(sides_[0].get()); !checked.ok()) return checked;
    return move(tensor, 0, moved, after);
  }

 private:
  template <class Format>
  status move(arena_tensor_view<Format> const& tensor,
              int to,
              transfer& moved,
              cudaStream_t after) {
    constexpr char const* text = "offloader: a stream cannot wait for another one";
    cudaStream_t const side    = sides_[to].get();
    cudaError_t error          = cudaEventRecord(now_.get(), after);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(side, now_.get(), 0);
    if (error != cudaSuccess) return detail::from_cuda(error, text);
    status const started = detail::launch_move(tensor, to, num_blocks_, side);
    error                = cudaEventRecord(moved.done_.get(), side);
    return started.ok() ? detail::from_cuda(error, text) : started;
  }

  int num_blocks_;
  detail::unique_stream sides_[2];  // from the host, to the host
  detail::unique_event now_ = detail::make_event();
};

}  // namespace v0
}  // namespace bitsparse
