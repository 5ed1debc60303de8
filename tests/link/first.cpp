// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// One of two translation units that include every header that a plain C++ compiler can read.
#include <all_headers.hpp>

// The same inline code is instantiated in both units, so that a function that should be inline and
// is not shows as a duplicate symbol.
std::uint64_t first_unit() {
  using format                 = bitsparse::default_format<bitsparse::bf16>;
  std::uint64_t needed         = 1;
  bitsparse::status const done = bitsparse::host::compress<format, bitsparse::codec::compact>(
      {}, bitsparse::compressed_view<format>{}, needed);
  return done.ok() ? needed : 1;
}
