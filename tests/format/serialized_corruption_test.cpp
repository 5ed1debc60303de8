// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Damaged serialised tensors: every bit flipped, every truncation, bytes appended. Once as they
/// are, when the checksums catch all, and once with the checksums made to fit, when the validator
/// has to.
#include <string>

#include <tests/support/catch.hpp>
#include <tests/support/round_trip.hpp>
#include <tests/support/serialized_bytes.hpp>
#include <tests/support/values.hpp>

namespace bs = bitsparse;
namespace bt = bitsparse_test;

namespace {

template <class Element>
using small_format = bs::tile_format<Element, 16, 16>;

/// 3 x 4 tiles, the last ones ragged, of as many encodings as the codec has for the element.
template <class Element>
bt::test_matrix<Element> mixed_matrix() {
  using bits_type = typename Element::bits_type;
  using range     = bt::value_range;
  struct tile_model {
    bt::value_model values;
    std::size_t prefix = 256;  // values behind it are 0
  };
  // bf16 with compact takes the encodings named here.
  tile_model const models[12] = {
      {{range::window3}, 42},           // elias_fano/window3
      {{range::window4}, 24},           // elias_fano/window4
      {{range::non_negative}, 32},      // elias_fano/sign
      {{range::any, 0.5}},              // flat/raw
      {{range::window3, 0.6}},          // flat/window3
      {{range::window4, 0.5}},          // flat/window4
      {{range::non_negative, 0.4}},     // flat/sign
      {{range::any, 0.9}},              // dense
      {{range::any, 0.1}},              // elias_fano/raw
      {{range::any}},                   // dense
      {{range::any, 0.0}},              // zero
      {{range::non_negative, 0.6, 2}},  // elias_fano/raw
  };
  bt::test_matrix<Element> matrix{34, 54};
  for (std::uint64_t tile = 0; tile < 12; ++tile) {
    auto values = bt::random_values<bits_type>(256, models[tile].values, 40 + tile);
    std::fill(values.begin() + static_cast<std::ptrdiff_t>(models[tile].prefix),
              values.end(),
              bits_type{0});
    std::uint64_t const first_row = tile / 4 * 16, first_col = tile % 4 * 16;
    for (std::uint64_t r = first_row; r < std::min<std::uint64_t>(34, first_row + 16); ++r) {
      for (std::uint64_t c = first_col; c < std::min<std::uint64_t>(54, first_col + 16); ++c) {
        matrix.at(r, c) = values[r % 16 * 16 + c % 16];
      }
    }
  }
  return matrix;
}

template <class Format>
bool is_rejected(bt::byte_string const& bytes) {
  bs::const_compressed_view<Format> tensor;
  bs::status const status = bs::host::open_serialized<Format>(bytes.data(), bytes.size(), tensor);
  return !status.ok() && std::string{status.text()} != "ok" && tensor.directory == nullptr;
}

/// Bytes that were accepted must be those that their own values serialise to.
template <class Format>
bool is_canonical(bt::byte_string const& bytes, bs::const_compressed_view<Format> tensor) {
  using element = typename Format::element;
  std::vector<typename Format::bits_type> values(tensor.rows * tensor.cols);
  bs::matrix_view<element> const matrix{values.data(), tensor.rows, tensor.cols, tensor.cols};
  if (!bs::host::decompress<Format>(tensor, matrix).ok()) return false;
  bs::serialized_info info{};
  bool same = false;
  bs::status const visited =
      bs::host::read_header(bytes.data(), bytes.size(), info).ok()
          ? bs::visit_codec(info.codec,
                            [&](auto codec) {
                              same = bt::serialize<Format, decltype(codec)>(matrix) == bytes;
                              return bs::status{};
                            })
          : bs::status{bs::status_code::corrupt, "no header"};
  return visited.ok() && same;
}

/// Decompresses directory and payload from exactly allocated buffers, unvalidated: whatever comes
/// out, the target's surroundings stay as they were.
template <class Format>
bool decompresses_in_bounds(bt::byte_string const& bytes, std::uint64_t rows, std::uint64_t cols) {
  std::uint64_t const tiles = bs::num_tiles<Format>(rows, cols);
  std::vector<bs::tile_descriptor> directory(tiles);
  std::memcpy(directory.data(), bytes.data() + 64, tiles * 8);
  bt::byte_string const payload(
      bytes.begin() + static_cast<std::ptrdiff_t>(64 + (tiles + tiles % 2) * 8), bytes.end());
  bt::test_matrix<typename Format::element> target{rows, cols};
  bs::status const status = bs::host::decompress<Format>(
      bs::const_compressed_view<Format>{
          rows, cols, directory.data(), payload.data(), payload.size()},
      target.view());
  return target.surroundings_intact() &&
         (status.ok() || status.code() == bs::status_code::corrupt ||
          status.code() == bs::status_code::tile_lost);
}

using elements = bs::type_list<bs::bf16, bs::fp16, bs::fp32, bs::fp8_e4m3, bs::fp8_e5m2>;

/// Calls visit(format, codec, bytes, matrix) for every element with the codecs sign and compact.
template <class Visit>
void for_each_tensor(Visit visit) {
  bt::for_each_type(elements{}, [&](auto element) {
    using element_type = decltype(element);
    using format       = small_format<element_type>;
    auto const matrix  = mixed_matrix<element_type>();
    bt::for_each_type(bs::type_list<bs::codec::sign, bs::codec::compact>{}, [&](auto codec) {
      INFO(bt::format_name<format>() << " " << decltype(codec)::name);
      visit(format{}, codec, bt::serialize<format, decltype(codec)>(matrix.view()));
    });
  });
}

}  // namespace

