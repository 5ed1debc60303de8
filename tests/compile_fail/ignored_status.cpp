// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// A status that nobody looks at is a warning, here an error.
// expect: ignoring return(ed)? value.*(nodiscard|unused-result|unused-value)
#include <cstdint>

#include <bitsparse/format/host_codec.hpp>

namespace bs = bitsparse;

int main() {
  using format         = bs::default_format<bs::bf16>;
  std::uint64_t needed = 0;
#ifdef BITSPARSE_EXPECT_FAILURE
  bs::host::compress<format, bs::codec::sign>({}, bs::compressed_view<format>{}, needed);
  return 0;
#else
  bs::status const done =
      bs::host::compress<format, bs::codec::sign>({}, bs::compressed_view<format>{}, needed);
  return done.ok() ? 0 : 1;
#endif
}
