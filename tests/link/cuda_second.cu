// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The other of two translation units that launch the same kernels of the library.
#include <tests/link/unit_round_trip.cuh>

char const* second_unit_fault(std::uint64_t seed) {
  unit_fault const fault = unit_round_trip<bitsparse::codec::sign>(seed);
  return fault != nullptr ? fault : unit_round_trip<bitsparse::codec::fast>(seed);
}
