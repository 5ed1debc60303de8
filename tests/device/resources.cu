// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Every kernel: those of plain buffers for all supported formats, those of the arena for one. For
/// resource_test.py and for compiling them for more architectures than the tests; never run.
#include <bitsparse/arena/arena.cuh>
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

template <class... Formats>
void instantiate_all(bs::type_list<Formats...>) {
  (instantiate<Formats>(bs::device_tensor_view<Formats>{}), ...);
}

}  // namespace

void resources() {
  instantiate_all(bs::supported_formats{});
  using format = bs::default_format<bs::bf16>;
  (void)bs::report(bs::device_tensor_view<format>{}, nullptr, nullptr);

  bs::arena_tensor_view<format> const tensor{};
  instantiate<format>(tensor);
  (void)bs::release(tensor, nullptr);
  (void)bs::report(tensor, nullptr, nullptr);
  (void)bs::reset(tensor.arena, nullptr);
  (void)bs::clear(tensor.arena, nullptr);
  (void)bs::report(tensor.arena, nullptr, nullptr);
}
