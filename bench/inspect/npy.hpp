// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The header of NumPy's .npy files.
/// Source: NumPy's description of the format, numpy.lib.format, versions 1.0, 2.0 and 3.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <bench/inspect/input_file.hpp>
#include <bitsparse/format/element.hpp>

namespace inspect {

/// The first six bytes.
inline constexpr std::string_view npy_magic{"\x93NUMPY", 6};

/// A matrix in C order: one dimension is one row, leading dimensions are multiplied into rows.
struct npy_header {
  std::string descr;         // as written, such as "<u2"
  char kind;                 // 'f', 'u', 'i' or 'V'
  std::uint32_t value_bits;  // 8, 16 or 32
  std::uint64_t rows;
  std::uint64_t cols;
};

/// Parses the Python literal that follows magic, version and length.
/// Errors: throws file_error with what is not as it should be.
npy_header parse_npy_dictionary(std::string_view text);

/// Reads from the file's first byte to the first value.
/// Errors: throws file_error.
npy_header read_npy_header(input_file& file);

/// The element of the values: the header's, if its dtype is a float that says it, else the asked
/// one if its width fits.
/// Errors: throws file_error: nothing says what the bits mean, or the two contradict.
bitsparse::element_id element_of(npy_header const& header,
                                 std::optional<bitsparse::element_id> asked);

}  // namespace inspect
