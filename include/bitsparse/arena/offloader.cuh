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

/// Side streams, to the host and back, of the highest priority: their few blocks start before the
/// blocks of a kernel that fills the device. What a tensor's move needs is planned on a stream beside
/// the one that copies, so that copies follow each other without a gap. One per device; move-only.
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
    for (auto* const streams : {planners_, movers_}) {
      for (int to = 0; to < 2; ++to) {
        cudaStream_t stream = nullptr;
        made = made && cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest) ==
                           cudaSuccess;
        streams[to].reset(stream);
      }
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
    if (status const checked = moved.wait(planners_[0].get()); !checked.ok()) return checked;
    return move(tensor, 0, moved, after);
  }

 private:
  template <class Format>
  status move(arena_tensor_view<Format> const& tensor,
              int to,
              transfer& moved,
              cudaStream_t after) {
    detail::move_params params{detail::arena_space{tensor}, nullptr, to};
    if (status const made = detail::make_moves(tensor, to, num_blocks_, params); !made.ok()) {
      return made;
    }
    cudaStream_t const planner = planners_[to].get(), mover = movers_[to].get();
    if (status const chained = chain(after, planner); !chained.ok()) return chained;
    if (status const planned = detail::launch_plan(params, planner); !planned.ok()) return planned;
    if (status const chained = chain(planner, mover); !chained.ok()) return chained;
    status const started =
        detail::launch_moves(params, num_blocks_, mover, detail::launch_order::after);
    if (!started.ok()) return started;
    return detail::from_cuda(cudaEventRecord(moved.done_.get(), mover), chain_text);
  }
  /// Makes a stream wait for what is enqueued on another one.
  status chain(cudaStream_t first, cudaStream_t then) {
    cudaError_t const recorded = cudaEventRecord(now_.get(), first);
    if (recorded != cudaSuccess) return detail::from_cuda(recorded, chain_text);
    return detail::from_cuda(cudaStreamWaitEvent(then, now_.get(), 0), chain_text);
  }

  static constexpr char const* chain_text = "offloader: a stream cannot wait for another one";

  int num_blocks_;
  detail::unique_stream planners_[2], movers_[2];  // from the host, to the host
  detail::unique_event now_ = detail::make_event();
};

}  // namespace v0
}  // namespace bitsparse
