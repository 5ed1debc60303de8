// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device fuzzer's cases are a function of seed and number, and reach what they are said to reach.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <tests/fuzz/device_fuzz/fuzz_case.hpp>
#include <tests/fuzz/device_fuzz/fuzz_fill.hpp>
#include <tests/support/catch.hpp>

namespace bs = bitsparse;
using namespace bitsparse_test;

namespace {

constexpr std::uint64_t num_cases = 200000;

template <class Visit>
void for_each_case(Visit visit, std::uint64_t count = num_cases) {
  for (std::uint64_t number = 0; number < count; ++number) visit(draw_case(7, number));
}

/// A case's values, packed.
template <class Element>
std::vector<typename Element::bits_type> values_of(fuzz_case const& c) {
  std::vector<typename Element::bits_type> values(c.rows * c.cols);
  fill_values<Element>(c, 0, values.data(), c.cols);
  return values;
}

fuzz_case matrix_case(fuzz_positions positions, fuzz_values values, double density = 0.3) {
  fuzz_case c;
  c.rows = 200, c.cols = 300;
  c.positions  = positions;
  c.values     = values;
  c.density    = density;
  c.run_values = 50;
  return c;
}

/// The share of values that are not +0.
template <class Bits>
double density_of(std::vector<Bits> const& values) {
  return 1 - static_cast<double>(std::count(values.begin(), values.end(), Bits{0})) /
                 static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("device fuzz: a case is a function of seed and number", "[fuzz]") {
  std::set<std::string> texts;
  for (std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
    for (std::uint64_t const seed : {1, 2}) {
      fuzz_case const c = draw_case(seed, number);
      CHECK(describe(c) == describe(draw_case(seed, number)));
      CHECK(values_of<bs::bf16>(c) == values_of<bs::bf16>(draw_case(seed, number)));
      CHECK(describe(c).find("--seed " + std::to_string(seed) + " --case " +
                             std::to_string(number)) != std::string::npos);
      texts.insert(describe(c).substr(describe(c).find('\n')));
    }
  }
  CHECK(texts.size() == 6);
}

TEST_CASE("device fuzz: every choice is made, with every other one that it goes with", "[fuzz]") {
  std::map<std::pair<int, int>, std::uint64_t> format_op, format_place, op_place, positions_values;
  std::map<int, std::uint64_t> endings, codecs;
  for_each_case([&](fuzz_case const& c) {
    int const format = static_cast<int>(c.format), op = static_cast<int>(c.op);
    ++format_op[{format, op}];
    ++format_place[{format, static_cast<int>(c.place)}];
    ++op_place[{op, static_cast<int>(c.place)}];
    ++positions_values[{static_cast<int>(c.positions), static_cast<int>(c.values)}];
    ++codecs[format * 3 + static_cast<int>(c.codec)];
    if (c.is_arena()) ++endings[static_cast<int>(c.place) * 8 + static_cast<int>(c.ending)];
  });
  CHECK(format_op.size() == 7 + 4 + 1 + 1 + 2);
  CHECK(format_place.size() == 7 * 8 + 2);  // large ones are of two formats
  CHECK(op_place.size() == 7 * 8 + 1);
  CHECK(positions_values.size() == 9 * 9);
  CHECK(codecs.size() == 7 * 3);
  CHECK(endings.size() == 4 * 5 + 2);
  for (auto const& [choice, count] : format_place) {
    if (choice.second != static_cast<int>(fuzz_place::large)) CHECK(count > num_cases / 200);
  }
}

TEST_CASE("device fuzz: shapes, leading dimensions and offsets", "[fuzz]") {
  std::map<std::uint64_t, std::uint64_t> rows, cols;
  std::set<std::uint32_t> offsets, target_offsets;
  std::uint64_t padded = 0, aligned = 0, in_vectors = 0, counted = 0, most = 0;
  double bytes = 0, large = 0;
  for_each_case([&](fuzz_case const& c) {
    if (c.place == fuzz_place::large) {
      ++large;
      most = std::max(most, c.rows * c.cols);
      return;
    }
    ++rows[c.rows];
    ++cols[c.cols];
    offsets.insert(c.source_offset);
    target_offsets.insert(c.target_offset);
    padded += c.source_ld > c.cols;
    aligned += c.source_ld % 16 == 0;
    in_vectors += c.source_ld % 16 == 0 && c.source_offset == 0 && c.target_ld % 16 == 0 &&
                  c.target_offset == 0;
    counted += c.valid_rows < c.rows;
    bytes += static_cast<double>(c.dense_bytes());
    REQUIRE(c.source_ld >= c.cols);
    REQUIRE(c.target_ld >= c.cols);
    REQUIRE(c.rows * std::max(c.source_ld, c.target_ld) * shape_of(c.format).value_bytes <=
            fuzz_max_dense_bytes);
  });
  for (std::uint64_t const edge : {0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257}) {
    CHECK(cols[edge] > 20);
    CHECK(rows[edge] > 20);
  }
  CHECK(rows.size() > 1000);
  CHECK(cols.size() > 2000);
  CHECK(offsets.size() == 16);
  CHECK(target_offsets.size() == 16);
  CHECK(padded > num_cases / 4);
  CHECK(in_vectors > num_cases / 6);
  CHECK(in_vectors < num_cases / 2);
  CHECK(aligned < num_cases * 9 / 10);
  CHECK(counted > num_cases / 20);
  double const mean = bytes / (num_cases - large);
  INFO("mean " << mean);
  CHECK(mean > 30e3);
  CHECK(mean < 60e3);
  CHECK(large > 2);
  CHECK(large < 40);
  // Of a longer campaign: 2^31 values are exceeded.
  for (std::uint64_t number = num_cases; number < 2000000; ++number) {
    fuzz_case const c = draw_case(7, number);
    if (c.place == fuzz_place::large) most = std::max(most, c.rows * c.cols);
  }
  CHECK(most > std::uint64_t{1} << 31);
}

TEST_CASE("device fuzz: positions have the densities that they say", "[fuzz]") {
  using p           = fuzz_positions;
  auto const values = [](p positions, double density) {
    return values_of<bs::bf16>(matrix_case(positions, fuzz_values::any, density));
  };
  for (double const density : {0.001, 0.1, 0.5, 0.95}) {
    CHECK(density_of(values(p::uniform, density)) == Approx(density).epsilon(0.3));
    CHECK(density_of(values(p::clusters, density)) == Approx(density).margin(0.05));
    CHECK(density_of(values(p::runs, density)) == Approx(density).margin(0.06));
  }
  CHECK(density_of(values(p::none, 0.5)) == 0);
  CHECK(density_of(values(p::all, 0.5)) == 1);
  CHECK(density_of(values(p::one, 0.5)) * 60000 == Approx(1));
  CHECK(density_of(values(p::all_but_one, 0.5)) * 60000 == Approx(59999));
  auto const rows = values(p::per_row, 0.5), columns = values(p::per_col, 0.5);
  std::set<int> row_levels, column_levels;
  for (std::size_t line = 0; line < 200; ++line) {
    int row = 0, column = 0;
    for (std::size_t i = 0; i < 200; ++i) {
      row += rows[line * 300 + i] != 0;
      column += columns[i * 300 + line] != 0;
    }
    row_levels.insert(row);
    column_levels.insert(column);
  }
  CHECK(row_levels.size() > 40);
  CHECK(column_levels.size() > 40);
  CHECK((row_levels.count(0) == 1 && row_levels.count(200) == 1));
  CHECK((column_levels.count(0) == 1 && column_levels.count(200) == 1));
}

TEST_CASE("device fuzz: values are those of their kinds", "[fuzz]") {
  using v           = fuzz_values;
  auto const values = [](v kind) {
    return values_of<bs::bf16>(matrix_case(fuzz_positions::all, kind));
  };
  auto const high_of = [](std::vector<std::uint16_t> const& all) {
    std::set<int> codes;
    for (auto const bits : all) codes.insert(bits >> 8);
    return codes;
  };
  auto const patterns = values(v::patterns);
  CHECK(std::set<std::uint16_t>(patterns.begin(), patterns.end()).size() > 59000);
  CHECK(high_of(values(v::window3)).size() == 8);
  CHECK(high_of(values(v::window4)).size() == 16);
  CHECK(high_of(values(v::window_broken)).size() == 9);
  CHECK(high_of(values(v::spread)).size() == 128);
  auto const specials = values(v::specials);
  std::uint64_t nans = 0, infinities = 0, negative_zeros = 0;
  for (auto const bits : specials) {
    nans += is_nan<bs::bf16>(bits);
    infinities += (bits & 0x7fff) == 0x7f80;
    negative_zeros += bits == 0x8000;
  }
  CHECK(nans > 500);
  CHECK(infinities > 500);
  CHECK(negative_zeros > 500);
  auto const plain = values(v::activations);
  CHECK(std::none_of(plain.begin(), plain.end(), [](auto bits) { return (bits & 0x8000) != 0; }));
}

TEMPLATE_TEST_CASE("device fuzz: NaN is told from numbers",
                   "[fuzz]",
                   bs::bf16,
                   bs::fp16,
                   bs::fp8_e4m3,
                   bs::fp8_e5m2) {
  CHECK(is_nan<TestType>(TestType::quiet_nan));
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << TestType::value_bits; ++i)
    count += is_nan<TestType>(static_cast<typename TestType::bits_type>(i));
  bool const has_infinity = TestType::id != bs::element_id::fp8_e4m3;
  CHECK(count == (has_infinity ? 2 * ((std::uint64_t{1} << mantissa_bits<TestType>)-1) : 2));
}
