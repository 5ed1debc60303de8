// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// How activations are kept where multiplications take e4m3. All of them store r in e4m3, and give
/// the second multiplication what was not yet rounded, rounded once.
#pragma once

#include <cstdint>
#include <memory>

#include <bench/ffn_training/fp8_network.hpp>
#include <bench/ffn_training/storage.hpp>

namespace ffn {

/// Saves r, by one element-wise kernel each way.
std::unique_ptr<activation_storage> make_fp8_dense_storage(fp8_network& of,
                                                           dense_matrices& matrices);

/// Saves nothing and multiplies once more.
std::unique_ptr<activation_storage> make_fp8_recomputing_storage(fp8_network& of);

/// Saves r in an arena.
std::unique_ptr<compressed_storage> make_fp8_compressed_storage(fp8_network& of,
                                                                codec_choice codec,
                                                                int num_layers,
                                                                slab_counts slabs,
                                                                device_allocations& memory);

}  // namespace ffn