TEST_CASE("serialized: the damaged tensors have every encoding of their codec",
          "[format][serialized]") {
  auto const matrix  = mixed_matrix<bs::bf16>();
  auto const compact = bt::round_trip<small_format<bs::bf16>, bs::codec::compact>(matrix);
  CHECK(compact.fault == "");
  for (std::uint32_t e = 0; e < 10; ++e) {
    INFO("encoding " << bs::name_of(static_cast<bs::encoding>(e)));
    CHECK(compact.tiles[e] != 0);
  }
  auto const sign = bt::round_trip<small_format<bs::bf16>, bs::codec::sign>(matrix);
  CHECK(sign.of(bs::encoding::flat_sign) != 0);
}

TEST_CASE("serialized: every flipped bit is rejected", "[format][serialized]") {
  for_each_tensor([](auto format, auto, bt::byte_string bytes) {
    using f = decltype(format);
    REQUIRE_FALSE(is_rejected<f>(bytes));
    std::uint64_t accepted = 0;
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
      accepted += !is_rejected<f>(bytes);
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
    }
    CHECK(accepted == 0);
  });
}

TEST_CASE("serialized: every truncation and every byte appended is rejected",
          "[format][serialized]") {
  for_each_tensor([](auto format, auto, bt::byte_string const& bytes) {
    using f                = decltype(format);
    std::uint64_t accepted = 0;
    for (bool const sealed : {false, true}) {
      for (std::size_t size = 0; size < bytes.size() + 64; ++size) {
        if (size == bytes.size()) continue;
        bt::byte_string changed(
            bytes.begin(),
            bytes.begin() + static_cast<std::ptrdiff_t>(std::min(size, bytes.size())));
        changed.resize(size);
        bt::byte_string tight(changed.begin(), changed.end());
        if (sealed) bt::reseal(tight);
        accepted += !is_rejected<f>(tight);
      }
    }
    CHECK(accepted == 0);
  });
}

TEST_CASE("serialized: a flipped bit behind good checksums is rejected or other values",
          "[format][serialized]") {
  for_each_tensor([](auto format, auto, bt::byte_string const& bytes) {
    using f                = decltype(format);
    std::uint64_t accepted = 0, rejected = 0, wrong = 0;
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bt::byte_string changed = bytes;
      changed[bit / 8] ^= std::byte{1} << bit % 8;
      bt::reseal(changed);
      if (changed == bytes) continue;  // the bit was one of a checksum
      bs::const_compressed_view<f> tensor;
      bs::status const status =
          bs::host::open_serialized<f>(changed.data(), changed.size(), tensor);
      if (status.ok()) {
        ++accepted;
        wrong += !is_canonical<f>(changed, tensor);
      } else {
        ++rejected;
        wrong += std::string{status.text()}.empty() || tensor.directory != nullptr;
      }
      if (bit >= 64 * 8) wrong += !decompresses_in_bounds<f>(changed, 34, 54);
    }
    CHECK(wrong == 0);
    CHECK(accepted > 100);
    CHECK(rejected > 1000);
  });
}

TEST_CASE("serialized: bytes overwritten at random are rejected or decode within bounds",
          "[format][serialized]") {
  for_each_tensor([](auto format, auto, bt::byte_string const& bytes) {
    using f = decltype(format);
    bt::random_bits random{99};
    std::uint64_t wrong = 0;
    for (int n = 0; n < 2000; ++n) {
      bt::byte_string changed = bytes;
      for (std::uint32_t i = 1 + random.below(8); i > 0; --i) {
        std::size_t const at = n % 2 == 0 ? 64 + random.below(96)
                                          : random.below(static_cast<std::uint32_t>(bytes.size()));
        changed[at]          = static_cast<std::byte>(random.next());
      }
      bt::reseal(changed);
      bs::const_compressed_view<f> tensor;
      if (bs::host::open_serialized<f>(changed.data(), changed.size(), tensor).ok()) {
        wrong += !is_canonical<f>(changed, tensor);
      }
      wrong += !decompresses_in_bounds<f>(changed, 34, 54);
    }
    CHECK(wrong == 0);
  });
}
