// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The choice of an encoding against a second computation that counts bits, for every number of
/// kept values.
#include <bitsparse/format/encoding.hpp>
#include <bitsparse/format/visit_format.hpp>
#include <tests/support/catch.hpp>
#include <tests/support/reference_encoder.hpp>
#include <tests/support/round_trip.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

bool in_codec(bs::codec_id id, std::uint32_t e) {
  return e <= (id == bs::codec_id::fast ? 2u : id == bs::codec_id::sign ? 3u : 9u);
}

bool can_take(std::uint32_t e, bool is_bf16, bs::detail::tile_summary const& tile) {
  switch (e) {
    case 1:
    case 2:
    case 6:
      return true;
    case 3:
    case 7:
      return !tile.any_sign;
    default:
      return is_bf16 && !tile.any_sign && tile.high_span <= (e == 4 || e == 8 ? 7u : 15u);
  }
}

/// Summaries for which choose_encoding and the count disagree. The units of the mask forms are
/// counted once per kept count.
template <class Format, class Codec>
std::uint64_t disagreements(std::uint32_t kept,
                            std::uint32_t nonzero_bytes,
                            std::uint32_t const (&units)[10]) {
  constexpr bool is_bf16 = Format::element::id == bs::element_id::bf16;
  std::uint64_t count    = 0;
  for (std::uint32_t const valid : {kept, (kept + Format::values) / 2, Format::values}) {
    for (bool const any_sign : {false, true}) {
      for (std::uint32_t const span : {0u, 7u, 8u, 15u, 16u, 127u}) {
        if (span != 0 && (!is_bf16 || kept < 2)) continue;
        bs::detail::tile_summary const tile{kept, valid, nonzero_bytes, span, any_sign};
        std::uint32_t const dense = (valid * Format::element::value_bits / 8 + 15) / 16;
        std::uint32_t flat = 1, flat_units = dense, two_level = 0, two_level_units = ~0u;
        for (std::uint32_t e = 2; e < 10; ++e) {
          if (!in_codec(Codec::id, e) || !can_take(e, is_bf16, tile)) continue;
          std::uint32_t& best       = e < 6 ? flat : two_level;
          std::uint32_t& best_units = e < 6 ? flat_units : two_level_units;
          if (units[e] < best_units) best = e, best_units = units[e];
        }
        bool const saves_enough =
            two_level_units < flat_units && (flat_units - two_level_units) * 32 >= flat_units;
        bs::detail::encoding_choice const choice = bs::detail::choose_encoding<Format, Codec>(tile);
        std::uint32_t const form                 = saves_enough ? two_level : flat;
        count += static_cast<std::uint32_t>(choice.form) != form;
        count += choice.units != (saves_enough ? two_level_units : flat_units);
      }
    }
  }
  return count;
}

template <class Format>
std::uint64_t all_disagreements() {
  std::uint64_t count = 0;
  for (std::uint32_t kept = 1; kept <= Format::values; ++kept) {
    std::uint32_t const fewest = (kept + 7) / 8;
    std::uint32_t const most   = std::min(kept, Format::mask_bytes);
    for (std::uint32_t const nonzero :
         {fewest, fewest + (most - fewest) / 3, (fewest + most) / 2, most}) {
      std::uint32_t units[10] = {};
      for (std::uint32_t e = 2; e < 10; ++e) {
        units[e] =
            bt::reference_units(e, Format::element::value_bits, Format::values, kept, nonzero);
      }
      bt::for_each_type(bs::supported_codecs{}, [&](auto codec) {
        count += disagreements<Format, decltype(codec)>(kept, nonzero, units);
      });
    }
  }
  return count;
}

constexpr bs::detail::encoding_choice chosen =
    bs::detail::choose_encoding<bs::default_format<bs::bf16>, bs::codec::sign>(
        {100, 4096, 0, 0, false});
static_assert(chosen.form == bs::encoding::flat_sign, "choose_encoding works at compile time");

}  // namespace

TEST_CASE("encoding: the choice is the smallest, for every count of kept values", "[format]") {
  using formats = bs::type_list<bs::tile_format<bs::bf16, 16, 16>,
                                bs::tile_format<bs::bf16, 32, 128>,
                                bs::tile_format<bs::bf16, 64, 128>,
                                bs::tile_format<bs::fp16, 256, 8>,
                                bs::tile_format<bs::fp32, 32, 64>,
                                bs::tile_format<bs::fp8_e4m3, 128, 128>,
                                bs::tile_format<bs::fp8_e5m2, 16, 16>>;
  bt::for_each_type(formats{}, [&](auto format) {
    INFO(bt::format_name<decltype(format)>());
    CHECK(all_disagreements<decltype(format)>() == 0);
  });
}

TEST_CASE("encoding: a tie goes to the lower number", "[format]") {
  using f = bs::tile_format<bs::bf16, 16, 16>;
  // 1 kept value: flat/raw and flat/sign both take 4 + 32 bytes.
  CHECK(bs::detail::choose_encoding<f, bs::codec::sign>({1, 256, 1, 0, false}).form ==
        bs::encoding::flat_raw);
  // All kept: flat/sign takes as much as dense.
  CHECK(bs::detail::choose_encoding<f, bs::codec::sign>({256, 256, 32, 0, false}).form ==
        bs::encoding::dense);
}

TEST_CASE("encoding: two_level must save one part in 32", "[format]") {
  using f = bs::tile_format<bs::bf16, 64, 64>;
  // flat/raw takes 1520 + 512 bytes = 127 units; one in 32 is 3.97 units, so 123 units will do.
  constexpr std::uint32_t kept = 760;
  CHECK(bs::detail::choose_encoding<f, bs::codec::compact>({kept, 4096, 384, 127, true}).form ==
        bs::encoding::two_level_raw);  // 1520 + 64 + 384 = 123 units
  CHECK(bs::detail::choose_encoding<f, bs::codec::compact>({kept, 4096, 385, 127, true}).form ==
        bs::encoding::flat_raw);  // 124 units
}

TEST_CASE("encoding: every assigned number has a name and no other has", "[format]") {
  for (std::uint32_t e = 0; e < bs::num_encodings; ++e) {
    CHECK((bs::name_of(static_cast<bs::encoding>(e)) != nullptr) == (e < 10 || e == 15));
  }
}
