// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// README's example of the library on the host: compress a matrix, restore it, compare.

// [example]
#include <bitsparse/format/host_codec.hpp>
#include <cstdio>
#include <vector>

namespace bs = bitsparse;

int main() {
  using format             = bs::default_format<bs::bf16>;               // tiles of 32 x 128 values
  std::uint64_t const rows = 100, cols = 200;                            // any shape
  std::vector<std::uint16_t> dense(rows * cols), restored(rows * cols);  // bf16 bit patterns
  for (std::size_t i = 0; i < dense.size(); i += 7) dense[i] = 0x3f80;   // 1.0 among zeros

  std::vector<bs::tile_descriptor> directory(bs::num_tiles<format>(rows, cols));
  std::vector<std::byte> payload(bs::max_payload_bytes<format>(rows, cols));
  bs::compressed_view<format> packed{rows, cols, directory.data(), payload.data(), payload.size()};

  std::uint64_t used_bytes = 0;
  bs::status done          = bs::host::compress<format, bs::codec::compact>(
      {dense.data(), rows, cols, cols}, packed, used_bytes);
  if (done.ok()) done = bs::host::decompress<format>(packed, {restored.data(), rows, cols, cols});

  std::printf("%s: %zu bytes in %zu\n", done.text(), 2 * dense.size(), std::size_t{used_bytes});
  return done.ok() && restored == dense ? 0 : 1;
}
// [/example]
