// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Tuning changes speed only: any gives the host codec's bytes.
#include <tests/support/device_cases.cuh>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

template <class Format, int Threads, int Tiles>
void check_tuning() {
  using tuning = bs::tile_tuning<Threads, Tiles>;
  for (std::uint64_t const gap : {0, 3}) {
    std::uint64_t const rows = 2 * Format::rows + 5, cols = 3 * Format::cols + 8;
    std::string const fault =
        for_each_model<typename Format::element>(rows, cols, cols + gap, 0, [](auto const& matrix) {
          return device_round_trip<Format, bs::codec::sign, tuning>(matrix);
        });
    REQUIRE(fault == "");
  }
}

}  // namespace

TEST_CASE("tuning: neither threads per tile nor tiles per block change a byte", "[device]") {
  check_tuning<bs::default_format<bs::bf16>, 32, 5>();
  check_tuning<bs::default_format<bs::bf16>, 64, 1>();
  check_tuning<bs::default_format<bs::bf16>, 256, 1>();
  check_tuning<bs::default_format<bs::fp8_e4m3>, 128, 2>();
  check_tuning<bs::default_format<bs::fp32>, 64, 4>();
}
