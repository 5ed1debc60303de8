// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What layers 3 and up report with: CUDA's errors as a status, and a status as a cudaError_t.
#pragma once

#include <cuda_runtime_api.h>

#include <bitsparse/status.hpp>

namespace bitsparse {
inline namespace v0 {

/// Lets a status be passed where a cudaError_t is expected, such as a user's own check macro.
template <>
struct status_conversion<cudaError_t> {
  static constexpr cudaError_t convert(status_code code, int native) {
    switch (code) {
      case status_code::ok:
        return cudaSuccess;
      case status_code::cuda_error:
        return static_cast<cudaError_t>(native);
      case status_code::unsupported:
        return cudaErrorNotSupported;
      default:
        return cudaErrorInvalidValue;
    }
  }
};

namespace detail {

/// @param text what was being done, for the status's text
inline status from_cuda(cudaError_t error, char const* text) {
  return error == cudaSuccess ? status{}
                              : status{status_code::cuda_error, text, static_cast<int>(error)};
}

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
