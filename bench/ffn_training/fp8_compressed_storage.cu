// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Activations in a bitsparse arena, filled and emptied by fused operations: e4m3.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <bench/ffn_training/arena_storage.cuh>
#include <bench/ffn_training/fp8_storage.hpp>

namespace ffn {
namespace {

/// @tparam Forward, Backward the fused ops
template <class Codec, class Forward, class Backward>
class fp8_arena_storage : public arena_storage<e4m3_format> {
 public:
  fp8_arena_storage(fp8_network& of, int num_layers, slab_counts slabs, device_allocations& memory)
      : arena_storage(of, num_layers, slabs, memory), network_(of) {}

  void const* forward(int layer, row_range const& rows, cudaStream_t stream) override {
    bf16* const h            = network_.hidden[0];
    std::uint64_t const cols = network_.shape().hidden;
    network_.up(layer, rows, h, {}, stream);
    bs::compress_operands<bs::bf16, bs::fp8_e4m3> operands;
    operands.source        = bs::make_matrix(h, rows.rows, cols, cols);
    operands.emitted       = bs::make_matrix(network_.activation, rows.rows, cols, cols);
    operands.scale         = network_.scales().factor(scaled::stored_r);
    operands.emitted_scale = network_.scales().factor(scaled::activation);
    require(bs::compress<Codec, Forward>(operands, tensor(layer, rows), stream), "compress");
    report_content(layer, rows, stream);
    return network_.activation;
  }
  hidden_operands backward(int layer, row_range const& rows, cudaStream_t stream) override {
    bf16* const gradient     = network_.hidden[0];
    std::uint64_t const cols = network_.shape().hidden;
    both_ways const target   = network_.hidden_gradient;
    network_.activation_gradient(layer, rows, gradient, {}, stream);
    bs::decompress_operands<bs::transposed<bs::fp8_e4m3>, bs::bf16, bs::both_ways<bs::fp8_e4m3>>
        operands;
    operands.first             = bs::make_matrix(network_.activation, cols, rows.rows, rows.rows);
    operands.gradient          = bs::make_matrix(gradient, rows.rows, cols, cols);
    operands.second.row_major  = bs::make_matrix(target.row_major, rows.rows, cols, cols);
    operands.second.transposed = bs::make_matrix(target.turned, cols, rows.rows, rows.rows);
    operands.second_scale      = network_.scales().factor(scaled::hidden_gradient);
    if (network_.shape().act == activation::relu_squared) {  // ReLU's is r as it is stored
      operands.first_scale = network_.scales().factor(scaled::activation);
    }
    require(bs::consume<Backward>(tensor(layer, rows), operands, stream), "consume");
    return {network_.activation, target.row_major, target.turned};
  }
  /// h (2 bytes per value), a, chunks and chunks, g (2), a, g, g.
  double moved_bytes(double dense, double stored) const override { return dense * 8 + stored * 2; }

 private:
  fp8_network& network_;
};

}  // namespace

std::unique_ptr<compressed_storage> make_fp8_compressed_storage(fp8_network& of,
                                                                codec_choice codec,
                                                                int num_layers,
                                                                slab_counts slabs,
                                                                device_allocations& memory) {
  return make_arena_storage<fp8_arena_storage>(of, codec, num_layers, slabs, memory);
}

}  // namespace ffn
