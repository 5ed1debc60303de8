// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// One training step in any mode, and what is done with the gradients.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <vector>

#include <bench/ffn_training/network.hpp>
#include <bench/ffn_training/storage.hpp>

namespace ffn {

/// Gets each layer's weight gradients, which the next layer's overwrite.
class gradient_sink {
 public:
  virtual ~gradient_sink() = default;
  /// Layers come last to first. Stream: asynchronous and capturable.
  virtual void layer_done(network& of, int layer, cudaStream_t stream) = 0;
};

/// Drops them.
class no_sink : public gradient_sink {
 public:
  void layer_done(network&, int, cudaStream_t) override {}
};

/// weights -= rate * gradients.
class descent_sink : public gradient_sink {
 public:
  explicit descent_sink(double rate) : rate_(static_cast<float>(rate)) {}
  void layer_done(network& of, int layer, cudaStream_t stream) override;

 private:
  float rate_;
};

/// Checksums of every layer's gradients and of the one at x[0].
class checksum_sink : public gradient_sink {
 public:
  checksum_sink(network const& of, device_allocations& memory);
  void begin(cudaStream_t stream);
  void layer_done(network& of, int layer, cudaStream_t stream) override;
  /// (2 * layers + 1,). Waits for the stream.
  std::vector<unsigned long long> sums(cudaStream_t stream) const;

 private:
  std::size_t count_;
  unsigned long long* sums_;
};

/// Layers first to last: x[layers] and what storages keep.
void run_forward(network& of, mode const& how, cudaStream_t stream);
/// From the gradient at x[layers] to that at x[0].
void run_backward(network& of, mode const& how, gradient_sink& sink, cudaStream_t stream);
/// Forward, the loss of distance_loss(), backward.
void run_step(network& of, mode const& how, gradient_sink& sink, cudaStream_t stream);

/// What a stream is given to do, as a CUDA graph. Move-only.
class captured_work {
 public:
  template <class Work>
  captured_work(Work work, cudaStream_t stream) {
    begin(stream);
    work();
    end(stream);
  }
  captured_work(captured_work&& other) noexcept : executable_(other.executable_) {
    other.executable_ = nullptr;
  }
  captured_work& operator=(captured_work&&) = delete;
  ~captured_work();
  void replay(cudaStream_t stream) const;

 private:
  static void begin(cudaStream_t stream);
  void end(cudaStream_t stream);

  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace ffn
