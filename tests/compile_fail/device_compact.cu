// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: 2026 the bitsparse authors
/// @file
/// The device does not encode with codec compact yet, and says which codecs it has.
// expect: bitsparse: codec compact has no device encoder yet; use codec::sign or codec::fast
#include <bitsparse/device/compress.cuh>

namespace bs = bitsparse;

#ifdef BITSPARSE_EXPECT_FAILURE
using codec = bs::codec::compact;
#else
using codec = bs::codec::sign;
#endif

bs::status run(bs::const_matrix_view<bs::bf16> source,
               bs::device_tensor_view<bs::default_format<bs::bf16>> target) {
  return bs::compress<codec>(source, target, nullptr);
}
