// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The command line of bitsparse_inspect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <bench/inspect/supported.hpp>

namespace inspect {

struct matrix_shape {
  std::uint64_t rows;
  std::uint64_t cols;
};

enum class backend_choice { automatic, cuda, host };

/// What the user asked for; an empty optional was not said.
struct options {
  std::vector<std::string> files;
  std::optional<bitsparse::element_id> element;
  std::optional<matrix_shape> shape;
  std::optional<bitsparse::codec_id> codec;
  std::optional<tile_shape> tile;
  std::optional<std::string> out;
  backend_choice backend = backend_choice::automatic;
  bool choose            = false;  // --codec choose, which leaves `codec` empty
  bool json              = false;
  bool help              = false;
  bool version           = false;
};

/// Fills `parsed` from the arguments, without the program's name. `--option value` and
/// `--option=value` are the same; `--` ends the options.
/// @return what is wrong with which argument, or an empty text
std::string parse_command_line(std::vector<std::string> const& arguments, options& parsed);

/// The text of --help.
std::string help_text();

}  // namespace inspect
