// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The tests' own tools: a guard that notices nothing would hide every fault.
#include <cmath>

#include <tests/support/catch.hpp>
#include <tests/support/guarded_buffer.hpp>
#include <tests/support/values.hpp>

namespace bt = bitsparse_test;

TEST_CASE("guarded_buffer: a byte written on either side is noticed", "[support]") {
  for (std::size_t const offset : {0u, 1u, 15u}) {
    bt::guarded_buffer buffer{100, offset};
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256 == offset);
    CHECK(buffer.guards_intact());
    buffer.data()[0] = buffer.data()[99] = std::byte{1};
    CHECK(buffer.guards_intact());
    std::byte const before = buffer.data()[-1];
    buffer.data()[-1]      = ~before;
    CHECK_FALSE(buffer.guards_intact());
    buffer.data()[-1] = before;
    CHECK(buffer.guards_intact());
    buffer.data()[100] = ~buffer.data()[100];
    CHECK_FALSE(buffer.guards_intact());
  }
}

TEST_CASE("guarded_buffer: a byte not written is noticed", "[support]") {
  bt::guarded_buffer buffer{3};
  CHECK(buffer.is_poison(0, 3));
  buffer.data()[1] = std::byte{0};
  CHECK_FALSE(buffer.is_poison(0, 3));
  CHECK(buffer.is_poison(2, 3));
  buffer.fill(0x5a);
  CHECK(buffer.data()[2] == std::byte{0x5a});
  CHECK(buffer.is_poison(0, 3));
  CHECK(buffer.guards_intact());
}

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
