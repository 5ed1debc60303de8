// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Activations in a bitsparse arena, filled and emptied by fused operations: bf16.
#include <cuda_bf16.h>

#include <bench/ffn_training/arena_storage.cuh>

namespace ffn {
namespace {

using format = bs::default_format<bs::bf16>;

/// @tparam Forward, Backward the fused ops
template <class Codec, class Forward, class Backward>
class bf16_arena_storage : public arena_storage<format> {
 public:
  bf16_arena_storage(network& of, int num_layers, slab_counts slabs, device_allocations& memory)
      : arena_storage(of, num_layers, slabs, memory), network_(of) {}

  void const* forward(int layer, row_range const& rows, cudaStream_t stream) override {
    bf16* const h = network_.hidden[0];
    network_.up(layer, rows, h, {}, stream);
    auto const matrix =
        bs::make_matrix(h, rows.rows, network_.shape().hidden, network_.shape().hidden);
    bs::compress_operands<bs::bf16, bs::bf16> operands;
    operands.source  = matrix;
    operands.emitted = matrix;
    require(bs::compress<Codec, Forward>(operands, tensor(layer, rows), stream), "compress");
    report_content(layer, rows, stream);
    return h;
  }
  hidden_operands backward(int layer, row_range const& rows, cudaStream_t stream) override {
    bf16 *const gradient = network_.hidden[0], *const restored = network_.hidden[1];
    std::uint64_t const cols = network_.shape().hidden;
    network_.activation_gradient(layer, rows, gradient, {}, stream);
    bs::decompress_operands<bs::bf16, bs::bf16, bs::bf16> operands;
    operands.first    = bs::make_matrix(restored, rows.rows, cols, cols);
    operands.gradient = bs::make_matrix(gradient, rows.rows, cols, cols);
    operands.second   = bs::make_matrix(gradient, rows.rows, cols, cols);
    require(bs::consume<Backward>(tensor(layer, rows), operands, stream), "consume");
    return {restored, gradient};
  }
  /// h, a, chunks and chunks, g, a, g.
  double moved_bytes(double dense, double stored) const override { return dense * 5 + stored * 2; }

 private:
  network& network_;
};

}  // namespace

std::uint64_t planned_slabs(ffn_shape const& shape,
                            element_choice element,
                            codec_choice codec,
                            int num_layers,
                            double density) {
  std::uint64_t const per_layer = element == element_choice::bf16
                                      ? planned_layer_slabs<format>(shape, codec, density)
                                      : planned_layer_slabs<e4m3_format>(shape, codec, density);
  return per_layer * static_cast<std::uint64_t>(num_layers);
}

std::unique_ptr<compressed_storage> make_compressed_storage(network& of,
                                                            codec_choice codec,
                                                            int num_layers,
                                                            slab_counts slabs,
                                                            device_allocations& memory) {
  return make_arena_storage<bf16_arena_storage>(of, codec, num_layers, slabs, memory);
}

}  // namespace ffn
