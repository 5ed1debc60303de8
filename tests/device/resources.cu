// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Every kernel of the supported formats, for resource_test.py: compiled, never run.
#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/decompress.cuh>
#include <bitsparse/format/visit_format.hpp>

namespace bs = bitsparse;

namespace {

template <class Format>
void instantiate() {
  bs::device_tensor_view<Format> const tensor{};
  bs::matrix_view<typename Format::element> const matrix{};
  (void)bs::compress<bs::codec::fast, bs::identity, void, Format>(matrix, tensor, nullptr);
  (void)bs::compress<bs::codec::sign, bs::identity, void, Format>(matrix, tensor, nullptr);
  (void)bs::decompress<bs::identity, void, Format>(tensor, matrix, nullptr);
}

template <class... Formats>
void instantiate_all(bs::type_list<Formats...>) {
  (instantiate<Formats>(), ...);
}

}  // namespace

void resources() {
  instantiate_all(bs::supported_formats{});
}
