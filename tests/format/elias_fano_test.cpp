// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The elias_fano forms: their bytes against the reference at every border, whichever form a codec
/// would choose, and mask streams that no encoder writes.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <bitsparse/format/host_tile_decoder.hpp>
#include <bitsparse/format/host_tile_encoder.hpp>
#include <tests/support/catch.hpp>
#include <tests/support/reference_encoder.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

using indices = std::vector<std::uint32_t>;

// -------------------------------------------------------------------------------------------------
// Where kept values lie
// -------------------------------------------------------------------------------------------------

indices run(std::uint32_t first, std::uint32_t count) {
  indices places;
  for (std::uint32_t k = 0; k < count; ++k) places.push_back(first + k);
  return places;
}

/// The k-th of `count` equal pieces of the tile, at its end: the last is the tile's last index.
indices spread(std::uint32_t tile_values, std::uint32_t count) {
  indices places;
  for (std::uint32_t k = 1; k <= count; ++k) places.push_back(tile_values * k / count - 1);
  return places;
}

indices random_places(std::uint32_t tile_values, std::uint32_t count, bt::random_bits& random) {
  std::set<std::uint32_t> places;
  while (places.size() < count) places.insert(random.below(tile_values));
  return {places.begin(), places.end()};
}

// -------------------------------------------------------------------------------------------------
// One tile in a form that is given
// -------------------------------------------------------------------------------------------------

template <class Format>
struct coded_tile {
  bs::tile_descriptor descriptor;
  bt::guarded_buffer chunk;

  bs::status decode(std::vector<typename Format::bits_type>& tile) const {
    return bs::detail::decode_tile<Format>(
        descriptor, chunk.data(), Format::rows, Format::cols, tile.data());
  }
};

template <class Format>
std::vector<typename Format::bits_type> tile_at(indices const& places) {
  using bits_type = typename Format::bits_type;
  bt::random_bits random{places.size()};
  std::vector<bits_type> tile(Format::values);
  for (std::uint32_t const i : places) {
    tile[i] = bt::random_nonzero<bits_type>(random, bt::value_range::window3, 0x3a);
  }
  return tile;
}

template <class Format>
coded_tile<Format> encode_as(bs::encoding e,
                             std::vector<typename Format::bits_type> const& tile,
                             indices const& places) {
  auto const kept = static_cast<std::uint32_t>(places.size());
  std::vector<typename Format::bits_type> values;
  for (std::uint32_t const i : places) values.push_back(tile[i]);
  std::vector<std::uint16_t> listed(places.begin(), places.end());
  listed.resize(Format::values);
  std::uint32_t stream[bs::detail::stream_room<Format>];
  bs::detail::make_elias_fano<Format>(listed.data(), kept, stream);
  bs::chunk_layout const layout = bs::detail::layout_of<Format>(e, kept);
  coded_tile<Format> coded{{e, kept, layout.units(), 0},
                           bt::guarded_buffer{layout.units() * std::size_t{16}, 0, 0}};
  bs::detail::write_mask_form<Format>(e, layout, values.data(), kept, stream, coded.chunk.data());
  return coded;
}

/// Compares a tile's chunk in every elias_fano form with the reference's, and decodes it; returns
/// what is wrong, or nothing.
template <class Format>
std::string check_forms(indices const& places) {
  constexpr bool is_bf16 = Format::element::id == bs::element_id::bf16;
  auto const tile        = tile_at<Format>(places);
  for (std::uint32_t e = 6; e < (is_bf16 ? 10u : 8u); ++e) {
    coded_tile<Format> const coded = encode_as<Format>(static_cast<bs::encoding>(e), tile, places);
    std::vector<unsigned char> const expected =
        bt::reference_bytes(bt::reference_bits({Format::element::value_bits,
                                                is_bf16,
                                                Format::rows,
                                                Format::cols,
                                                Format::rows,
                                                Format::cols,
                                                {tile.begin(), tile.end()}},
                                               e));
    std::string const where = " (" + bt::format_name<Format>() + ", encoding " + std::to_string(e) +
                              ", " + std::to_string(places.size()) + " kept from " +
                              std::to_string(places.front()) + ")";
    if (expected.size() != coded.chunk.bytes()) return "size" + where;
    if (std::memcmp(coded.chunk.data(), expected.data(), expected.size()) != 0)
      return "bytes" + where;
    if (!coded.chunk.guards_intact()) return "wrote behind the chunk" + where;
    std::vector<typename Format::bits_type> restored(Format::values, 1);
    if (bs::status const decoded = coded.decode(restored); !decoded.ok())
      return decoded.text() + where;
    if (restored != tile) return "values" + where;
  }
  return {};
}

