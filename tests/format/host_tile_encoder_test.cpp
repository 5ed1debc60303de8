// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The host encoder's bytes against a second encoder that shares no code with it, and the encodings
/// it reaches.
#include <bitsparse/format/host_tile_encoder.hpp>
#include <tests/support/catch.hpp>
#include <tests/support/reference_encoder.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

std::vector<std::uint32_t> reference_codec(bs::codec_id id) {
  if (id == bs::codec_id::fast) return {1, 2};
  if (id == bs::codec_id::sign) return {1, 2, 3};
  return {1, 2, 3, 4, 5, 6, 7, 8, 9};
}

/// Compares descriptor and chunk bytes of one tile; returns what differs, or nothing.
template <class Format, class Codec>
std::string compare_with_reference(std::vector<typename Format::bits_type> const& values,
                                   std::uint32_t valid_rows,
                                   std::uint32_t valid_cols,
                                   std::uint64_t (&seen)[16]) {
  bt::guarded_buffer chunk{bs::max_chunk_bytes<Format>()};
  bs::tile_descriptor const tile =
      bs::detail::encode_tile<Format, Codec>(values.data(), valid_rows, valid_cols, chunk.data());
  bt::reference_chunk const expected =
      bt::reference_encode({Format::element::value_bits,
                            Format::element::id == bs::element_id::bf16,
                            Format::rows,
                            Format::cols,
                            valid_rows,
                            valid_cols,
                            {values.begin(), values.end()}},
                           reference_codec(Codec::id));
  ++seen[static_cast<std::uint32_t>(tile.form())];
  std::string const where = " (" + bt::format_name<Format>() + " " + Codec::name + ", " +
                            bs::name_of(tile.form()) + ", reference " +
                            std::to_string(expected.encoding) + ")";
  if (static_cast<std::uint32_t>(tile.form()) != expected.encoding) return "encoding" + where;
  if (tile.kept() != expected.kept) return "kept" + where;
  if (tile.chunk_units() * 16 != expected.bytes.size()) return "size" + where;
  if (tile.offset_units() != 0) return "offset" + where;
  if (!expected.bytes.empty() &&
      std::memcmp(chunk.data(), expected.bytes.data(), expected.bytes.size()) != 0) {
    return "bytes" + where;
  }
  if (!chunk.guards_intact() || !chunk.is_poison(expected.bytes.size(), chunk.bytes())) {
    return "wrote behind the chunk" + where;
  }
  return {};
}

/// Random tiles of one format: densities from 0 to 1, plain and clustered, every range, full and
/// ragged.
template <class Format>
std::string compare_random_tiles(std::uint32_t num_tiles, std::uint64_t (&seen)[16]) {
  using bits_type = typename Format::bits_type;
  bt::random_bits random{Format::values * 64 + Format::cols};
  std::string fault;
  for (std::uint32_t n = 0; n < num_tiles; ++n) {
    bt::value_model model;
    model.range = static_cast<bt::value_range>(n % 4);
    model.fill  = n % 8 == 7 ? 1.0 : random.unit();
    if (n % 3 == 1) model.fill = model.fill * model.fill * model.fill;  // sparse ones
    if (n % 3 == 2) {
      model.group_values = 8u << n % 4;
      model.group_share  = random.unit() * random.unit();
    }
    bool const ragged        = n % 5 == 4;
    std::uint32_t const rows = ragged ? 1 + random.below(Format::rows) : Format::rows;
    std::uint32_t const cols = ragged ? 1 + random.below(Format::cols) : Format::cols;
    std::vector<bits_type> tile =
        bt::random_values<bits_type>(Format::values, model, random.next());
    for (std::uint32_t i = 0; i < Format::values; ++i) {
      if (i / Format::cols >= rows || i % Format::cols >= cols) tile[i] = 0;
    }
    bt::for_each_type(bs::supported_codecs{}, [&](auto codec) {
      std::string const found =
          compare_with_reference<Format, decltype(codec)>(tile, rows, cols, seen);
      if (fault.empty()) fault = found;
    });
  }
  return fault;
}

/// The encoding `compact` chooses for a tile of these values.
template <class Format>
bs::tile_descriptor compact_form(std::vector<typename Format::bits_type> const& tile) {
  std::vector<std::byte> chunk(bs::max_chunk_bytes<Format>());
  return bs::detail::encode_tile<Format, bs::codec::compact>(
      tile.data(), Format::rows, Format::cols, chunk.data());
}

