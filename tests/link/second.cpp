// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The other of two translation units that include every header that a plain C++ compiler can read.
#include <all_headers.hpp>

std::uint64_t first_unit();

int main() {
  using format                 = bitsparse::default_format<bitsparse::bf16>;
  std::uint64_t needed         = 1;
  bitsparse::status const done = bitsparse::host::compress<format, bitsparse::codec::compact>(
      {}, bitsparse::compressed_view<format>{}, needed);
  return done.ok() && needed == 0 && first_unit() == 0 ? 0 : 1;
}
