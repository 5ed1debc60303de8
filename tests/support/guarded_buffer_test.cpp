// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The tests' guards: one that noticed nothing would hide every fault.
#include <tests/support/catch.hpp>
#include <tests/support/guarded_buffer.hpp>

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
