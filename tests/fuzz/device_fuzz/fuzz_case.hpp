// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What one case of the device fuzzer is: a pure function of a seed and a number, so that any case can
/// be run again alone. Plain C++17.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tests/support/values.hpp>

namespace bitsparse_test {

// -------------------------------------------------------------------------------------------------
// What a case chooses from
// -------------------------------------------------------------------------------------------------

enum class fuzz_format {
  bf16_32x128,
  fp16_32x128,
  fp32_32x64,
  e4m3_32x256,
  e5m2_32x256,
  bf16_64x64,
  e4m3_64x128,
  count
};
enum class fuzz_codec { fast, sign, compact, count };
enum class fuzz_op {
  identity,
  relu,          // forward, nothing emitted
  relu_squared,  // forward, emits the square; to e4m3 from bf16, scaled
  gradient,      // backward: relu_squared_gradient
  both_results,  // backward: square_and_gradient
  transposed,    // backward: identity, transposed
  both_ways,     // backward: identity, row-major and transposed
  count
};
enum class fuzz_place {
  buffer,        // as many bytes as the chunks have
  buffer_short,  // one unit less
  buffer_part,   // any part of it
  arena,         // as many slabs as suffice; none is taken ahead
  arena_ahead,   // so many that slabs are taken ahead
  arena_host,    // two device slabs, then host slabs
  arena_short,   // fewer than are needed, or exactly what max_slabs() says
  arena_of_all,  // one that all threads use at the same time
  large,         // up to more than 2^31 values; another tuning is the reference
  count
};
enum class fuzz_positions {
  uniform,
  clusters,
  per_row,
  per_col,
  runs,
  none,
  one,
  all,
  all_but_one,
  count
};
enum class fuzz_values {
  any,
  non_negative,
  activations,  // exponents as of normal numbers
  window3,
  window4,
  window_broken,  // a window3 with an outlier now and then
  spread,         // every exponent
  patterns,       // all bit patterns in turn
  specials,       // NaN, infinities, -0, subnormals among others
  count
};
enum class fuzz_reading { whole, two_ranges, count };
enum class fuzz_ending { release, consume, release_twice, read_after_release, reset, count };

/// A format's numbers, for choosing shapes.
struct fuzz_shape {
  char const* name;
  std::uint32_t rows, cols, value_bytes;
};
constexpr fuzz_shape shape_of(fuzz_format format) {
  constexpr fuzz_shape shapes[] = {{"bf16 32x128", 32, 128, 2},
                                   {"fp16 32x128", 32, 128, 2},
                                   {"fp32 32x64", 32, 64, 4},
                                   {"e4m3 32x256", 32, 256, 1},
                                   {"e5m2 32x256", 32, 256, 1},
                                   {"bf16 64x64", 64, 64, 2},
                                   {"e4m3 64x128", 64, 128, 1}};
  return shapes[static_cast<int>(format)];
}

constexpr std::uint64_t fuzz_max_dense_bytes = 1 << 20;    // of a case that the host checks
constexpr std::uint64_t fuzz_large_bytes = 2304ull << 20;  // of a large one: over 2^31 of 1 byte
constexpr std::uint32_t fuzz_streams     = 3;
constexpr std::uint64_t all_rows         = ~std::uint64_t{0};

/// All that a case varies.
struct fuzz_case {
  std::uint64_t seed = 0, number = 0;
  fuzz_format format       = fuzz_format::bf16_32x128;
  fuzz_codec codec         = fuzz_codec::sign;
  fuzz_op op               = fuzz_op::identity;
  fuzz_place place         = fuzz_place::buffer;
  fuzz_positions positions = fuzz_positions::uniform;
  fuzz_values values       = fuzz_values::any;
  fuzz_reading reading     = fuzz_reading::whole;
  fuzz_ending ending       = fuzz_ending::release;
  double density           = 0.5;  // of non-zero values, where the positions leave it open
  std::uint32_t run_values = 16;   // the length of runs and clusters
  std::uint32_t negatives  = 0;    // of 1024 values, besides those of the kind
  std::uint64_t rows = 1, cols = 1;
  std::uint64_t source_ld = 1, target_ld = 1;
  std::uint32_t source_offset = 0, target_offset = 0;  // values
  std::uint64_t valid_rows = all_rows;                 // in device memory, if not all_rows
  bool counts_on_read      = false;                    // decompress is told of them, too
  std::uint32_t part       = 0;      // of 256, of what is needed, where the place is short
  std::uint32_t split      = 0;      // of 256: where the second range begins
  bool reuse               = false;  // the tensor is filled twice
  std::uint32_t stream = 0, second_stream = 0;  // compress; what follows

