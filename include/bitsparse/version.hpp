// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The library's version: the one place it is written; CMake reads it from here.
#pragma once

#define BITSPARSE_VERSION_MAJOR 0
#define BITSPARSE_VERSION_MINOR 1
#define BITSPARSE_VERSION_PATCH 0
