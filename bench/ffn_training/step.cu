// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// One training step in any mode, and what is done with the gradients.
#include <bench/ffn_training/step.hpp>

namespace ffn {

void descent_sink::layer_done(network& of, int layer, cudaStream_t stream) {
  std::uint64_t const count = of.shape().weight_values();
  descend(of.w1[layer], of.w1_gradient, of.gradients_in_fp32(), rate_, count, stream);
  descend(of.w2[layer], of.w2_gradient, of.gradients_in_fp32(), rate_, count, stream);
}

checksum_sink::checksum_sink(network const& of, device_allocations& memory)
    : count_(2 * static_cast<std::size_t>(of.shape().layers) + 1),
      sums_(memory.allocate<unsigned long long>(category::other, count_)) {}

void checksum_sink::begin(cudaStream_t stream) {
  require_cuda(cudaMemsetAsync(sums_, 0, count_ * sizeof(*sums_), stream), "cudaMemsetAsync");
}

void checksum_sink::layer_done(network& of, int layer, cudaStream_t stream) {
  std::uint64_t const bytes = of.weight_gradient_bytes();
  add_checksum(of.w1_gradient, bytes, sums_ + 2 * layer, stream);
  add_checksum(of.w2_gradient, bytes, sums_ + 2 * layer + 1, stream);
  if (layer == 0) {
    add_checksum(of.gradient, of.shape().x_values() * sizeof(bf16), sums_ + count_ - 1, stream);
  }
}

std::vector<unsigned long long> checksum_sink::sums(cudaStream_t stream) const {
  std::vector<unsigned long long> result(count_);
  require_cuda(cudaMemcpyAsync(
                   result.data(), sums_, count_ * sizeof(*sums_), cudaMemcpyDeviceToHost, stream),
               "cudaMemcpyAsync");
  require_cuda(cudaStreamSynchronize(stream), "the step before the checksums");
  return result;
}

void run_forward(network& of, mode const& how, cudaStream_t stream) {
  for (int layer = 0; layer < of.shape().layers; ++layer) {
    for (auto const& rows : of.ranges()) {
      of.normalize(layer, rows, stream);
      void const* const activation = how.layers[layer]->forward(layer, rows, stream);
      of.down(layer, rows, activation, stream);
    }
  }
}

void run_backward(network& of, mode const& how, gradient_sink& sink, cudaStream_t stream) {
  for (int layer = of.shape().layers; layer-- > 0;) {
    for (auto const& rows : of.ranges()) {
      of.prepare_backward(layer, rows, stream);
      hidden_operands const hidden = how.layers[layer]->backward(layer, rows, stream);
      of.finish_gradients(layer, rows, hidden, stream);
    }
    sink.layer_done(of, layer, stream);
  }
}

void run_step(network& of, mode const& how, gradient_sink& sink, cudaStream_t stream) {
  ffn_shape const& shape = of.shape();
  run_forward(of, how, stream);
  distance_loss(of.x[shape.layers], of.gradient, of.row_losses, shape.tokens, shape.width, stream);
  ordered_sum(of.row_losses, shape.tokens, of.loss, stream);
  run_backward(of, how, sink, stream);
}

void captured_work::begin(cudaStream_t stream) {
  require_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
}

void captured_work::end(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  require_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  require_cuda(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate");
  require_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
  require_cuda(cudaGraphUpload(executable_, stream), "cudaGraphUpload");
}

captured_work::~captured_work() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

void captured_work::replay(cudaStream_t stream) const {
  require_cuda(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch");
}

}  // namespace ffn