  std::uint64_t dense_bytes() const { return rows * cols * shape_of(format).value_bytes; }
  bool is_arena() const { return place >= fuzz_place::arena && place <= fuzz_place::arena_of_all; }
};

template <class Choice>
Choice one_of(random_bits& random) {
  return static_cast<Choice>(random.below(static_cast<std::uint32_t>(Choice::count)));
}

/// Log-uniform in [low, high].
inline std::uint64_t log_uniform(random_bits& random, double low, double high) {
  return static_cast<std::uint64_t>(low * std::exp(random.unit() * std::log((high + 1) / low)));
}

namespace detail {

/// Rows or columns: often where tiles, words and vectors begin or end.
inline std::uint64_t draw_extent(random_bits& random, std::uint32_t tile, double most) {
  constexpr std::uint32_t edges[] = {0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65};
  switch (random.below(8)) {
    case 0:
      return edges[random.below(sizeof(edges) / sizeof(edges[0]))];
    case 1:  // whole tiles, or one value more or less
      return tile * (1 + random.below(4)) + random.below(3) - 1;
    default:
      return log_uniform(random, 1, most);
  }
}

/// A leading dimension: half of them let rows be read in vectors.
inline std::uint64_t draw_ld(random_bits& random, std::uint64_t cols) {
  std::uint64_t const aligned = (cols + 15) / 16 * 16;
  switch (random.below(8)) {
    case 0:
    case 1:
      return cols;
    case 2:
      return cols + 1 + random.below(40);
    case 3:
      return aligned + 16 * (1 + random.below(4));
    default:
      return aligned;
  }
}
inline std::uint32_t draw_offset(random_bits& random) {
  return random.below(2) == 0 ? 0 : random.below(16);
}

inline fuzz_op draw_op(random_bits& random, fuzz_format format) {
  if (random.below(3) != 0) return fuzz_op::identity;
  switch (format) {
    case fuzz_format::bf16_32x128: {
      constexpr fuzz_op ops[] = {
          fuzz_op::relu, fuzz_op::relu_squared, fuzz_op::gradient, fuzz_op::both_results};
      return ops[random.below(4)];
    }
    case fuzz_format::e4m3_32x256:
      return fuzz_op::relu_squared;
    case fuzz_format::bf16_64x64:
      return fuzz_op::transposed;
    case fuzz_format::e4m3_64x128:
      return random.below(2) == 0 ? fuzz_op::transposed : fuzz_op::both_ways;
    default:
      return fuzz_op::identity;
  }
}

inline fuzz_place draw_place(random_bits& random) {
  if (random.below(20000) == 0) return fuzz_place::large;
  constexpr fuzz_place places[] = {fuzz_place::buffer,
                                   fuzz_place::buffer,
                                   fuzz_place::buffer_short,
                                   fuzz_place::buffer_part,
                                   fuzz_place::arena,
                                   fuzz_place::arena_ahead,
                                   fuzz_place::arena_host,
                                   fuzz_place::arena_short,
                                   fuzz_place::arena_short,
                                   fuzz_place::arena_of_all};
  return places[random.below(10)];
}

/// What a large case, of which values are made and compared on the device, has instead of a small one's.
inline void draw_large(random_bits& random, fuzz_case& c) {
  c.format = random.below(2) == 0 ? fuzz_format::e4m3_32x256 : fuzz_format::bf16_32x128;
  c.op     = fuzz_op::identity;
  c.codec  = random.below(2) == 0 ? fuzz_codec::sign : fuzz_codec::compact;
  c.reuse  = false;
  std::uint64_t const value_bytes = shape_of(c.format).value_bytes;
  double const most               = static_cast<double>(fuzz_large_bytes / value_bytes);
  std::uint64_t const values =
      random.below(4) == 0 ? fuzz_large_bytes / value_bytes : log_uniform(random, 1 << 20, most);
  c.cols          = log_uniform(random, 1, static_cast<double>(values) / 2);
  c.source_ld     = draw_ld(random, c.cols);
  c.rows          = values / c.source_ld;
  c.target_ld     = c.source_ld;
  c.source_offset = c.target_offset = draw_offset(random);
  c.valid_rows                      = all_rows;
}

inline void draw_shape(random_bits& random, fuzz_case& c) {
  fuzz_shape const tile = shape_of(c.format);
  c.rows                = draw_extent(random, tile.rows, 1200);
  c.cols                = draw_extent(random, tile.cols, 2400);
  bool const can_vary   = random.below(2) != 0;
  while (true) {
    c.source_ld = draw_ld(random, c.cols);
    c.target_ld = can_vary ? draw_ld(random, c.cols) : c.source_ld;
    if (c.rows * (c.source_ld > c.target_ld ? c.source_ld : c.target_ld) * tile.value_bytes <=
        fuzz_max_dense_bytes)
      break;
    (c.rows > c.cols ? c.rows : c.cols) /= 2;
  }
  c.source_offset = draw_offset(random);
  c.target_offset = can_vary ? draw_offset(random) : c.source_offset;
  if (random.below(8) == 0 && c.rows != 0) {
    c.valid_rows     = random.below(static_cast<std::uint32_t>(c.rows) + 2);
    c.counts_on_read = random.below(2) == 0;
  }
}

}  // namespace detail

/// The case of a number.
inline fuzz_case draw_case(std::uint64_t seed, std::uint64_t number) {
  random_bits random{random_bits{seed}.next() + number * 0xd1342543de82ef95u};
  fuzz_case c;
  c.seed      = seed;
  c.number    = number;
  c.format    = one_of<fuzz_format>(random);
  c.codec     = one_of<fuzz_codec>(random);
  c.op        = detail::draw_op(random, c.format);
  c.place     = detail::draw_place(random);
  c.positions = random.below(2) == 0 ? fuzz_positions::uniform : one_of<fuzz_positions>(random);
  c.values    = one_of<fuzz_values>(random);
  c.reading   = one_of<fuzz_reading>(random);
  c.ending    = one_of<fuzz_ending>(random);
  // All orders of magnitude of zeros, and of values.
  double const share = std::exp(-random.unit() * 9.2);
  c.density       = random.below(4) == 0 ? 1 - share : random.below(2) == 0 ? share : random.unit();
  c.run_values    = static_cast<std::uint32_t>(log_uniform(random, 1, 5000));
  c.negatives     = random.below(3) == 0 ? random.below(8) : 0;
  c.part          = random.below(257);
  c.split         = random.below(257);
  c.reuse         = c.op == fuzz_op::identity && random.below(4) == 0;
  c.stream        = random.below(fuzz_streams);
  c.second_stream = random.below(2) == 0 ? c.stream : random.below(fuzz_streams);
  detail::draw_shape(random, c);
  // Fused ops are compiled for some codecs.
  bool const is_forward = c.op == fuzz_op::relu || c.op == fuzz_op::relu_squared;
  if (is_forward && c.codec == fuzz_codec::fast) c.codec = fuzz_codec::sign;
  if (c.op == fuzz_op::gradient || c.op == fuzz_op::both_results) c.codec = fuzz_codec::compact;
  // Other threads' conditions and slabs are not to be touched.
  if (c.place == fuzz_place::arena_of_all &&
      (c.ending == fuzz_ending::reset || c.ending == fuzz_ending::release_twice ||
       c.ending == fuzz_ending::read_after_release))
    c.ending = fuzz_ending::release;
  if (c.place == fuzz_place::large) detail::draw_large(random, c);
  return c;
}

/// Names, as the summary and a failure's description have them.
char const* name_of(fuzz_codec choice);
char const* name_of(fuzz_op choice);
char const* name_of(fuzz_place choice);
char const* name_of(fuzz_positions choice);
char const* name_of(fuzz_values choice);
char const* name_of(fuzz_ending choice);

/// All of a case in words, with the arguments that run it again.
std::string describe(fuzz_case const& c);

}  // namespace bitsparse_test
