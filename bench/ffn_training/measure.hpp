// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The program's tasks. Each returns the program's exit status.
#pragma once

#include <bench/ffn_training/command_line.hpp>

namespace ffn {

/// Times all modes, interleaved, and reports time and memory against the dense mode.
int measure(options const& chosen);

/// Compares all modes' gradients with the dense mode's, bit for bit, also in replayed graphs while
/// the density changes.
int check(options const& chosen);

/// Runs many steps whose density changes over arenas that spill, and compares every 100th.
int soak(options const& chosen);

/// Trains a byte-level language model densely and compressed, and compares the losses' bits.
int train(options const& chosen);

}  // namespace ffn
