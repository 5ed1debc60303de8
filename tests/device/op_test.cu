// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// compress and decompress with fused ops, for 16- and 32-bit elements.
#include <cmath>
#include <cstdint>
#include <string>

#include <tests/support/catch.hpp>
#include <tests/support/device_ops.cuh>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

using format = bs::default_format<bs::bf16>;

struct shape {
  std::uint64_t rows, cols, gap, offset;
};
// Full tiles, ragged ones, padded rows, rows that no vector fits.
constexpr shape shapes[] = {{2 * format::rows, 3 * format::cols, 0, 0},
                            {2 * format::rows + 5, format::cols + 24, 40, 0},
                            {format::rows + 3, 2 * format::cols + 7, 2, 3},
                            {1, 1, 0, 1},
                            {0, 5, 0, 0}};

/// A NaN becomes CUDA's.
float relu_of(float x) {
  return std::isnan(x) ? number_of<bs::fp32>(0x7fffffffu) : x <= 0 ? 0.0f : x;
}
float let_through(float stored, float gradient) {
  return stored <= 0 ? 0.0f : gradient;
}

/// Runs an op on all shapes, in place and not, with all rows valid and with some.
template <class Format, class Codec, class Op, class Source, class Emitted, class Reference>
std::string forward_faults(Reference reference) {
  for (shape const& s : shapes) {
    auto const source =
        random_numbers<Source>(s.rows, s.cols, -0.5f, s.rows, s.cols + s.gap, s.offset);
    for (std::uint64_t const valid : {s.rows, s.rows / 2 + 1, std::uint64_t{0}}) {
      for (bool const in_place : {false, true}) {
        if (in_place && !std::is_same_v<Source, Emitted>) continue;
        device_tensor<Format> tensor{s.rows, s.cols, bs::max_payload_bytes<Format>(s.rows, s.cols)};
        test_matrix<typename Format::element> stored{s.rows, s.cols};
        forward_case variant;
        variant.num_rows = valid;
        variant.in_place = in_place;
        variant.gap      = s.gap;
        variant.offset   = s.offset;
        std::string fault =
            forward_fault<Codec, Op, Emitted>(source, tensor, stored, variant, reference);
        if (!fault.empty())
          return fault + ", " + std::to_string(s.rows) + "x" + std::to_string(s.cols) + ", " +
                 std::to_string(valid) + " valid rows" + (in_place ? ", in place" : "");
      }
    }
  }
  return {};
}

/// Runs an op on all shapes and row ranges, in place of the gradient where that fits.
template <class Format, class Op, class First, class Gradient, class Second, class Reference>
std::string backward_faults(Reference reference) {
  using element        = typename Format::element;
  constexpr bool grads = bs::detail::is_present<Gradient>;
  for (shape const& s : shapes) {
    auto const stored = random_numbers<element>(s.rows, s.cols, -0.2f, 5 + s.rows);
    device_buffer dense{stored.buffer()};
    device_tensor<Format> tensor{s.rows, s.cols, bs::max_payload_bytes<Format>(s.rows, s.cols)};
    bs::const_matrix_view<element> const view{device_data<element>(dense), s.rows, s.cols, s.cols};
    if (!bs::compress<bs::codec::compact>(view, tensor.view(), nullptr).ok()) return "compress";
    for (std::uint64_t const first_row : {std::uint64_t{0}, std::uint64_t{Format::rows}}) {
      for (std::uint64_t const rows : {s.rows, std::uint64_t{Format::rows}}) {
        if (first_row + std::min(rows, s.rows - first_row) > s.rows || first_row > s.rows) continue;
        if (rows < s.rows && first_row + rows > s.rows) continue;
        for (int in_place = 0; in_place <= 2; ++in_place) {
          if (in_place == 1 && !(grads && std::is_same_v<First, Gradient>)) continue;
          if (in_place == 2 && !(grads && std::is_same_v<Second, Gradient>)) continue;
          for (std::uint64_t const valid : {s.rows, s.rows / 2 + 1, std::uint64_t{0}}) {
            backward_case variant;
            variant.first_row = first_row;
            variant.rows      = rows;
            variant.num_rows  = valid;
            variant.in_place  = in_place;
            variant.gap       = s.gap;
            variant.offset    = s.offset;
            std::string fault =
                backward_fault<Op, First, Gradient, Second>(tensor, stored, 1, variant, reference);
            if (!fault.empty())
              return fault + ", " + std::to_string(s.rows) + "x" + std::to_string(s.cols) +
                     ", rows from " + std::to_string(first_row) + ", " + std::to_string(valid) +
                     " valid, in place " + std::to_string(in_place);
          }
        }
      }
    }
  }
  return {};
}