template <class Format>
void check_borders(std::set<std::uint32_t>& seen_bits) {
  constexpr std::uint32_t values = Format::values, most = values * 7 / 32;
  std::set<std::uint32_t> counts{1, 7, 8, 9, 31, 32, 33, most - 1, most};
  for (std::uint32_t bits = 3; bits <= 8; ++bits) {
    std::uint32_t const border = values >> bits;
    counts.insert({border - 1, border, border + 1});
  }
  bt::random_bits random{values};
  for (std::uint32_t const kept : counts) {
    if (kept == 0 || kept > most) continue;
    seen_bits.insert(bs::detail::lower_bits<Format>(kept));
    CHECK(check_forms<Format>(run(0, kept)) == "");
    CHECK(check_forms<Format>(run(values - kept, kept)) == "");
    CHECK(check_forms<Format>(spread(values, kept)) == "");
    CHECK(check_forms<Format>(random_places(values, kept, random)) == "");
  }
  indices one_per_mask_byte;
  for (std::uint32_t byte = 0; byte < values / 8; ++byte) {
    one_per_mask_byte.push_back(8 * byte + random.below(8));
  }
  CHECK(check_forms<Format>(one_per_mask_byte) == "");
  if (Format::cols <= most) {
    CHECK(check_forms<Format>(run(Format::rows / 2 * Format::cols, Format::cols)) == "");
  }
}

// -------------------------------------------------------------------------------------------------
// Streams that no encoder writes
// -------------------------------------------------------------------------------------------------

using f = bs::tile_format<bs::bf16, 16, 32>;

/// A tile of five values as elias_fano/raw. 6 lower bits: the upper part has 5 + 8 bits, the lower
/// part the values' indices mod 64.
class damaged_tile {
 public:
  damaged_tile()
      : coded_(encode_as<f>(bs::encoding::elias_fano_raw, tile_at<f>(places), places)),
        layout_(bs::detail::layout_of<f>(bs::encoding::elias_fano_raw, 5)) {}

  std::uint32_t upper() { return bs::detail::load<std::uint32_t>(word(0)); }
  std::uint32_t lower() { return bs::detail::load<std::uint32_t>(word(1)); }
  std::string with_upper(std::uint32_t bits) { return with(0, bits); }
  std::string with_lower(std::uint32_t bits) { return with(1, bits); }

 private:
  static inline indices const places{3, 70, 71, 200, 511};

  std::byte* word(std::uint32_t index) {
    return coded_.chunk.data() + layout_.mask_offset + 4 * index;
  }
  std::string with(std::uint32_t index, std::uint32_t bits) {
    std::uint32_t const before = bs::detail::load<std::uint32_t>(word(index));
    bs::detail::store(word(index), bits);
    std::vector<std::uint16_t> tile(f::values);
    std::string const text = coded_.decode(tile).text();
    bs::detail::store(word(index), before);
    return text;
  }

  coded_tile<f> coded_;
  bs::chunk_layout layout_;
};

constexpr char const* wrong_count = "chunk: its mask does not have as many bits set as values kept";
constexpr char const* wrong_place = "chunk: its values' places do not rise, or leave the tile";

}  // namespace

