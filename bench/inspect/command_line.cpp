// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Parsing of the command line.
#include <bench/inspect/command_line.hpp>

#include <charconv>
#include <cstddef>
#include <set>
#include <string_view>

#include <bench/inspect/report.hpp>

namespace inspect {
namespace {

/// Decimal digits alone: no sign, no space, no overflow.
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  char const* const end = text.data() + text.size();
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  auto const [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end;
}

/// "128x3072".
template <class Number>
bool parse_pair(std::string_view text, Number& rows, Number& cols) {
  std::size_t const x = text.find('x');
  return x != std::string_view::npos && parse_number(text.substr(0, x), rows) &&
         parse_number(text.substr(x + 1), cols);
}

/// Takes one option with its value. @return what the value should have been, or an empty text
std::string take_value(std::string_view name, std::string const& value, options& parsed) {
  if (name == "--dtype") {
    parsed.element = find_element(value);
    return parsed.element ? "" : "is none of " + element_names();
  }
  if (name == "--codec") {
    parsed.codec  = find_codec(value);
    parsed.choose = value == "choose";
    return parsed.codec || parsed.choose ? "" : "is none of " + codec_names() + ", choose";
  }
  if (name == "--shape") {
    matrix_shape shape{};
    if (!parse_pair(value, shape.rows, shape.cols)) return "is not ROWSxCOLS, such as 512x3072";
    parsed.shape = shape;
    return "";
  }
  if (name == "--tile") {
    tile_shape tile{};
    if (!parse_pair(value, tile.rows, tile.cols)) return "is not ROWSxCOLS, such as 64x64";
    parsed.tile = tile;
    return "";
  }
  if (name == "--backend") {
    if (value != "auto" && value != "cuda" && value != "host") return "is none of auto, cuda, host";
    parsed.backend = value == "cuda"   ? backend_choice::cuda
                     : value == "host" ? backend_choice::host
                                       : backend_choice::automatic;
    return "";
  }
  parsed.out = value;
  return value.empty() ? "is empty" : "";
}

bool takes_value(std::string_view name) {
  return name == "--dtype" || name == "--shape" || name == "--codec" || name == "--tile" ||
         name == "--backend" || name == "--out";
}

/// Takes an option without a value. @return whether there is one of that name
bool take_flag(std::string_view name, options& parsed) {
  bool* const flag = name == "--json"      ? &parsed.json
                     : name == "--help"    ? &parsed.help
                     : name == "--version" ? &parsed.version
                                           : nullptr;
  if (flag != nullptr) *flag = true;
  return flag != nullptr;
}

/// What only the whole command line shows.
std::string check(options const& parsed) {
  if (parsed.files.empty()) return "no FILE given (--help explains)";
  if (parsed.out && parsed.files.size() > 1) {
    return "--out takes one FILE, but " + std::to_string(parsed.files.size()) + " are given";
  }
  if (parsed.element && parsed.tile && !is_supported(*parsed.element, *parsed.tile)) {
    return "--tile: " + unsupported_tile(*parsed.element, *parsed.tile);
  }
  return "";
}

}  // namespace

std::string parse_command_line(std::vector<std::string> const& arguments, options& parsed) {
  bool options_ended = false;
  std::set<std::string> given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string const& argument = arguments[i];
    if (options_ended || argument.empty() || argument[0] != '-' || argument == "-") {
      parsed.files.push_back(argument);
      continue;
    }
    if (argument == "--") {
      options_ended = true;
      continue;
    }
    std::size_t const equals = argument.find('=');
    std::string const name   = argument.substr(0, equals);
    bool const has_value     = equals != std::string::npos;
    if (!given.insert(name).second) return name + ": given twice";
    if (takes_value(name)) {
      bool const next_is_value =
          i + 1 < arguments.size() && arguments[i + 1].compare(0, 2, "--") != 0;
      if (!has_value && !next_is_value) return name + ": it needs a value";
      std::string const value = has_value ? argument.substr(equals + 1) : arguments[++i];
      std::string const wrong = take_value(name, value, parsed);
      if (!wrong.empty()) return name + ": '" + value + "' " + wrong;
    } else if (!take_flag(name, parsed)) {
      return name + ": unknown option (--help lists them)";
    } else if (has_value) {
      return name + ": it takes no value";
    }
    if (parsed.help || parsed.version) return "";
  }
  return check(parsed);
}

std::string help_text() {
  return "usage: bitsparse_inspect FILE... [--dtype NAME] [--shape ROWSxCOLS] [options]\n"
         "\n"
         "Compresses each file's matrix, restores it, compares every bit and says what was saved.\n"
         "A FILE is one of, told apart by its first bytes:\n"
         "  raw values       little-endian, row-major, no header; needs --dtype and --shape\n"
         "  .npy             versions 1.0 to 3.0, C order; float16 and float32 need no --dtype;\n"
         "                   one dimension is one row, leading dimensions become rows\n"
         "  bitsparse        the serialised form: validated, restored and compressed again\n"
         "An option that contradicts what a file says of itself is an error.\n"
         "\n"
         "  --dtype NAME     " +
         element_names() +
         "\n"
         "  --shape RxC      rows and columns\n"
         "  --codec NAME     " +
         codec_names() +
         " (default sign), or\n"
         "                   choose: tries all and names the one to take. It starts with fast\n"
         "                   and takes the next one if its bytes are at least " +
         std::to_string(least_saving_percent) +
         " % fewer\n"
         "                   than those of the one taken so far; times, of one run, do\n"
         "                   not matter to it\n"
         "  --tile RxC       tile geometry (default: 8 KiB of values)\n"
         "  --backend NAME   auto, cuda, host (default auto: cuda if it can run)\n"
         "  --json           one JSON object per file and line, nothing else; with choose one\n"
         "                   per codec, then one with the choice\n"
         "  --out FILE       writes the serialised form of one dense input, or the dense bytes\n"
         "                   of one serialised input; a file that is there is replaced when\n"
         "                   the new one is complete; choose writes with the codec it takes\n"
         "  --help, --version\n"
         "\n"
         "Ratios count chunks and 8 bytes of descriptor per tile. The exit status is 0 if every\n"
         "file came back exact, 1 if one did not or could not be read or written, 2 for a wrong\n"
         "command line.\n";
}

}  // namespace inspect
