// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What do compressed activations cost and save in a whole training step? See help_text().
#include <cstdio>
#include <string>
#include <vector>

#include <bench/ffn_training/command_line.hpp>
#include <bench/ffn_training/measure.hpp>

int main(int argc, char** argv) {
  ffn::options chosen;
  std::string const problem =
      ffn::parse_command_line(std::vector<std::string>(argv + 1, argv + argc), chosen);
  if (!problem.empty()) {
    std::fprintf(stderr, "ffn_training: %s\n", problem.c_str());
    return 2;
  }
  if (chosen.what == ffn::task::check) return ffn::check(chosen);
  if (chosen.what == ffn::task::soak) return ffn::soak(chosen);
  if (chosen.what == ffn::task::train) return ffn::train(chosen);
  if (chosen.what == ffn::task::measure) return ffn::measure(chosen);
  std::fputs(ffn::help_text(), stdout);
  return 0;
}
