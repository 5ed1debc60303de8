// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// What others offer for the same purpose, measured in the same program: rows
/// compress|decompress/peer:<name>/bf16/16000x21504/zeros:<share>.
#pragma once

namespace bench {

/// "cub": mask bits by ballot, cub::DeviceSelect, and the way back by hand.
void add_cub_peer(double zeros);

/// "cusparse": dense to CSR with 32-bit indices, and back. No row in a build without cuSPARSE.
void add_cusparse_peer(double zeros);

/// "nvcomp-bitcomp", "nvcomp-ans", "nvcomp-cascaded", "nvcomp-lz4": batches of 64 KiB chunks. No row
/// in a build without nvCOMP.
void add_nvcomp_peers(double zeros);

}  // namespace bench
