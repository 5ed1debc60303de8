// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The command line of ffn_training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <bench/ffn_training/shape.hpp>

namespace ffn {

enum class task { measure, check, soak, train, help };

/// What the user asked for.
struct options {
  task what          = task::measure;
  std::string preset = "paper";
  ffn_shape shape;
  element_choice element             = element_choice::bf16;
  double zeros                       = 0.5;
  std::vector<std::string> modes     = {};  // all, if empty
  std::vector<int> compressed_layers = {};  // all layers, if empty
  std::uint64_t slabs                = 0;   // 0: planned
  double headroom                    = 1.02;
  int rounds                         = 20;
  int warm_up                        = 2;
  bool times_eager                   = true;
  bool times_graph                   = true;
  double learning_rate               = 0;  // of SGD in the measured step; 0: no update
  bool gradients_in_fp32             = false;
  bool verify                        = true;
  bool multiplies                    = true;  // else products are copies of what was computed once
  std::string text_file;  // of --train
  int steps = 0;          // of --train and --soak; 0: their own
  std::string json_file;
};

/// Fills `parsed` from the arguments, without the program's name.
/// @return what is wrong with which argument, or an empty text
std::string parse_command_line(std::vector<std::string> const& arguments, options& parsed);

/// The text of --help.
char const* help_text();

}  // namespace ffn
