// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Every kernel: those of plain buffers for all supported formats, those of the arena and with ops for
/// some. For resource_test.py and for compiling them for more architectures than the tests; never run.
#include <type_traits>

#include <bitsparse/arena/arena.cuh>
#include <bitsparse/arena/offload.cuh>
#include <bitsparse/arena/operations.cuh>
#include <bitsparse/arena/statistics.cuh>
#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>
#include <bitsparse/device/report.cuh>
#include <bitsparse/format/visit_format.hpp>

namespace bs = bitsparse;

namespace {

template <class Format, class Tensor>
void instantiate(Tensor const& tensor) {
  bs::matrix_view<typename Format::element> const matrix{};
  (void)bs::compress<bs::codec::fast, bs::identity, void, Format>(matrix, tensor, nullptr);
  (void)bs::compress<bs::codec::sign, bs::identity, void, Format>(matrix, tensor, nullptr);
  (void)bs::compress<bs::codec::compact, bs::identity, void, Format>(matrix, tensor, nullptr);
  (void)bs::decompress<bs::identity, void, Format>(tensor, matrix, nullptr);
}

/// With ops, of plain buffers: training in bf16, and in FP8 with bf16 in between.
template <class Format, class Emitted, class First, class Second>
void instantiate_ops() {
  using element = typename Format::element;
  bs::device_tensor_view<Format> const tensor{};
  bs::compress_operands<bs::bf16, Emitted> const forward{};
  bs::decompress_operands<First, bs::bf16, Second> const backward{};
  bs::decompress_operands<bs::bf16, bs::bf16> const gradient{};
  bs::matrix_view<bs::bf16> const matrix{};
  (void)bs::compress<bs::codec::sign, bs::relu_squared>(forward, tensor, nullptr);
  (void)bs::compress<bs::codec::compact, bs::relu_squared>(forward, tensor, nullptr);
  (void)bs::decompress<bs::square_and_gradient>(tensor, backward, nullptr);
  (void)bs::decompress<bs::relu_squared_gradient>(tensor, gradient, nullptr);
  if constexpr (std::is_same_v<element, bs::bf16>) {
    (void)bs::compress<bs::codec::sign, bs::relu>(matrix, tensor, nullptr);
    (void)bs::compress<bs::codec::compact, bs::relu>(matrix, tensor, nullptr);
  }
}

template <class... Formats>
void instantiate_all(bs::type_list<Formats...>) {
  (instantiate<Formats>(bs::device_tensor_view<Formats>{}), ...);
}

}  // namespace

void resources() {
  instantiate_all(bs::supported_formats{});
  instantiate_ops<bs::default_format<bs::bf16>, bs::bf16, bs::bf16, bs::bf16>();
  instantiate_ops<bs::default_format<bs::fp8_e4m3>,
                  bs::fp8_e4m3,
                  bs::transposed<bs::fp8_e4m3>,
                  bs::both_ways<bs::fp8_e4m3>>();
  using format = bs::default_format<bs::bf16>;
  (void)bs::report(bs::device_tensor_view<format>{}, nullptr, nullptr);

  bs::arena_tensor_view<format> const tensor{};
  instantiate<format>(tensor);
  (void)bs::release(tensor, nullptr);
  (void)bs::offload(tensor, 8, nullptr);
  (void)bs::prefetch(tensor, 8, nullptr);
  (void)bs::report(tensor, nullptr, nullptr);
  (void)bs::reset(tensor.arena, nullptr);
  (void)bs::clear(tensor.arena, nullptr);
  (void)bs::report(tensor.arena, nullptr, nullptr);
}
