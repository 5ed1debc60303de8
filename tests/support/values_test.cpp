// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The tests' values: the same numbers everywhere, and of the distribution they claim.
#include <cmath>

#include <tests/support/catch.hpp>
#include <tests/support/values.hpp>

namespace bt = bitsparse_test;

TEST_CASE("values: the generator and the logarithm are what they should be", "[support]") {
  CHECK(bt::random_bits{0}.next() == 0xe220a8397b1dcdafu);  // SplitMix64's first output for seed 0
  double error = 0;
  for (double x = 1e-12; x < 1e6; x *= 1.37) {
    error = std::fmax(error, std::fabs(bt::natural_log(x) - std::log(x)));
  }
  CHECK(error < 1e-13);
  bt::normal_numbers normal{1};
  double sum = 0, squares = 0, within = 0;
  constexpr int count = 100000;
  for (int i = 0; i < count; ++i) {
    double const x = normal.next();
    sum += x, squares += x * x, within += std::fabs(x) < 1;
  }
  CHECK(std::fabs(sum / count) < 0.02);
  CHECK(std::fabs(squares / count - 1) < 0.03);
  CHECK(std::fabs(within / count - 0.6827) < 0.01);
}

TEST_CASE("values: numbers round to the nearest bf16, ties to even", "[support]") {
  CHECK(bt::bf16_bits(1.0f) == 0x3f80);
  CHECK(bt::bf16_bits(1.00390625f) == 0x3f80);  // half a unit above 1
  CHECK(bt::bf16_bits(1.01171875f) == 0x3f82);  // one and a half
  CHECK(bt::bf16_bits(1.004f) == 0x3f81);
}
