// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The network x <- x + W2 act(W1 rmsnorm(x)), its shapes, and the row ranges that it is computed
/// in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace ffn {

enum class activation { relu, relu_squared };

/// What the multiplications take: bf16, or 8-bit floats with one scale per tensor.
enum class element_choice { bf16, e4m3 };

inline char const* name_of(element_choice element) {
  return element == element_choice::bf16 ? "bf16" : "e4m3";
}
inline std::uint64_t bytes_of(element_choice element) {
  return element == element_choice::bf16 ? 2 : 1;
}

inline char const* name_of(activation act) {
  return act == activation::relu ? "relu" : "relu2";
}

/// Tokens that are processed together: the dense scratch holds the activation of one range.
struct row_range {
  std::uint64_t first;
  std::uint64_t rows;
  int index;
};

/// Shapes: x (tokens, width), W1 (hidden, width), W2 (width, hidden); all row-major.
struct ffn_shape {
  int layers           = 0;
  std::uint64_t width  = 0;
  std::uint64_t hidden = 0;
  std::uint64_t tokens = 0;
  int ranges           = 1;
  activation act       = activation::relu_squared;

  /// Rows of each range but perhaps the last: a multiple of 32, so that every range begins at a
  /// multiple of 256 bytes.
  std::uint64_t range_rows() const {
    auto const count = static_cast<std::uint64_t>(std::max(ranges, 1));
    return std::min(((tokens + count - 1) / count + 31) / 32 * 32, tokens);
  }
  std::vector<row_range> row_ranges() const {
    std::vector<row_range> all;
    std::uint64_t const step = range_rows();
    for (std::uint64_t first = 0; first < tokens; first += step) {
      all.push_back({first, std::min(step, tokens - first), static_cast<int>(all.size())});
    }
    return all;
  }
  std::uint64_t x_values() const { return tokens * width; }
  std::uint64_t hidden_values() const { return tokens * hidden; }
  std::uint64_t weight_values() const { return width * hidden; }

  /// What is wrong with it, or an empty text.
  std::string problem() const {
    if (layers < 1 || tokens < 1 || ranges < 1) return "layers, tokens and ranges are at least 1";
    if (width % 64 != 0 || hidden % 128 != 0 || width == 0 || hidden == 0) {
      return "the width is a multiple of 64, the hidden width one of 128";
    }
    // Thus every range has a multiple of 32 rows; 8-bit transposed operands need one of 16.
    if (tokens % 32 != 0) return "the number of tokens is a multiple of 32";
    return {};
  }
};

}  // namespace ffn
