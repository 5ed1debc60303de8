// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// LAYER 3: the Op template axis: element-wise arithmetic fused into compression and decompression.
#pragma once

#include <cstdint>
#include <type_traits>

#include <bitsparse/config.hpp>

namespace bitsparse {
inline namespace v0 {

/// Stores and restores the values as they are; the default.
struct identity {};

namespace detail {

template <class Op>
inline constexpr bool is_identity = std::is_same_v<Op, identity>;

}  // namespace detail
}  // namespace v0
}  // namespace bitsparse
