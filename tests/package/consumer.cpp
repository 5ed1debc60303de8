// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What a user's project compiles to see whether the library arrived: one round trip.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <bitsparse/format/host_codec.hpp>
#include <bitsparse/version.hpp>

namespace bs = bitsparse;

static_assert(__cplusplus >= EXPECTED_CPLUSPLUS);

int main() {
  using format                 = bs::tile_format<bs::bf16, 16, 16>;
  std::uint64_t const capacity = bs::max_payload_bytes<format>(20, 30);
  std::vector<std::uint16_t> dense(20 * 30), restored(20 * 30, 1);
  for (std::size_t i = 0; i < dense.size(); i += 3) dense[i] = static_cast<std::uint16_t>(i);
  std::vector<bs::tile_descriptor> directory(bs::num_tiles<format>(20, 30));
  std::vector<std::max_align_t> payload(capacity / sizeof(std::max_align_t) + 1);
  bs::compressed_view<format> const packed{
      20, 30, directory.data(), reinterpret_cast<std::byte*>(payload.data()), capacity};
  std::uint64_t needed = 0;
  if (!bs::host::compress<format, bs::codec::sign>({dense.data(), 20, 30, 30}, packed, needed).ok())
    return 1;
  if (!bs::host::decompress<format>(packed, {restored.data(), 20, 30, 30}).ok()) return 2;
  if (std::memcmp(dense.data(), restored.data(), 1200) != 0) return 3;
  std::printf("bitsparse %d.%d.%d\n",
              BITSPARSE_VERSION_MAJOR,
              BITSPARSE_VERSION_MINOR,
              BITSPARSE_VERSION_PATCH);
  return 0;
}