/// Whether spread_tops and gather_tops are each other's reverse, and ignore what they should.
template <class Bits>
bool tops_move(bt::random_bits& random) {
  using lanes = bs::detail::group_lanes<Bits>;
  for (std::uint32_t bits = 0; bits < 1u << lanes::count; ++bits) {
    std::uint64_t expected = 0;
    for (std::uint32_t l = 0; l < lanes::count; ++l) {
      expected |= std::uint64_t{bits >> l & 1} << (lanes::bits * (l + 1) - 1);
    }
    auto const others           = static_cast<std::uint32_t>(random.next()) << lanes::count;
    std::uint64_t const low     = random.next() & ~lanes::tops;
    std::uint64_t const nonzero = expected >> (random.next() % lanes::bits);
    if (bs::detail::spread_tops<Bits>(bits | others) != expected) return false;
    if (bs::detail::gather_tops<Bits>(expected | low) != bits) return false;
    if (bs::detail::gather_tops<Bits>(bs::detail::mark_nonzero<Bits>(nonzero)) != bits)
      return false;
  }
  return true;
}

}  // namespace

TEST_CASE("host_tile_encoder: groups of values give and take their top bits", "[format]") {
  bt::random_bits random{5};
  for (int n = 0; n < 100; ++n) {
    CHECK(tops_move<std::uint8_t>(random));
    CHECK(tops_move<std::uint16_t>(random));
    CHECK(tops_move<std::uint32_t>(random));
  }
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    std::uint32_t expected = 0, set = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
      expected |= (bits >> i & 1) << (4 * i + 3);
      set += bits >> i & 1;
    }
    auto const low = static_cast<std::uint32_t>(random.next()) & 0x77777777u;
    CHECK(bs::detail::spread_nibble_tops(bits) == expected);
    CHECK(bs::detail::gather_nibble_tops(expected | low) == bits);
    CHECK(bs::detail::popcount(expected) == set);
    CHECK(bs::detail::popcount(~expected) == 32 - set);
  }
}

TEST_CASE("host_tile_encoder: bf16 chunks are the reference's, and every encoding is among them",
          "[format]") {
  std::uint64_t seen[16] = {};
  CHECK(compare_random_tiles<bs::tile_format<bs::bf16, 16, 16>>(3000, seen) == "");
  CHECK(compare_random_tiles<bs::tile_format<bs::bf16, 256, 8>>(300, seen) == "");
  CHECK(compare_random_tiles<bs::tile_format<bs::bf16, 32, 128>>(200, seen) == "");
  CHECK(compare_random_tiles<bs::tile_format<bs::bf16, 8, 1024>>(60, seen) == "");
  for (std::uint32_t e = 0; e < 16; ++e) {
    INFO("encoding " << e);
    CHECK((seen[e] != 0) == (e < 10));
  }
}

TEST_CASE("host_tile_encoder: the other elements' chunks are the reference's", "[format]") {
  std::uint64_t seen[16] = {};
  CHECK(compare_random_tiles<bs::tile_format<bs::fp16, 16, 16>>(1000, seen) == "");
  CHECK(compare_random_tiles<bs::tile_format<bs::fp16, 1, 4096>>(60, seen) == "");
  CHECK(compare_random_tiles<bs::tile_format<bs::fp32, 64, 4>>(1000, seen) == "");
  CHECK(compare_random_tiles<bs::tile_format<bs::fp32, 32, 64>>(60, seen) == "");
  CHECK(compare_random_tiles<bs::tile_format<bs::fp8_e4m3, 16, 16>>(1000, seen) == "");
  CHECK(compare_random_tiles<bs::tile_format<bs::fp8_e4m3, 32, 256>>(40, seen) == "");
  CHECK(compare_random_tiles<bs::tile_format<bs::fp8_e5m2, 1, 256>>(1000, seen) == "");
  CHECK(compare_random_tiles<bs::tile_format<bs::fp8_e5m2, 128, 128>>(20, seen) == "");
  for (std::uint32_t e = 0; e < 16; ++e) {
    INFO("encoding " << e);
    CHECK((seen[e] != 0) == (e < 4 || e == 6 || e == 7));
  }
}

