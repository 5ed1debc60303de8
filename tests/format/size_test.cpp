// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Size queries against real use, at compile time, and where sizes no longer fit.
#include <bitsparse/format/header.hpp>
#include <bitsparse/format/size.hpp>
#include <tests/support/catch.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

using f64x64                  = bs::tile_format<bs::bf16, 64, 64>;
using f1x256                  = bs::tile_format<bs::fp8_e4m3, 1, 256>;
constexpr std::uint64_t limit = ~std::uint64_t{0};

static_assert(bs::num_tiles<f64x64>(0, 5) == 0 && bs::num_tiles<f64x64>(5, 0) == 0);
static_assert(bs::num_tiles<f64x64>(1, 1) == 1 && bs::num_tiles<f64x64>(65, 64) == 2);
static_assert(bs::num_tiles<f64x64>(16000, 21504) == 250 * 336);
static_assert(bs::directory_bytes<f64x64>(65, 65) == 32);
static_assert(bs::max_chunk_bytes<f64x64>() == 8192);
static_assert(bs::max_payload_bytes<f64x64>(0, 7) == 0 && bs::max_payload_bytes<f64x64>(7, 0) == 0);
static_assert(bs::max_payload_bytes<f64x64>(1, 1) == 16);
static_assert(bs::max_payload_bytes<f64x64>(64, 64) == 8192);
static_assert(bs::max_payload_bytes<f64x64>(65, 66) == 8192 + 256 + 128 + 16);
static_assert(bs::serialized_bytes<f64x64>(0, 0, 0) == 64);
static_assert(bs::serialized_bytes<f64x64>(64, 64, 32) == 64 + 16 + 32);
static_assert(bs::serialized_bytes<f64x64>(64, 192, 32) == 64 + 32 + 32);

// More than 2^31 values and more than 4 GiB.
static_assert(bs::max_payload_bytes<f64x64>(std::uint64_t{1} << 20, std::uint64_t{1} << 13) ==
              std::uint64_t{1} << 34);
// The last size that 35-bit offsets address, and the first that they do not.
static_assert(bs::max_payload_bytes<f64x64>(std::uint64_t{1} << 32, 64) == std::uint64_t{1} << 39);
static_assert(bs::max_payload_bytes<f64x64>((std::uint64_t{1} << 32) + 1, 64) == bs::size_overflow);

static_assert(bs::num_tiles<f64x64>(limit, limit) == bs::size_overflow);
static_assert(bs::num_tiles<f1x256>(limit - 1, 256) == limit - 1);
static_assert(bs::num_tiles<f1x256>(limit, 257) == bs::size_overflow);
static_assert(bs::directory_bytes<f1x256>(std::uint64_t{1} << 61, 1) == bs::size_overflow);
static_assert(bs::directory_bytes<f1x256>((std::uint64_t{1} << 61) - 1, 1) == limit - 7);
static_assert(bs::max_payload_bytes<f64x64>(std::uint64_t{1} << 63, 1) == bs::size_overflow);
static_assert(bs::max_payload_bytes<f64x64>(1, std::uint64_t{1} << 63) == bs::size_overflow);
static_assert(bs::max_payload_bytes<f64x64>(limit, limit) == bs::size_overflow);
static_assert(bs::max_payload_bytes<f64x64>(limit, 0) == 0);
static_assert(bs::serialized_bytes<f64x64>(limit, limit, 0) == bs::size_overflow);
static_assert(bs::serialized_bytes<f1x256>(std::uint64_t{1} << 61, 1, 0) == bs::size_overflow);
static_assert(bs::serialized_bytes<f64x64>(1, 1, limit) == bs::size_overflow);

static_assert(bs::detail::checked_mul(limit, 0) == 0);
static_assert(bs::detail::checked_mul(std::uint64_t{1} << 32, std::uint64_t{1} << 32) ==
              bs::size_overflow);
static_assert(bs::detail::checked_mul(0xffffffffu, 0x100000001u) == limit);
static_assert(bs::detail::checked_add(limit, 1) == bs::size_overflow);
static_assert(bs::detail::checked_add(limit - 1, 1) == limit);
static_assert(bs::detail::ceil_div(limit, std::uint64_t{64}) == std::uint64_t{1} << 58);

}  // namespace

TEST_CASE("size: max_payload_bytes is exactly what dense negative values take", "[format]") {
  using formats = bs::type_list<bs::tile_format<bs::bf16, 16, 16>,
                                bs::tile_format<bs::fp16, 256, 8>,
                                bs::tile_format<bs::fp32, 32, 64>,
                                bs::tile_format<bs::fp8_e4m3, 1, 256>,
                                bs::tile_format<bs::fp8_e5m2, 128, 128>>;
  bt::for_each_type(formats{}, [&](auto format) {
    using f                 = decltype(format);
    using bits_type         = typename f::bits_type;
    std::uint64_t differing = 0;
    std::string fault;
    for (std::uint64_t const rows : {1u, f::rows - 1, f::rows, 2 * f::rows + 1}) {
      for (std::uint64_t const cols : {1u, 3u, f::cols - 1, f::cols, 2 * f::cols + 7}) {
        bt::test_matrix<typename f::element> matrix{rows, cols};
        auto values = bt::random_values<bits_type>(rows * cols, {}, rows + cols);
        for (bits_type& value : values) {
          value = static_cast<bits_type>(value | bs::detail::sign_bit<typename f::element>);
        }
        matrix.assign(values);
        bt::for_each_type(bs::supported_codecs{}, [&](auto codec) {
          auto const report = bt::round_trip<f, decltype(codec)>(matrix);
          if (!report.fault.empty()) fault = report.fault;
          differing += report.chunk_bytes != bs::max_payload_bytes<f>(rows, cols);
        });
      }
    }
    INFO(bt::format_name<f>());
    CHECK(fault == "");
    CHECK(differing == 0);
  });
}
