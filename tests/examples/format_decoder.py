#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""Decodes a serialised bitsparse tensor. Written from docs/format.md alone: it shares nothing with the library.

    format_decoder.py SERIALISED DENSE

writes the dense row-major bytes to DENSE and prints how many tiles each encoding has. It checks the header, the
checksums and the places of the chunks, but not that the bytes are canonical.
"""

import collections
import struct
import sys

VALUE_BYTES = {1: 2, 2: 2, 3: 4, 4: 1, 5: 1}  # by element number
NAMES = {
    0: "zero",
    1: "dense",
    2: "flat/raw",
    3: "flat/sign",
    4: "flat/window3",
    5: "flat/window4",
    6: "two_level/raw",
    7: "two_level/sign",
    8: "two_level/window3",
    9: "two_level/window4",
}
BF16 = 1


def require(condition, text):
    if not condition:
        raise ValueError(text)


def up(value, multiple):
    return -(-value // multiple) * multiple


def checksum(data):
    """Section 8."""
    modulus = (1 << 64) - 1
    total = 0
    for i, (word,) in enumerate(struct.iter_unpack("<Q", data)):
        x = (word + (i + 1) * 0x9E3779B97F4A7C15) & modulus
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & modulus
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & modulus
        total += x ^ (x >> 31)
    return total & modulus


def bits_of(data):
    """The bits of a byte string, lowest first."""
    return [byte >> i & 1 for byte in data for i in range(8)]


def bytes_of(bits):
    return bytes(sum(bit << i for i, bit in enumerate(bits[j : j + 8])) for j in range(0, len(bits), 8))


def read_mask(two_level, carried, rest, tile_values):
    """Sections 4.2 and 4.5: the mask's bits, and how many bytes of the rest belong to the stream."""
    stream = bytes_of(carried) + rest
    if not two_level:
        size = tile_values // 8
        mask = stream[:size]
    else:
        level_one_bytes = tile_values // 64
        level_one = bits_of(stream[:level_one_bytes])
        size = level_one_bytes + up(sum(level_one), 4)
        pieces = iter(stream[level_one_bytes:])
        mask = bytes(next(pieces) if bit else 0 for bit in level_one)
    require(len(mask) == tile_values // 8, "chunk: too short for its mask")
    return bits_of(mask), max(0, size - len(carried) // 8)


def decode_mask_form(encoding, element, kept, chunk, tile_values):
    """Sections 4.3 and 4.4: the tile's values, row-major, as integers."""
    value_bytes = VALUE_BYTES[element]
    two_level = encoding >= 6
    values_form = (encoding - 2) % 4  # 0 raw, 1 sign, 2 window3, 3 window4
    carriers = kept // 32 * 32
    if values_form < 2:
        stored = [int.from_bytes(chunk[k * value_bytes :][:value_bytes], "little") for k in range(kept)]
        sign_bit = 8 * value_bytes - 1
        carried = [value >> sign_bit for value in stored[:carriers]] if values_form == 1 else []
        rest_offset = up(kept * value_bytes, 4)
        mask, rest_bytes = read_mask(two_level, carried, chunk[rest_offset:], tile_values)
        values = [value & ~(1 << sign_bit) for value in stored] if values_form == 1 else stored
        end = rest_offset + rest_bytes
    else:
        require(element == BF16, "directory: a window form of an element that has none")
        nibble_offset = up(kept, 4)
        nibbles = [chunk[nibble_offset + k // 2] >> (4 * (k % 2)) & 15 for k in range(kept)]
        carried = [nibble >> 3 for nibble in nibbles[:carriers]] if values_form == 2 else []
        rest_offset = nibble_offset + up((kept + 1) // 2, 4)
        mask, rest_bytes = read_mask(two_level, carried, chunk[rest_offset:], tile_values)
        base = chunk[rest_offset + rest_bytes]
        code_bits = 7 if values_form == 2 else 15
        values = [(base + (nibbles[k] & code_bits)) << 8 | chunk[k] for k in range(kept)]
        end = rest_offset + rest_bytes + 1
    require(up(end, 16) == len(chunk), "chunk: its size is not the one its contents need")
    require(sum(mask) == kept, "chunk: its mask does not have as many bits set as values kept")
    next_value = iter(values)
    return [next(next_value) if bit else 0 for bit in mask]


def decode(data):
    """Returns the dense bytes and the number of tiles per encoding."""
    require(len(data) >= 64, "shorter than its header")
    magic, version, element, codec, reserved, tile_rows, tile_cols = struct.unpack_from("<8sIBBHII", data)
    rows, cols, payload_units, content_checksum, header_checksum = struct.unpack_from("<QQQQQ", data, 24)
    require(magic == bytes.fromhex("894253500d0a1a0a"), "magic")
    require(version == 1, "version")
    require(header_checksum == checksum(data[:56]), "header checksum")
    require(reserved == 0 and element in VALUE_BYTES and codec in (1, 2, 3), "header")
    value_bytes = VALUE_BYTES[element]
    tile_values = tile_rows * tile_cols
    require(
        tile_values > 0
        and tile_cols * value_bytes % 16 == 0
        and tile_values % 256 == 0
        and tile_values <= 16384
        and tile_values * value_bytes <= 16384,
        "geometry",
    )
    tiles_down, tiles_across = -(-rows // tile_rows), -(-cols // tile_cols)
    num_tiles = tiles_down * tiles_across
    chunks_offset = 64 + 8 * (num_tiles + num_tiles % 2)
    require(len(data) == chunks_offset + 16 * payload_units, "size")
    require(content_checksum == checksum(data[64:]), "content checksum")

    dense = bytearray(rows * cols * value_bytes)
    counts = collections.Counter()
    next_unit = 0
    for tile in range(num_tiles):
        first_row, first_col = tile // tiles_across * tile_rows, tile % tiles_across * tile_cols
        valid_rows, valid_cols = min(tile_rows, rows - first_row), min(tile_cols, cols - first_col)
        (word,) = struct.unpack_from("<Q", data, 64 + 8 * tile)
        units, kept, encoding, offset = word & 0x7FF, (word >> 11 & 0x3FFF) + 1, word >> 25 & 15, word >> 29
        require(encoding in NAMES, "directory: an encoding that is not assigned")
        counts[NAMES[encoding]] += 1
        if encoding == 0:
            require(word == 0, "directory: a zero tile's descriptor is not 0")
            continue
        require(offset == next_unit and next_unit + units <= payload_units, "directory: a chunk's place")
        next_unit += units
        chunk = data[chunks_offset + 16 * offset :][: 16 * units]
        if encoding == 1:
            stride = valid_cols * value_bytes
            require(up(valid_rows * stride, 16) == len(chunk), "chunk: a dense tile's size")
            tile_bytes = chunk
        else:
            stride = tile_cols * value_bytes
            values = decode_mask_form(encoding, element, kept, chunk, tile_values)
            tile_bytes = b"".join(value.to_bytes(value_bytes, "little") for value in values)
        for r in range(valid_rows):
            at = ((first_row + r) * cols + first_col) * value_bytes
            dense[at : at + valid_cols * value_bytes] = tile_bytes[r * stride :][: valid_cols * value_bytes]
    require(next_unit == payload_units, "directory: the payload is larger than the chunks")
    return bytes(dense), counts


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        dense, counts = decode(file.read())
    with open(sys.argv[2], "wb") as file:
        file.write(dense)
    for name, count in sorted(counts.items()):
        print(name, count)


if __name__ == "__main__":
    main()
