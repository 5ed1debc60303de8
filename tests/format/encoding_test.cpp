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

template <class Format>
bool can_take(std::uint32_t e, bs::detail::tile_summary const& tile) {
  if (e >= 6 && tile.kept * 32 > Format::values * 7) return false;
  switch (e) {
    case 1:
    case 2:
    case 6:
      return true;
    case 3:
    case 7:
      return !tile.any_sign;
    default:
      return Format::element::id == bs::element_id::bf16 && !tile.any_sign &&
             tile.high_span <= (e == 4 || e == 8 ? 7u : 15u);
  }
}

/// Summaries for which choose_encoding and the count disagree. The units of the mask forms are
/// counted once per kept count.
template <class Format, class Codec>
std::uint64_t disagreements(std::uint32_t kept, std::uint32_t const (&units)[10]) {
  constexpr bool is_bf16 = Format::element::id == bs::element_id::bf16;
  std::uint64_t count    = 0;
  for (std::uint32_t const valid : {kept, (kept + Format::values) / 2, Format::values}) {
    for (bool const any_sign : {false, true}) {
      for (std::uint32_t const span : {0u, 7u, 8u, 15u, 16u, 127u}) {
        if (span != 0 && (!is_bf16 || kept < 2)) continue;
        bs::detail::tile_summary const tile{kept, valid, span, any_sign};
        std::uint32_t const dense = (valid * Format::element::value_bits / 8 + 15) / 16;
        std::uint32_t flat = 1, flat_units = dense, elias_fano = 0, elias_fano_units = ~0u;
        for (std::uint32_t e = 2; e < 10; ++e) {
          if (!in_codec(Codec::id, e) || !can_take<Format>(e, tile)) continue;
          std::uint32_t& best       = e < 6 ? flat : elias_fano;
          std::uint32_t& best_units = e < 6 ? flat_units : elias_fano_units;
          if (units[e] < best_units) best = e, best_units = units[e];
        }
        bool const saves_enough =
            elias_fano_units < flat_units && (flat_units - elias_fano_units) * 32 >= flat_units;
        bs::detail::encoding_choice const choice = bs::detail::choose_encoding<Format, Codec>(tile);
        std::uint32_t const form                 = saves_enough ? elias_fano : flat;
        count += static_cast<std::uint32_t>(choice.form) != form;
        count += choice.units != (saves_enough ? elias_fano_units : flat_units);
      }
    }
  }
  return count;
}

template <class Format>
std::uint64_t all_disagreements() {
  std::uint64_t count = 0;
  for (std::uint32_t kept = 1; kept <= Format::values; ++kept) {
    std::uint32_t units[10] = {};
    for (std::uint32_t e = 2; e < 10; ++e) {
      units[e] = bt::reference_units(e, Format::element::value_bits, Format::values, kept);
    }
    bt::for_each_type(bs::supported_codecs{}, [&](auto codec) {
      count += disagreements<Format, decltype(codec)>(kept, units);
    });
  }
  return count;
}

constexpr bs::detail::encoding_choice chosen =
    bs::detail::choose_encoding<bs::default_format<bs::bf16>, bs::codec::sign>(
        {100, 4096, 0, false});
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
  CHECK(bs::detail::choose_encoding<f, bs::codec::sign>({1, 256, 0, false}).form ==
        bs::encoding::flat_raw);
  // All kept: flat/sign takes as much as dense.
  CHECK(bs::detail::choose_encoding<f, bs::codec::sign>({256, 256, 0, false}).form ==
        bs::encoding::dense);
}

TEST_CASE("encoding: elias_fano must save one part in 32", "[format]") {
  using f              = bs::tile_format<bs::bf16, 64, 64>;
  auto const chosen_of = [](std::uint32_t kept) {
    return bs::detail::choose_encoding<f, bs::codec::compact>({kept, f::values, 0, false});
  };
  // Of window3 values, flat and elias_fano: 99 and 95 units.
  CHECK(chosen_of(768).form == bs::encoding::elias_fano_window3);
  CHECK(chosen_of(768).units == 95);
  // 99 and 96 units, of which 3 are less than one part in 32.
  CHECK(chosen_of(769).form == bs::encoding::flat_window3);
  CHECK(chosen_of(769).units == 99);
}

TEST_CASE("encoding: an elias_fano form keeps at most 7 of 32 values", "[format]") {
  using f                   = bs::tile_format<bs::bf16, 64, 64>;
  auto const applicable_for = [](std::uint32_t kept) {
    return bs::detail::applicable_encodings<f>(0x3c0, {kept, f::values, 0, false});
  };
  CHECK(applicable_for(896) == 0x3c0);
  CHECK(applicable_for(897) == 0);
  CHECK(bs::detail::layout_of<f>(bs::encoding::elias_fano_raw, 896).stream_words == f::mask_words);
}

TEST_CASE("encoding: the lower bits are the most that leave more upper parts than values",
          "[format]") {
  auto const borders = [](auto format) {
    using f         = decltype(format);
    auto const bits = [](std::uint32_t kept) { return bs::detail::lower_bits<f>(kept); };
    for (std::uint32_t l = 4; l <= 8; ++l) {
      std::uint32_t const upper_parts = f::values >> l;
      if (upper_parts > 1) CHECK(bits(upper_parts - 1) >= l);
      CHECK(bits(upper_parts) == l - 1);
    }
    CHECK(bits(f::values) == 3);
  };
  borders(bs::tile_format<bs::bf16, 16, 16>{});
  borders(bs::tile_format<bs::bf16, 24, 32>{});
  borders(bs::tile_format<bs::bf16, 32, 128>{});
  borders(bs::tile_format<bs::fp8_e4m3, 128, 128>{});
  CHECK(bs::detail::lower_bits<bs::tile_format<bs::bf16, 16, 16>>(1) == 7);
  CHECK(bs::detail::lower_bits<bs::tile_format<bs::bf16, 32, 128>>(1) == 8);
}

TEST_CASE("encoding: every assigned number has a name and no other has", "[format]") {
  for (std::uint32_t e = 0; e < bs::num_encodings; ++e) {
    CHECK((bs::name_of(static_cast<bs::encoding>(e)) != nullptr) == (e < 10 || e == 15));
  }
}
