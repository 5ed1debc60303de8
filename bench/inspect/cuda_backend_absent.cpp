// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The CUDA backend of a build that has no device code.
#include <bench/inspect/backend.hpp>

namespace inspect {
namespace {

constexpr char const* absent = "this build of bitsparse_inspect has no device code";

}  // namespace

bitsparse::status cuda_round_trip(round_trip_request const&, round_trip_result&) {
  return {bitsparse::status_code::unsupported, absent};
}

bool cuda_available(char const** why_not) {
  *why_not = absent;
  return false;
}

}  // namespace inspect