TEST_CASE("host_tile_encoder: each form is chosen where it is smallest", "[format]") {
  using f         = bs::tile_format<bs::bf16, 64, 64>;
  auto const tile = [](bt::value_model const& model) {
    return bt::random_values<std::uint16_t>(f::values, model, 9);
  };
  using range = bt::value_range;
  CHECK(compact_form<f>(tile({range::any, 0.0})).form() == bs::encoding::zero);
  CHECK(compact_form<f>(tile({range::any, 1.0})).form() == bs::encoding::dense);
  CHECK(compact_form<f>(tile({range::any, 0.5})).form() == bs::encoding::flat_raw);
  CHECK(compact_form<f>(tile({range::non_negative, 0.5})).form() == bs::encoding::flat_sign);
  CHECK(compact_form<f>(tile({range::window3, 0.5})).form() == bs::encoding::flat_window3);
  CHECK(compact_form<f>(tile({range::window4, 0.5})).form() == bs::encoding::flat_window4);
  CHECK(compact_form<f>(tile({range::any, 0.01})).form() == bs::encoding::elias_fano_raw);
  CHECK(compact_form<f>(tile({range::non_negative, 1, 8, 0.1})).form() ==
        bs::encoding::elias_fano_sign);
  CHECK(compact_form<f>(tile({range::window3, 1, 8, 0.1})).form() ==
        bs::encoding::elias_fano_window3);
  CHECK(compact_form<f>(tile({range::window4, 0.05, 32, 0.2})).form() ==
        bs::encoding::elias_fano_window4);
}

TEST_CASE("host_tile_encoder: kept values carry part or all of the mask, never more", "[format]") {
  // At most one bit per value is carried and a mask has one bit per value, so that carried words
  // reach the mask stream's length only where every value is kept; Elias-Fano streams have a bit
  // more than their kept values can carry.
  using f            = bs::tile_format<bs::bf16, 64, 64>;
  auto const carried = [](std::uint32_t kept) {
    bs::chunk_layout const layout = bs::detail::layout_of<f>(bs::encoding::flat_window3, kept);
    return std::pair{layout.carried_words, layout.stream_words};
  };
  CHECK(carried(31) == std::pair{0u, 128u});
  CHECK(carried(32) == std::pair{1u, 128u});
  CHECK(carried(4095) == std::pair{127u, 128u});
  CHECK(carried(4096) == std::pair{128u, 128u});
  auto tile = bt::random_values<std::uint16_t>(f::values, {bt::value_range::window3}, 1);
  CHECK(compact_form<f>(tile).form() == bs::encoding::flat_window3);
  bt::test_matrix<bs::bf16> matrix{f::rows, f::cols};
  matrix.assign(tile);
  CHECK(bt::round_trip<f, bs::codec::compact>(matrix).fault == "");
  tile[4095] = 0;
  CHECK(compact_form<f>(tile).form() == bs::encoding::flat_window3);
  matrix.assign(tile);
  CHECK(bt::round_trip<f, bs::codec::compact>(matrix).fault == "");
}

TEST_CASE("host_tile_encoder: a tile of one value has the bytes that the format says", "[format]") {
  using f = bs::tile_format<bs::bf16, 16, 16>;
  std::vector<std::uint16_t> tile(f::values);
  tile[161] = 0x3f80;
  bt::guarded_buffer buffer{bs::max_chunk_bytes<f>()};
  auto const* const chunk = reinterpret_cast<unsigned char const*>(buffer.data());
  bs::tile_descriptor const flat =
      bs::detail::encode_tile<f, bs::codec::sign>(tile.data(), f::rows, f::cols, buffer.data());
  CHECK(flat.word() == (std::uint64_t{2} << 25 | 3));
  std::vector<unsigned char> expected(48);
  expected[0] = 0x80, expected[1] = 0x3f;  // the value, then the mask from byte 4
  expected[24] = 0x02;                     // word 5, bit 1
  CHECK(std::vector<unsigned char>(chunk, chunk + 48) == expected);

  bs::tile_descriptor const elias_fano =
      bs::detail::encode_tile<f, bs::codec::compact>(tile.data(), f::rows, f::cols, buffer.data());
  CHECK(elias_fano.word() == (std::uint64_t{6} << 25 | 1));
  expected    = std::vector<unsigned char>(16);
  expected[0] = 0x80, expected[1] = 0x3f;
  expected[4] = 0x02;  // upper part: 161 is in the second run of 128 indices
  expected[8] = 33;    // lower part, 7 bits: the 33rd of it
  CHECK(std::vector<unsigned char>(chunk, chunk + 16) == expected);
}