/// A user's own ops.
struct leaky {
  __device__ static bs::forward_values apply(float x) { return {x > 0 ? x : 0.125f * x, x + 1}; }
};
struct leaky_gradient {
  static constexpr bool uses_gradient = true;
  static constexpr int num_results    = 1;
  __device__ static bs::backward_values apply(float s, float g) {
    return {s > 0 ? g : 0.125f * g, 0};
  }
};

}  // namespace

TEST_CASE("compress: relu and relu_squared store r and emit r or its square", "[device][op]") {
  auto const relu    = [](float x) { return two_numbers{relu_of(x), relu_of(x)}; };
  auto const squared = [](float x) { return two_numbers{relu_of(x), relu_of(x) * relu_of(x)}; };
  using sign         = bs::codec::sign;
  CHECK(forward_faults<format, sign, bs::relu, bs::bf16, bs::bf16>(relu) == "");
  CHECK(forward_faults<format, bs::codec::compact, bs::relu, bs::bf16, bs::none>(relu) == "");
  CHECK(forward_faults<format, sign, bs::relu_squared, bs::bf16, bs::bf16>(squared) == "");
  CHECK(forward_faults<format, bs::codec::compact, bs::relu_squared, bs::bf16, bs::bf16>(squared) ==
        "");
  CHECK(forward_faults<format, sign, bs::relu_squared, bs::bf16, bs::fp32>(squared) == "");
  CHECK(forward_faults<format, sign, bs::relu_squared, bs::fp32, bs::bf16>(squared) == "");
  using of_fp16 = bs::default_format<bs::fp16>;
  using of_fp32 = bs::default_format<bs::fp32>;
  CHECK(forward_faults<of_fp16, sign, bs::relu, bs::fp16, bs::fp16>(relu) == "");
  CHECK(forward_faults<of_fp16, sign, bs::relu_squared, bs::fp16, bs::fp16>(squared) == "");
  CHECK(forward_faults<of_fp32, sign, bs::relu_squared, bs::fp32, bs::fp32>(squared) == "");
  CHECK(forward_faults<of_fp32, sign, bs::relu, bs::bf16, bs::none>(relu) == "");
}

TEST_CASE("compress: square_of_relu, identity with other elements, a user's op", "[device][op]") {
  using sign           = bs::codec::sign;
  auto const root_form = [](float x) {
    return two_numbers{relu_of(x) * relu_of(x), relu_of(x) * relu_of(x)};
  };
  auto const same = [](float x) { return two_numbers{x, x}; };
  CHECK(forward_faults<format, sign, bs::square_of_relu, bs::bf16, bs::bf16>(root_form) == "");
  CHECK(forward_faults<format, sign, bs::identity, bs::fp32, bs::none>(same) == "");
  CHECK(forward_faults<format, sign, bs::identity, bs::bf16, bs::fp16>(same) == "");
  CHECK(forward_faults<format, bs::codec::fast, leaky, bs::bf16, bs::bf16>([](float x) {
          return two_numbers{x > 0 ? x : 0.125f * x, x + 1};
        }) == "");
}

