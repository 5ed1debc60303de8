// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Parsing of .npy headers.
#include <bench/inspect/npy.hpp>

#include <charconv>
#include <vector>

#include <bench/inspect/supported.hpp>
#include <bitsparse/format/bits.hpp>

namespace inspect {
namespace {

namespace bs = bitsparse;

/// A cursor over a Python literal.
class literal {
 public:
  explicit literal(std::string_view text) : rest_(text) {}

  char peek() {
    while (!rest_.empty() && std::string_view{" \t\r\n"}.find(rest_.front()) < 4) {
      rest_.remove_prefix(1);
    }
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool at_end() { return peek() == '\0' && rest_.empty(); }
  bool take(char wanted) {
    if (peek() != wanted || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    peek();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail(std::string{"'"} + wanted + "'");
  }
  std::string quoted() {
    char const quote = peek();
    if (quote != '\'' && quote != '"') fail("a quoted name");
    std::size_t const end = rest_.find(quote, 1);
    if (end == std::string_view::npos) fail("a closing quote");
    std::string const text{rest_.substr(1, end - 1)};
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::uint64_t number() {
    peek();
    std::uint64_t value      = 0;
    auto const [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range) throw file_error{"its shape overflows 64 bits"};
    if (error != std::errc{}) fail("a dimension");
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return value;
  }
  [[noreturn]] static void fail(std::string const& wanted) {
    throw file_error{"its .npy header is malformed: it lacks " + wanted};
  }

 private:
  std::string_view rest_;
};

void take_descr(literal& source, npy_header& header) {
  if (source.peek() == '[' || source.peek() == '(') {
    throw file_error{"its dtype is structured; only plain values are read"};
  }
  header.descr = source.quoted();
  std::string_view text{header.descr};
  char order = '=';
  if (!text.empty() && std::string_view{"<>|="}.find(text.front()) < 4) {
    order = text.front();
    text.remove_prefix(1);
  }
  std::string_view const width = text.substr(text.empty() ? 0 : 1);
  bool const is_plain          = !text.empty() && std::string_view{"fuiV"}.find(text.front()) < 4;
  if (!is_plain || (width != "1" && width != "2" && width != "4")) {
    throw file_error{"its dtype '" + printable(header.descr) +
                     "' is not a number or void of 1, 2 or 4 bytes"};
  }
  if (order == '>' && width != "1") {
    throw file_error{"its dtype '" + header.descr + "' is big-endian; only little-endian is read"};
  }
  header.kind       = text.front();
  header.value_bits = static_cast<std::uint32_t>(width.front() - '0') * 8;
}

void take_shape(literal& source, npy_header& header) {
  std::vector<std::uint64_t> shape;
  source.expect('(');
  while (!source.take(')')) {
    shape.push_back(source.number());
    source.take('L');  // Python 2's long
    if (!source.take(',') && source.peek() != ')') literal::fail("',' or ')' in its shape");
  }
  header.rows = 1;
  header.cols = shape.empty() ? 1 : shape.back();
  bool empty  = false;  // a 0 anywhere before it hides an overflow, whatever the order
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) empty = empty || shape[i] == 0;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) {
    header.rows = empty ? 0 : bs::detail::checked_mul(header.rows, shape[i]);
  }
  if (header.rows == bs::size_overflow) throw file_error{"its shape overflows 64 bits"};
}

}  // namespace

npy_header parse_npy_dictionary(std::string_view text) {
  npy_header header{};
  literal source{text};
  bool has_descr = false, has_order = false, has_shape = false;
  source.expect('{');
  while (!source.take('}')) {
    std::string const key = source.quoted();
    source.expect(':');
    if (key == "descr") {
      take_descr(source, header);
      has_descr = true;
    } else if (key == "fortran_order") {
      if (source.take_word("True")) {
        throw file_error{"is in Fortran order; save it in C order (numpy.ascontiguousarray)"};
      }
      if (!source.take_word("False")) literal::fail("True or False as fortran_order");
      has_order = true;
    } else if (key == "shape") {
      take_shape(source, header);
      has_shape = true;
    } else {
      throw file_error{"its .npy header has an unknown key '" + printable(key) + "'"};
    }
    if (!source.take(',') && source.peek() != '}') literal::fail("',' or '}'");
  }
  if (!has_descr || !has_order || !has_shape) literal::fail("descr, fortran_order or shape");
  if (!source.at_end()) throw file_error{"its .npy header is malformed: text follows its '}'"};
  return header;
}

npy_header read_npy_header(input_file& file) {
  constexpr std::uint32_t max_header_bytes = 1 << 20;
  unsigned char start[8];  // magic, major, minor version
  if (file.remaining() < sizeof(start) + 2) throw file_error{"its .npy header ends early"};
  file.read(start, sizeof(start));
  if (start[6] < 1 || start[6] > 3 || start[7] != 0) {
    throw file_error{"is .npy version " + std::to_string(start[6]) + "." +
                     std::to_string(start[7]) + "; 1.0, 2.0 and 3.0 are read"};
  }
  std::uint32_t const length_bytes = start[6] == 1 ? 2 : 4;
  std::uint32_t length             = 0;  // little-endian, so that two bytes fill the low half
  if (file.remaining() < length_bytes) throw file_error{"its .npy header ends early"};
  file.read(&length, length_bytes);
  if (length > file.remaining()) throw file_error{"its .npy header ends early"};
  if (length > max_header_bytes) throw file_error{"its .npy header is longer than 1 MiB"};
  std::string text(length, ' ');
  file.read(text.data(), length);
  return parse_npy_dictionary(text);
}

bs::element_id element_of(npy_header const& header, std::optional<bs::element_id> asked) {
  std::string const dtype = "its dtype '" + header.descr + "'";
  if (header.kind == 'f' && header.value_bits > 8) {
    auto const said = header.value_bits == 16 ? bs::element_id::fp16 : bs::element_id::fp32;
    if (asked && *asked != said) {
      throw file_error{dtype + " is " + name_of(said) + ", but --dtype says " + name_of(*asked)};
    }
    return said;
  }
  if (!asked) {
    throw file_error{dtype + " does not say what the bits mean: add --dtype (" +
                     element_names(header.value_bits) + ")"};
  }
  if (value_bits_of(*asked) != header.value_bits) {
    throw file_error{dtype + " has " + std::to_string(header.value_bits) +
                     "-bit values, but --dtype " + name_of(*asked) + " has " +
                     std::to_string(value_bits_of(*asked))};
  }
  return *asked;
}

}  // namespace inspect
