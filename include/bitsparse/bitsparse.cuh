// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The umbrella: everything but the opt-in integrations.
#pragma once

// The formats, the host codec and the serialised form: plain C++17
#include <bitsparse/format/host_codec.hpp>
#include <bitsparse/format/serialized.hpp>
#include <bitsparse/format/size.hpp>
#include <bitsparse/format/visit_format.hpp>
#include <bitsparse/version.hpp>

// Device functions for a user's own kernels
#include <bitsparse/block/block_decoder.cuh>
#include <bitsparse/block/block_encoder.cuh>
#include <bitsparse/block/thread_group.cuh>
#include <bitsparse/block/tile_arrangement.cuh>
#include <bitsparse/block/tile_transposer.cuh>

// Operations on a plain buffer in device memory
#include <bitsparse/device/compress.cuh>
#include <bitsparse/device/cuda_types.cuh>
#include <bitsparse/device/decompress.cuh>
#include <bitsparse/device/op.cuh>
#include <bitsparse/device/operands.cuh>
#include <bitsparse/device/report.cuh>

// An arena of fixed memory that tensors share
#include <bitsparse/arena/arena.cuh>
#include <bitsparse/arena/codec_choice.hpp>
#include <bitsparse/arena/compressed_tensor.cuh>
#include <bitsparse/arena/offload.cuh>
#include <bitsparse/arena/offloader.cuh>
#include <bitsparse/arena/operations.cuh>
#include <bitsparse/arena/planner.hpp>
#include <bitsparse/arena/statistics.cuh>