TEST_CASE("decompress: gradients of bf16, fp16 and fp32, row ranges, in place", "[device][op]") {
  auto const relu_gradient    = [](float s, float g) { return two_numbers{let_through(s, g), 0}; };
  auto const squared_gradient = [](float s, float g) {
    return two_numbers{let_through(s, 2 * s * g), 0};
  };
  using b = bs::bf16;
  using n = bs::none;
  CHECK(backward_faults<format, bs::relu_gradient, b, b, n>(relu_gradient) == "");
  CHECK(backward_faults<format, bs::relu_squared_gradient, b, b, n>(squared_gradient) == "");
  CHECK(backward_faults<format, bs::relu_squared_gradient, b, bs::fp16, n>(squared_gradient) == "");
  CHECK(backward_faults<format, bs::relu_squared_gradient, bs::fp32, bs::fp32, n>(
            squared_gradient) == "");
  CHECK(backward_faults<format, leaky_gradient, b, b, n>([](float s, float g) {
          return two_numbers{s > 0 ? g : 0.125f * g, 0};
        }) == "");
}

TEST_CASE("decompress: square, root, and both results in one pass", "[device][op]") {
  using b = bs::bf16;
  using n = bs::none;
  CHECK(backward_faults<format, bs::square, b, n, n>([](float s, float) {
          return two_numbers{s * s, 0};
        }) == "");
  CHECK(backward_faults<format, bs::square_root, b, n, n>([](float s, float) {
          return two_numbers{std::sqrt(s), 0};
        }) == "");
  CHECK(backward_faults<format, bs::identity, bs::fp32, n, n>([](float s, float) {
          return two_numbers{s, 0};
        }) == "");
  CHECK(backward_faults<format, bs::square_and_gradient, b, b, b>([](float s, float g) {
          return two_numbers{s * s, let_through(s, 2 * s * g)};
        }) == "");
  CHECK(backward_faults<format, bs::value_and_relu_gradient, b, b, b>([](float s, float g) {
          return two_numbers{s, let_through(s, g)};
        }) == "");
  CHECK(backward_faults<format, bs::value_and_root_gradient, b, b, bs::fp32>([](float s, float g) {
          return two_numbers{s, let_through(s, 2 * std::sqrt(s) * g)};
        }) == "");
  using of_fp32 = bs::default_format<bs::fp32>;
  CHECK(backward_faults<of_fp32, bs::square_and_gradient, bs::fp32, bs::bf16, bs::fp32>(
            [](float s, float g) {
              return two_numbers{s * s, let_through(s, 2 * s * g)};
            }) == "");
}

TEST_CASE("decompress: transposed and both ways", "[device][op]") {
  using b = bs::bf16;
  using n = bs::none;
  CHECK(backward_faults<format, bs::identity, bs::transposed<b>, n, n>([](float s, float) {
          return two_numbers{s, 0};
        }) == "");
  CHECK(backward_faults<format, bs::square_and_gradient, bs::transposed<b>, b, bs::both_ways<b>>(
            [](float s, float g) {
              return two_numbers{s * s, let_through(s, 2 * s * g)};
            }) == "");
  using of_fp32 = bs::default_format<bs::fp32>;
  CHECK(backward_faults<of_fp32, bs::square, bs::both_ways<bs::fp32>, n, n>([](float s, float) {
          return two_numbers{s * s, 0};
        }) == "");
}

