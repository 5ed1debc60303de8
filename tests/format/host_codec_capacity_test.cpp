// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A payload that is too small: what did not fit is reported with the exact need, reads as NaN, and
/// nothing is written outside.
#include <tests/support/catch.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

/// Compresses into a payload of `payload_bytes` and checks each promise; returns the first fault.
template <class Format, class Codec>
std::string check_capacity(bt::test_matrix<typename Format::element> const& source,
                           std::uint64_t need,
                           std::uint64_t payload_bytes) {
  using element = typename Format::element;
  bt::test_tensor<Format> tensor{source.rows(), source.cols(), payload_bytes};
  std::uint64_t needed_bytes = 0;
  bs::status const compressed =
      bs::host::compress<Format, Codec>(source.view(), tensor.view(), needed_bytes);
  bool const fits = payload_bytes / 16 * 16 >= need;
  if (compressed.code() != (fits ? bs::status_code::ok : bs::status_code::capacity_exceeded)) {
    return "compress: wrong status";
  }
  if (needed_bytes != need) return "compress: needed_bytes is wrong";
  if (!tensor.guards_intact()) return "compress: wrote outside";
  std::uint64_t used = 0;
  for (std::uint64_t i = 0; i < tensor.num_tiles(); ++i) {
    bs::tile_descriptor const tile = tensor.tile(i);
    if (tile.form() == bs::encoding::lost &&
        (tile.chunk_units() != 0 || tile.offset_units() != 0)) {
      return "compress: a lost tile has a chunk";
    }
    used += tile.chunk_units() * std::uint64_t{16};
  }
  if (!tensor.payload().is_poison(used, payload_bytes)) return "compress: wrote behind the chunks";

  bt::test_matrix<element> restored{source.rows(), source.cols(), source.cols() + 3, 1};
  bs::status const decompressed = bs::host::decompress<Format>(tensor.view(), restored.view());
  if (decompressed.code() != (fits ? bs::status_code::ok : bs::status_code::tile_lost)) {
    return "decompress: wrong status";
  }
  if (!restored.surroundings_intact()) return "decompress: wrote outside";
  std::uint64_t lost = 0, wrong = 0;
  std::uint64_t const tiles_per_row = (source.cols() + Format::cols - 1) / Format::cols;
  for (std::uint64_t r = 0; r < source.rows(); ++r) {
    for (std::uint64_t c = 0; c < source.cols(); ++c) {
      std::uint64_t const index = r / Format::rows * tiles_per_row + c / Format::cols;
      bool const is_lost        = tensor.tile(index).form() == bs::encoding::lost;
      lost += is_lost;
      wrong += restored.at(r, c) != (is_lost ? element::quiet_nan : source.at(r, c));
    }
  }
  if ((lost == 0) != fits) return "no tile, or a tile that fitted, is lost";
  return wrong == 0 ? "" : "a value is neither what it was nor NaN";
}

}  // namespace

TEST_CASE("host_codec: each payload size below the need loses tiles, and says so", "[format]") {
  using formats = bs::type_list<bs::tile_format<bs::bf16, 16, 16>,
                                bs::tile_format<bs::fp16, 16, 16>,
                                bs::tile_format<bs::fp32, 16, 16>,
                                bs::tile_format<bs::fp8_e4m3, 16, 16>,
                                bs::tile_format<bs::fp8_e5m2, 1, 256>>;
  bt::for_each_type(formats{}, [&](auto format) {
    using f = decltype(format);
    bt::test_matrix<typename f::element> matrix{2 * f::rows + 1, 2 * f::cols + 3};
    matrix.assign(bt::random_values<typename f::bits_type>(
        matrix.rows() * matrix.cols(), {bt::value_range::any, 0.3}, 11));
    for (std::uint64_t c = 0; c < f::cols; ++c) {
      for (std::uint64_t r = 0; r < f::rows; ++r) matrix.at(r, f::cols + c) = 0;  // a zero tile
    }
    std::uint64_t const need = bt::round_trip<f, bs::codec::sign>(matrix).chunk_bytes;
    std::string fault;
    for (std::uint64_t bytes = 0; bytes <= need + 32; bytes += bytes % 16 == 0 ? 15 : 1) {
      std::string const found = check_capacity<f, bs::codec::sign>(matrix, need, bytes);
      if (!found.empty()) fault = found + " at " + std::to_string(bytes) + " bytes";
    }
    INFO(bt::format_name<f>());
    CHECK(need > 0);
    CHECK(fault == "");
  });
}

TEST_CASE("host_codec: a null payload of no bytes loses all tiles but the zero ones", "[format]") {
  using f = bs::tile_format<bs::bf16, 16, 16>;
  bt::test_matrix<bs::bf16> matrix{16, 32};
  matrix.set_zero();
  bs::tile_descriptor directory[2];
  bs::compressed_view<f> const tensor{16, 32, directory, nullptr, 0};
  std::uint64_t needed_bytes = 1;
  CHECK(bs::host::compress<f, bs::codec::sign>(matrix.view(), tensor, needed_bytes).ok());
  CHECK(needed_bytes == 0);
  matrix.at(0, 20) = 1;
  bs::status const compressed =
      bs::host::compress<f, bs::codec::sign>(matrix.view(), tensor, needed_bytes);
  CHECK(compressed.code() == bs::status_code::capacity_exceeded);
  CHECK(needed_bytes == 48);
  CHECK(directory[0].word() == 0);
  CHECK(directory[1].form() == bs::encoding::lost);
  CHECK(directory[1].kept() == 1);
  CHECK(bs::host::decompress<f>(tensor, matrix.view()).code() == bs::status_code::tile_lost);
  CHECK(matrix.at(15, 15) == 0);
  CHECK(matrix.at(15, 16) == bs::bf16::quiet_nan);
}

TEST_CASE("host_codec: zero tiles behind lost ones stay zero", "[format]") {
  using f = bs::tile_format<bs::bf16, 16, 16>;
  bt::test_matrix<bs::bf16> matrix{16, 48};
  matrix.set_zero();
  matrix.at(0, 0)  = 7;
  matrix.at(0, 40) = 7;
  CHECK(check_capacity<f, bs::codec::sign>(matrix, 96, 0) == "");
  CHECK(check_capacity<f, bs::codec::sign>(matrix, 96, 95) == "");
  CHECK(check_capacity<f, bs::codec::sign>(matrix, 96, 96) == "");
}
