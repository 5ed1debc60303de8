// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// No rows, in a build without cuSPARSE.
#include <bench/peers/peers.hpp>

namespace bench {

void add_cusparse_peer(peer_data const&) {}

}  // namespace bench
