// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The names of a case's choices.
#include <tests/fuzz/device_fuzz/fuzz_case.hpp>

namespace bitsparse_test {

char const* name_of(fuzz_codec choice) {
  constexpr char const* names[] = {"fast", "sign", "compact"};
  return names[static_cast<int>(choice)];
}
char const* name_of(fuzz_op choice) {
  constexpr char const* names[] = {
      "identity", "relu", "relu_squared", "gradient", "both_results", "transposed", "both_ways"};
  return names[static_cast<int>(choice)];
}
char const* name_of(fuzz_place choice) {
  constexpr char const* names[] = {"buffer",
                                   "buffer_short",
                                   "buffer_part",
                                   "arena",
                                   "arena_ahead",
                                   "arena_host",
                                   "arena_short",
                                   "arena_of_all",
                                   "large"};
  return names[static_cast<int>(choice)];
}
char const* name_of(fuzz_positions choice) {
  constexpr char const* names[] = {
      "uniform", "clusters", "per_row", "per_col", "runs", "none", "one", "all", "all_but_one"};
  return names[static_cast<int>(choice)];
}
char const* name_of(fuzz_values choice) {
  constexpr char const* names[] = {"any",
                                   "non_negative",
                                   "activations",
                                   "window3",
                                   "window4",
                                   "window_broken",
                                   "spread",
                                   "patterns",
                                   "specials"};
  return names[static_cast<int>(choice)];
}
char const* name_of(fuzz_ending choice) {
  constexpr char const* names[] = {
      "release", "consume", "release_twice", "read_after_release", "reset"};
  return names[static_cast<int>(choice)];
}

std::string describe(fuzz_case const& c) {
  auto const number = [](auto n) { return std::to_string(n); };
  std::string text =
      "device_fuzz --seed " + number(c.seed) + " --case " + number(c.number) + "\n  ";
  text += shape_of(c.format).name;
  text += std::string{", codec "} + name_of(c.codec) + ", op " + name_of(c.op) + ", place " +
          name_of(c.place) + " (part " + number(c.part) + "/256)";
  text += ", " + number(c.rows) + " x " + number(c.cols) + " values";
  if (c.valid_rows != all_rows) {
    text += ", " + number(c.valid_rows) + " rows valid" +
            (c.counts_on_read ? " on compress and decompress" : " on compress");
  }
  text += "\n  source ld " + number(c.source_ld) + " offset " + number(c.source_offset) +
          ", target ld " + number(c.target_ld) + " offset " + number(c.target_offset);
  text += std::string{"\n  positions "} + name_of(c.positions) + " (density " + number(c.density) +
          ", runs of " + number(c.run_values) + "), values " + name_of(c.values) + ", negatives " +
          number(c.negatives) + "/1024";
  text += std::string{"\n  read "} +
          (c.reading == fuzz_reading::whole
               ? std::string{"whole"}
               : "in two ranges (at " + number(c.split) + "/256 of the tile rows)") +
          ", ends by " + name_of(c.ending) + (c.reuse ? ", tensor filled twice" : "") +
          ", streams " + number(c.stream) + " and " + number(c.second_stream);
  return text;
}

}  // namespace bitsparse_test
