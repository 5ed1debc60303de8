// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A shared object that uses the library, with a CUDA runtime of its own; built for different
/// architectures and codecs and loaded together by units_test.cu.
#include <tests/link/unit_round_trip.cuh>

/// @return what went wrong, or null
extern "C" char const* plugin_round_trip(std::uint64_t seed) {
  return unit_round_trip<bitsparse::codec::BITSPARSE_PLUGIN_CODEC>(seed);
}

/// The PTX version of the code that a launch runs here, such as 90; 0 if it has none for this device.
extern "C" int plugin_code_version() {
  namespace bs                 = bitsparse;
  using params                 = bs::detail::prologue_params<bs::detail::buffer_space>;
  void (*const kernel)(params) = bs::detail::compress_prologue_kernel<bs::detail::buffer_space>;
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess ? attributes.ptxVersion : 0;
}
