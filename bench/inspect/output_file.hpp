// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// Writing a file whole or not at all.
#pragma once

#include <string>

#include <bench/support/aligned_buffer.hpp>

namespace inspect {

/// Asks whether a file can be written there: nothing is there yet, or a regular file.
/// Errors: throws file_error, which says what to do instead.
void check_output(std::string const& path);

/// Writes a file under a temporary name in the same folder, then renames it. A symbolic link stays,
/// and the file it points to is replaced; permissions stay too.
/// Errors: throws file_error.
/// Guarantee: what was there before stays until the new file is complete, and the temporary is
///   removed on failure, or if SIGINT, SIGTERM or SIGHUP ends the program.
void write_file(std::string const& path, bench::aligned_buffer const& bytes);

}  // namespace inspect
