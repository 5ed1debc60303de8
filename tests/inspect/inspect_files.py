# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""Files for the tests of bitsparse_inspect, made with the standard library alone."""
import collections
import math
import random
import struct


def sparse_values(count, value_bytes, every=4):
    """`count` values of which about one in `every` is a positive pattern and the others are 0."""
    source = random.Random(count * 8 + value_bytes)
    top = (1 << (8 * value_bytes - 1)) - 1
    content = bytearray()
    for _ in range(count):
        value = source.randint(top // 2, top // 2 + top // 16) if source.randrange(every) == 0 else 0
        content += value.to_bytes(value_bytes, "little")
    return bytes(content)


def npy_from_text(text, content, version=1):
    """A .npy file whose header holds the text as it is."""
    header = text.encode("utf-8" if version == 3 else "latin1")
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + content


def npy(descr, shape, content, version=1, fortran=False):
    """A .npy file as NumPy writes it, padded so that the values start at a multiple of 64."""
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    start = 10 if version == 1 else 12
    return npy_from_text(text + " " * (-(start + len(text) + 1) % 64) + "\n", content, version)


def checksum(content):
    """The serialised form's checksum."""
    wrap, total = (1 << 64) - 1, 0
    for i, (word,) in enumerate(struct.iter_unpack("<Q", content)):
        mixed = (word + (i + 1) * 0x9E3779B97F4A7C15) & wrap
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & wrap
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & wrap
        total += mixed ^ mixed >> 31
    return total & wrap


def with_checksums(serialized):
    """The same file with both checksums made to match what it now holds."""
    header = serialized[:48] + struct.pack("<Q", checksum(serialized[64:]))
    return header + struct.pack("<Q", checksum(header)) + serialized[64:]


def entropy(counts):
    """Bits per symbol."""
    total = sum(counts)
    return -sum(count / total * math.log2(count / total) for count in counts if count)


def bf16_statistics(content):
    """Density and bounds of bf16 values, as the report names them."""
    values = [value for (value,) in struct.iter_unpack("<H", content)]
    kept = [value for value in values if value]
    density = len(kept) / len(values)
    mask_bits = entropy([len(kept), len(values) - len(kept)])
    sign_bits = entropy(collections.Counter(value >> 15 for value in kept).values())
    exponent_bits = entropy(collections.Counter(value >> 7 & 0xFF for value in kept).values())
    return {
        "density": density,
        "bound_ratio": 16 / (mask_bits + 15 * density),
        "entropy_ratio": 16 / (mask_bits + density * (sign_bits + exponent_bits + 7)),
    }
