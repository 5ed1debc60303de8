// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// No rows, in a build without nvCOMP.
#include <bench/peers/peers.hpp>

namespace bench {

void add_nvcomp_peers(peer_data const&) {}

}  // namespace bench
