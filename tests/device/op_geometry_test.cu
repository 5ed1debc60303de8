// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Fused ops on tiles of other geometries than the default, where threads are more than vectors, rows
/// are not a power of two of them, or transposed matrices are not aligned.
#include <cmath>
#include <cstdint>
#include <string>

#include <bitsparse/device/report.cuh>
#include <tests/support/catch.hpp>
#include <tests/support/device_ops.cuh>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

two_numbers squared_and_gradient(float s, float g) {
  return {s * s, s <= 0 ? 0.0f : 2 * s * g};
}

/// Forward from bf16 and back, with results in both orientations, at three shapes.
template <class Format, class Turned>
std::string geometry_fault() {
  std::uint64_t const rows = Format::rows, cols = Format::cols;
  std::uint64_t const shapes[][2] = {{2 * rows, 3 * cols}, {rows + 1, cols + 8}, {1, 2 * cols + 3}};
  for (auto const& shape : shapes) {
    auto const source = random_numbers<bs::bf16>(shape[0], shape[1], -0.3f, 9 + shape[1]);
    device_tensor<Format> tensor{
        shape[0], shape[1], bs::max_payload_bytes<Format>(shape[0], shape[1])};
    test_matrix<typename Format::element> stored{shape[0], shape[1]};
    std::string fault = forward_fault<bs::codec::compact, bs::relu_squared, bs::bf16>(
        source, tensor, stored, forward_case{}, [](float x) {
          float const r = std::isnan(x) ? number_of<bs::fp32>(0x7fffffffu) : x <= 0 ? 0.0f : x;
          return two_numbers{r, r * r};
        });
    if (!fault.empty()) return "forward: " + fault;
    backward_case variant;
    variant.in_place = 2;
    fault            = backward_fault<bs::square_and_gradient, bs::bf16, bs::bf16, bs::bf16>(
        tensor, stored, 1, variant, squared_and_gradient);
    if (!fault.empty()) return "row-major: " + fault;
    if constexpr (bs::detail::is_present<Turned>) {
      for (auto const& gap_and_offset : {std::pair<int, int>{0, 0}, {1, 0}, {0, 1}, {16, 0}}) {
        variant               = {};
        variant.turned_gap    = gap_and_offset.first;
        variant.turned_offset = gap_and_offset.second;
        fault = backward_fault<bs::square_and_gradient, Turned, bs::bf16, bs::both_ways<bs::bf16>>(
            tensor, stored, 1, variant, squared_and_gradient);
        if (!fault.empty())
          return "transposed, gap " + std::to_string(variant.turned_gap) + ": " + fault;
      }
    }
  }
  return {};
}

struct plus_one {  // a compiler that fuses it with the descaling rounds once instead of twice
  static constexpr bool uses_gradient = false;
  static constexpr int num_results    = 1;
  __device__ static bs::backward_values apply(float s, float) { return {s + 1, 0}; }
};

}  // namespace

TEST_CASE("ops: tiles with fewer vectors than threads, few rows, odd rows", "[device][op]") {
  using b = bs::bf16;
  CHECK(geometry_fault<bs::tile_format<b, 32, 128>, bs::transposed<b>>() == "");
  CHECK(geometry_fault<bs::tile_format<b, 16, 16>, bs::transposed<b>>() == "");
  CHECK(geometry_fault<bs::tile_format<b, 16, 128>, bs::transposed<b>>() == "");
  CHECK(geometry_fault<bs::tile_format<b, 2, 384>, bs::none>() == "");
  CHECK(geometry_fault<bs::tile_format<b, 16, 48>, bs::transposed<b>>() == "");
}

TEST_CASE("ops: other geometries of 8- and 32-bit elements", "[device][op]") {
  using e4m3 = bs::fp8_e4m3;
  CHECK(geometry_fault<bs::tile_format<e4m3, 16, 16>, bs::transposed<e4m3>>() == "");
  CHECK(geometry_fault<bs::tile_format<e4m3, 1, 1024>, bs::none>() == "");
  CHECK(geometry_fault<bs::tile_format<bs::fp32, 8, 32>, bs::none>() == "");
}

TEST_CASE("decompress: an op sees the stored value rounded", "[device][op]") {
  using format      = bs::default_format<bs::fp8_e4m3>;
  auto const source = random_numbers<bs::fp32>(format::rows, format::cols, 1, 4);
  device_tensor<format> tensor{
      source.rows(), source.cols(), bs::max_payload_bytes<format>(source.rows(), source.cols())};
  test_matrix<bs::fp8_e4m3> stored{source.rows(), source.cols()};
  forward_case forward;
  forward.scale = 0.3f;
  REQUIRE(forward_fault<bs::codec::sign, bs::identity, bs::none>(
              source, tensor, stored, forward, [](float x) {
                return two_numbers{x, x};
              }) == "");
  auto const plus = [](float s, float) {
    float volatile const rounded = s;
    return two_numbers{rounded + 1, 0};
  };
  CHECK(backward_fault<plus_one, bs::fp32, bs::none, bs::none>(tensor, stored, 0.3f, {}, plus) ==
        "");
  REQUIRE(bs::clear(tensor.view(), nullptr).ok());  // forgets conditions, not the scale
  CHECK(backward_fault<plus_one, bs::fp32, bs::none, bs::none>(tensor, stored, 0.3f, {}, plus) ==
        "");
}

