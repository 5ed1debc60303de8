// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// An architecture that is too old is refused with what to do.
// expect: bitsparse needs sm_80 or newer
// flags: -arch=sm_75
#include <bitsparse/config.hpp>