TEST_CASE("decompress: a lost tile is NaN in every result, whatever the op", "[device][op]") {
  auto const source = random_numbers<bs::bf16>(format::rows, 3 * format::cols, 1, 3);
  device_buffer dense{source.buffer()};
  device_tensor<format> tensor{source.rows(), source.cols(), 0};  // no room for any chunk
  bs::const_matrix_view<bs::bf16> const from{
      device_data<bs::bf16>(dense), source.rows(), source.cols(), source.ld()};
  REQUIRE(bs::compress<bs::codec::sign>(from, tensor.view(), nullptr).ok());
  for (std::uint64_t const offset : {0, 1}) {
    test_matrix<bs::bf16> first{source.rows(), source.cols(), 0, offset};
    test_matrix<bs::fp32> second{source.rows(), source.cols(), 0, offset};
    device_buffer first_device{first.buffer()}, second_device{second.buffer()};
    bs::decompress_operands<bs::bf16, bs::bf16, bs::fp32> operands;
    operands.first    = {device_data<bs::bf16>(first_device), from.rows, from.cols, from.ld};
    operands.gradient = from;
    operands.second   = {device_data<bs::fp32>(second_device), from.rows, from.cols, from.ld};
    REQUIRE(bs::decompress<bs::value_and_relu_gradient>(tensor.view(), operands, nullptr).ok());
    bring_back(first, first_device);
    bring_back(second, second_device);
    std::uint64_t numbers = 0;
    for (std::uint64_t r = 0; r < first.rows(); ++r) {
      for (std::uint64_t c = 0; c < first.cols(); ++c) {
        numbers += !std::isnan(number_of<bs::bf16>(first.at(r, c)));
        numbers += !std::isnan(number_of<bs::fp32>(second.at(r, c)));
      }
    }
    CHECK(numbers == 0);
    CHECK(first.surroundings_intact());
    CHECK(second.surroundings_intact());
  }
  CHECK((tensor.state().conditions &
         static_cast<std::uint32_t>(bs::device_condition::lost_tile_read)) != 0);
}

TEST_CASE("compress and decompress: operands that do not fit are refused with the reason",
          "[device][op]") {
  device_tensor<format> tensor{64, 128, 64 * 128 * 2};
  device_buffer a{64 * 128 * 2}, b{64 * 128 * 2}, scale{4};
  auto* const x         = device_data<bs::bf16>(a);
  auto* const y         = device_data<bs::bf16>(b);
  auto const compressed = [&](bs::compress_operands<bs::bf16, bs::bf16> const& operands) {
    return std::string{
        bs::compress<bs::codec::sign, bs::relu>(operands, tensor.view(), nullptr).text()};
  };
  bs::compress_operands<bs::bf16, bs::bf16> good;
  good.source  = {x, 64, 128, 128};
  good.emitted = {y, 64, 128, 128};
  auto bad     = good;
  bad.emitted  = {y, 64, 120, 128};
  CHECK(compressed(bad) == "emitted: its rows x columns are not the compressed tensor's");
  bad         = good;
  bad.emitted = {x + 128, 64, 128, 128};
  CHECK(compressed(bad).find("two of them overlap") != std::string::npos);
  bad       = good;
  bad.scale = reinterpret_cast<float const*>(scale.data());
  CHECK(compressed(bad) == bs::detail::scale_text);
  bad        = good;
  bad.source = {x, 63, 128, 128};
  CHECK(compressed(bad) == bs::detail::target_shape_text);

  REQUIRE(bs::compress<bs::codec::sign, bs::relu>(good, tensor.view(), nullptr).ok());
  auto const restored = [&](bs::decompress_operands<bs::bf16, bs::bf16> const& operands) {
    return std::string{bs::decompress<bs::relu_gradient>(tensor.view(), operands, nullptr).text()};
  };
  bs::decompress_operands<bs::bf16, bs::bf16> fine;
  fine.first      = {x, 32, 128, 128};
  fine.gradient   = {y, 32, 128, 128};
  auto wrong      = fine;
  wrong.first_row = 16;
  CHECK(restored(wrong).find("does not begin with a tile") != std::string::npos);
  wrong           = fine;
  wrong.first_row = 64;
  CHECK(restored(wrong).find("beyond") != std::string::npos);
  wrong            = fine;
  wrong.first.rows = wrong.gradient.rows = 31;
  CHECK(restored(wrong).find("ends within a tile") != std::string::npos);
  wrong          = fine;
  wrong.gradient = {y, 64, 128, 128};
  CHECK(restored(wrong).find("gradient:") != std::string::npos);
  wrong             = fine;
  wrong.first_scale = reinterpret_cast<float const*>(scale.data());
  CHECK(restored(wrong) == bs::detail::scale_text);
}