TEST_CASE("decompress: identity as one of two results keeps the bits", "[device][op]") {
  using format      = bs::default_format<bs::fp8_e5m2>;
  auto const source = random_numbers<bs::fp32>(format::rows, format::cols, 0, 6);
  device_tensor<format> tensor{
      source.rows(), source.cols(), bs::max_payload_bytes<format>(source.rows(), source.cols())};
  test_matrix<bs::fp8_e5m2> stored{source.rows(), source.cols()};
  forward_case forward;
  forward.scale = 40;
  REQUIRE(forward_fault<bs::codec::sign, bs::identity, bs::none>(
              source, tensor, stored, forward, [](float x) {
                return two_numbers{x, x};
              }) == "");
  CHECK(
      backward_fault<bs::value_and_relu_gradient, bs::both_ways<bs::fp8_e5m2>, bs::bf16, bs::bf16>(
          tensor, stored, 40, {}, [](float s, float g) {
            return two_numbers{s, s <= 0 ? 0.0f : g};
          }) == "");
}

TEST_CASE("decompress: a lost tile is NaN in transposed results, too", "[device][op]") {
  using format      = bs::default_format<bs::fp8_e4m3>;
  auto const source = random_numbers<bs::fp8_e4m3>(format::rows, format::cols, 1, 3);
  device_buffer dense{source.buffer()};
  device_tensor<format> tensor{source.rows(), source.cols(), 0};
  bs::const_matrix_view<bs::fp8_e4m3> const from{
      device_data<bs::fp8_e4m3>(dense), source.rows(), source.cols(), source.ld()};
  REQUIRE(bs::compress<bs::codec::sign>(from, tensor.view(), nullptr).ok());
  test_matrix<bs::fp8_e4m3> rows{source.rows(), source.cols()},
      turned{source.cols(), source.rows()};
  device_buffer rows_device{rows.buffer()}, turned_device{turned.buffer()};
  bs::decompress_operands<bs::both_ways<bs::fp8_e4m3>> operands;
  operands.first = {{device_data<bs::fp8_e4m3>(rows_device), from.rows, from.cols, from.cols},
                    {device_data<bs::fp8_e4m3>(turned_device), from.cols, from.rows, from.rows}};
  REQUIRE(bs::decompress<bs::square>(tensor.view(), operands, nullptr).ok());
  bring_back(rows, rows_device);
  bring_back(turned, turned_device);
  std::uint64_t numbers = 0;
  for (std::uint64_t r = 0; r < rows.rows(); ++r) {
    for (std::uint64_t c = 0; c < rows.cols(); ++c)
      numbers += (rows.at(r, c) != 0x7f) + (turned.at(c, r) != 0x7f);
  }
  CHECK(numbers == 0);
  CHECK((rows.surroundings_intact() && turned.surroundings_intact()));
}

TEST_CASE("decompress: a transposed result over the gradient, and bad pointers, are refused",
          "[device][op]") {
  using format = bs::default_format<bs::bf16>;
  device_tensor<format> tensor{128, 128, 128 * 128 * 2};
  device_buffer a{128 * 128 * 2}, b{128 * 128 * 2};
  auto* const x = device_data<bs::bf16>(a);
  auto* const y = device_data<bs::bf16>(b);
  bs::decompress_operands<bs::transposed<bs::bf16>, bs::bf16> turned;
  turned.first    = {x, 128, 128, 128};
  turned.gradient = {x, 128, 128, 128};
  CHECK(std::string{bs::decompress<bs::relu_gradient>(tensor.view(), turned, nullptr).text()} ==
        bs::detail::operands_overlap_text);
  bs::decompress_operands<bs::bf16, bs::bf16> operands;
  operands.first     = {x, 128, 128, 128};
  operands.gradient  = {y, 128, 128, 128};
  auto const refused = [&](void const* num_rows) {
    operands.num_rows = static_cast<std::uint32_t const*>(num_rows);
    return std::string{bs::decompress<bs::relu_gradient>(tensor.view(), operands, nullptr).text()};
  };
  CHECK(refused(reinterpret_cast<std::byte const*>(y) + 2).find("aligned") != std::string::npos);
  CHECK(refused(x + 4).find("a matrix that is written") != std::string::npos);
  CHECK(refused(y + 4) == bs::status{}.text());  // it may lie in what is only read
}
