// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Comparing a step's gradients with another step's, bit for bit.
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>
#include <vector>

#include <bench/ffn_training/network.hpp>
#include <bench/ffn_training/row_operations.hpp>
#include <bench/ffn_training/step.hpp>

namespace ffn {

/// Copies of all gradients of a step.
struct gradient_copies {
  gradient_copies(network const& of, device_allocations& memory)
      : weight_bytes(of.weight_gradient_bytes()),
        input_bytes(of.shape().x_values() * sizeof(bf16)) {
    for (int layer = 0; layer < of.shape().layers; ++layer) {
      w1.push_back(memory.allocate<char>(category::other, weight_bytes));
      w2.push_back(memory.allocate<char>(category::other, weight_bytes));
    }
    input = memory.allocate<char>(category::other, input_bytes);
    loss  = memory.allocate<char>(category::other, sizeof(float));
  }
  std::uint64_t weight_bytes, input_bytes;
  std::vector<char*> w1, w2;  // (layers,)
  char* input;
  char* loss;
};

/// Takes copies of the gradients.
class copy_sink : public gradient_sink {
 public:
  explicit copy_sink(gradient_copies& target) : target_(target) {}
  void layer_done(network& of, int layer, cudaStream_t stream) override {
    copy(target_.w1[layer], of.w1_gradient, target_.weight_bytes, stream);
    copy(target_.w2[layer], of.w2_gradient, target_.weight_bytes, stream);
    if (layer != 0) return;
    copy(target_.input, of.gradient, target_.input_bytes, stream);
    copy(target_.loss, of.loss, sizeof(float), stream);
  }

 private:
  static void copy(void* to, void const* from, std::uint64_t bytes, cudaStream_t stream) {
    require_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream),
                 "cudaMemcpyAsync");
  }
  gradient_copies& target_;
};

/// Counts the 32-bit words in which the gradients differ from the copies.
class compare_sink : public gradient_sink {
 public:
  compare_sink(gradient_copies const& expected, device_allocations& memory)
      : expected_(expected),
        differences_(memory.allocate<unsigned long long>(category::other, 1)) {}
  void layer_done(network& of, int layer, cudaStream_t stream) override {
    std::uint64_t const bytes = expected_.weight_bytes;
    count_differences(expected_.w1[layer], of.w1_gradient, bytes, differences_, stream);
    count_differences(expected_.w2[layer], of.w2_gradient, bytes, differences_, stream);
    if (layer != 0) return;
    count_differences(expected_.input, of.gradient, expected_.input_bytes, differences_, stream);
    count_differences(expected_.loss, of.loss, sizeof(float), differences_, stream);
  }
  void begin(cudaStream_t stream) {
    require_cuda(cudaMemsetAsync(differences_, 0, sizeof(*differences_), stream),
                 "cudaMemsetAsync");
  }
  /// Waits for the stream.
  unsigned long long differences(cudaStream_t stream) const {
    unsigned long long count = 0;
    require_cuda(
        cudaMemcpyAsync(&count, differences_, sizeof(count), cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
    require_cuda(cudaStreamSynchronize(stream), "a step of the check");
    return count;
  }

 private:
  gradient_copies const& expected_;
  unsigned long long* differences_;
};

/// Makes NaN of everything that a step is to write, so that nothing is right by having stayed.
inline void poison(network& of, cudaStream_t stream) {
  for (auto const& block : of.overwritten) {
    require_cuda(cudaMemsetAsync(block.data, 0xff, block.bytes, stream), "cudaMemsetAsync");
  }
}

}  // namespace ffn
