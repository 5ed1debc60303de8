// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The same test of the code for sm_80, which newer devices compile from PTX when it is loaded.
#include "warp_copier_test.cu"
