// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What others offer for the same purpose, measured in the same program: rows
/// compress|decompress/peer:<name>/bf16/16000x21504/zeros:<share>, or .../bf16/<shape>/real:<file>.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// The values that a peer's rows are about: uniform zeros, or a sample of real activations, repeated.
struct peer_data {
  std::string name;  // of the shape and the values
  std::uint64_t rows, cols;
  double zeros                      = 0;
  std::vector<std::uint16_t> sample = {};  // bf16; none: uniform zeros
};
peer_data uniform_data(double zeros);

/// "cub": mask bits by ballot, cub::DeviceSelect, and the way back by hand.
void add_cub_peer(peer_data const& data);

/// "cusparse": dense to CSR with 32-bit indices, and back. No row in a build without cuSPARSE.
void add_cusparse_peer(peer_data const& data);

/// "nvcomp-bitcomp", "nvcomp-ans", "nvcomp-cascaded", "nvcomp-lz4": batches of 64 KiB chunks. No row
/// in a build without nvCOMP.
void add_nvcomp_peers(peer_data const& data);

}  // namespace bench
