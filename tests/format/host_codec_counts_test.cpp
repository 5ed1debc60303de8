// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Every count of kept values, and every format that run-time dispatch knows.
#include <tests/support/catch.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

TEST_CASE("host_codec: every count of kept values comes back, first, last and spread", "[format]") {
  using counted = bs::type_list<bs::tile_format<bs::bf16, 16, 16>,
                                bs::tile_format<bs::fp16, 256, 8>,
                                bs::tile_format<bs::fp8_e4m3, 16, 16>,
                                bs::tile_format<bs::fp32, 16, 16>>;
  bt::for_each_type(counted{}, [&](auto format) {
    using f         = decltype(format);
    using bits_type = typename f::bits_type;
    std::string fault;
    bt::test_matrix<typename f::element> matrix{f::rows, f::cols};
    for (bt::value_range const range :
         {bt::value_range::any, bt::value_range::non_negative, bt::value_range::window3}) {
      auto const values = bt::random_values<bits_type>(f::values, {range}, 3);
      for (std::uint32_t kept = 0; kept <= f::values; ++kept) {
        std::uint32_t const place = kept % 3;
        for (std::uint32_t i = 0; i < f::values; ++i) {
          std::uint32_t const rank            = place == 0   ? i
                                                : place == 1 ? f::values - 1 - i
                                                             : i * 97 % f::values;
          matrix.at(i / f::cols, i % f::cols) = rank < kept ? values[i] : bits_type{0};
        }
        std::string const found = bt::round_trip_every_codec<f>(matrix);
        if (!found.empty()) fault = found + " at " + std::to_string(kept) + " kept";
      }
    }
    CHECK(fault == "");
  });
}

TEST_CASE("host_codec: every supported format comes back at every density", "[format]") {
  bt::value_model const models[] = {
      {bt::value_range::any, 0.0},
      {bt::value_range::any, 0.4},
      {bt::value_range::any, 1.0},
      {bt::value_range::non_negative, 0.02},
      {bt::value_range::non_negative, 0.6},
      {bt::value_range::window3, 0.3},
      {bt::value_range::window4, 0.9, 8, 0.1},
  };
  bt::for_each_type(bs::supported_formats{}, [&](auto format) {
    using f = decltype(format);
    std::string fault;
    for (bt::value_model const& model : models) {
      bt::test_matrix<typename f::element> matrix{
          f::rows + f::rows / 2 + 1, 2 * f::cols + 9, 2 * f::cols + 10, 1};
      matrix.assign(bt::random_values<typename f::bits_type>(
          matrix.rows() * matrix.cols(), model, f::values));
      auto const report = bt::round_trip<f, bs::codec::compact>(matrix);
      if (!report.fault.empty()) fault = bt::format_name<f>() + ": " + report.fault;
    }
    CHECK(fault == "");
  });
}
