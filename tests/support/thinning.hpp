// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Running one in so many of a test's many alike steps, where each takes long: under a tool.
#pragma once

#include <cstdlib>

namespace bitsparse_test {

/// The number in the environment's BITSPARSE_THIN; 1, which leaves nothing out, if there is none.
inline unsigned thinning() {
  char const* const text = std::getenv("BITSPARSE_THIN");
  int const number       = text == nullptr ? 1 : std::atoi(text);
  return number < 1 ? 1 : static_cast<unsigned>(number);
}

}  // namespace bitsparse_test