TEST_CASE("elias_fano: chunks are the reference's for every number of lower bits and its borders",
          "[format][elias_fano]") {
  std::set<std::uint32_t> bits;
  check_borders<bs::tile_format<bs::bf16, 16, 16>>(bits);
  check_borders<bs::tile_format<bs::bf16, 24, 32>>(bits);  // not a power of 2
  check_borders<bs::tile_format<bs::bf16, 32, 128>>(bits);
  CHECK(bits == std::set<std::uint32_t>{3, 4, 5, 6, 7, 8});
}

TEST_CASE("elias_fano: the other elements' chunks are the reference's", "[format][elias_fano]") {
  std::set<std::uint32_t> bits;
  check_borders<bs::tile_format<bs::fp16, 256, 8>>(bits);
  check_borders<bs::tile_format<bs::fp32, 32, 64>>(bits);
  check_borders<bs::tile_format<bs::fp8_e4m3, 1, 4096>>(bits);
  check_borders<bs::tile_format<bs::fp8_e5m2, 128, 128>>(bits);
}

TEST_CASE("elias_fano: more kept values than the form allows is corrupt", "[format][elias_fano]") {
  for (std::uint32_t e = 6; e < 10; ++e) {
    auto const form           = static_cast<bs::encoding>(e);
    std::uint32_t const kept  = f::values / 32 * 7 + 1;
    std::uint32_t const units = bs::detail::layout_of<f>(form, kept).units();
    bt::guarded_buffer const chunk{units * std::size_t{16}};
    std::vector<std::uint16_t> tile(f::values);
    bs::status const decoded = bs::detail::decode_tile<f>(
        {form, kept, units, 0}, chunk.data(), f::rows, f::cols, tile.data());
    CHECK(decoded.code() == bs::status_code::corrupt);
    CHECK(std::string{decoded.text()} ==
          "directory: a tile keeps more values than its encoding can");
  }
}

TEST_CASE("elias_fano: an upper part with too many or too few bits set is corrupt",
          "[format][elias_fano]") {
  damaged_tile tile;
  std::uint32_t const upper = tile.upper();
  REQUIRE(upper == (1u << 0 | 1u << 2 | 1u << 3 | 1u << 6 | 1u << 11));
  CHECK(tile.with_upper(upper) == "ok");
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    CHECK(tile.with_upper(upper ^ 1u << bit) == wrong_count);
  }
  CHECK(tile.with_upper(0) == wrong_count);
  CHECK(tile.with_upper(~0u) == wrong_count);
}

TEST_CASE("elias_fano: an index past the tile is corrupt", "[format][elias_fano]") {
  damaged_tile tile;
  std::uint32_t const all_but_last = tile.upper() & ~(1u << 11);
  CHECK(tile.with_upper(all_but_last | 1u << 10) == "ok");         // 447 instead of 511
  CHECK(tile.with_upper(all_but_last | 1u << 12) == wrong_place);  // 575, in the upper part
  CHECK(tile.with_upper(all_but_last | 1u << 13) == wrong_place);  // in the padding
  CHECK(tile.with_upper(all_but_last | 1u << 31) == wrong_place);
  CHECK(tile.with_upper(0xf8000000u) == wrong_place);
}

TEST_CASE("elias_fano: indices that do not rise are corrupt", "[format][elias_fano]") {
  damaged_tile tile;
  std::uint32_t const lower  = tile.lower();
  std::uint32_t const others = lower & ~(0xfffu << 6);  // all but 70 and 71
  REQUIRE(lower == (others | 6u << 6 | 7u << 12));
  CHECK(tile.with_lower(others | 0u << 6 | 63u << 12) == "ok");
  CHECK(tile.with_lower(others | 7u << 6 | 6u << 12) == wrong_place);  // swapped
  CHECK(tile.with_lower(others | 6u << 6 | 6u << 12) == wrong_place);  // the same twice
}
