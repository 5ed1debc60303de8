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
    6: "elias_fano/raw",
    7: "elias_fano/sign",
    8: "elias_fano/window3",
    9: "elias_fano/window4",
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


def number(bits):
    """The number whose bits these are, lowest first."""
    return sum(bit << i for i, bit in enumerate(bits))


def elias_fano_layout(kept, tile_values):
    """Section 4.2: the lower bits of an index, and the words of the stream's upper and lower part."""
    lower_bits = max([l for l in range(3, 9) if tile_values >> l > kept], default=3)
    return lower_bits, up(kept + (tile_values >> lower_bits), 32) // 32, up(lower_bits * kept, 32) // 32


def read_indices(elias_fano, stream, kept, tile_values):
    """Section 4.2: the kept values' indices, from the bits of the mask stream."""
    if not elias_fano:
        return [i for i, bit in enumerate(stream) if bit]
    lower_bits, upper_words, _ = elias_fano_layout(kept, tile_values)
    positions = [position for position, bit in enumerate(stream[: 32 * upper_words]) if bit]
    lower = stream[32 * upper_words :]
    return [
        (position - k << lower_bits) + number(lower[lower_bits * k : lower_bits * (k + 1)])
        for k, position in enumerate(positions)
    ]


def decode_mask_form(encoding, element, kept, chunk, tile_values):
    """Sections 4.2 to 4.5: the tile's values, row-major, as integers."""
    value_bytes = VALUE_BYTES[element]
    elias_fano = encoding >= 6
    values_form = (encoding - 2) % 4  # 0 raw, 1 sign, 2 window3, 3 window4
    windowed = values_form >= 2
    require(element == BF16 or not windowed, "directory: a window form of an element that has none")
    most_kept = tile_values // 32 * 7 if elias_fano else tile_values
    require(kept <= most_kept, "directory: too many kept values")

    stream_words = sum(elias_fano_layout(kept, tile_values)[1:]) if elias_fano else tile_values // 32
    carried_words = min(kept // 32, stream_words) if values_form in (1, 2) else 0
    nibble_offset = up(kept, 4)
    rest_offset = nibble_offset + up((kept + 1) // 2, 4) if windowed else up(kept * value_bytes, 4)
    base_offset = rest_offset + 4 * (stream_words - carried_words)
    require(len(chunk) == up(base_offset + windowed, 16), "chunk: its size is not the one its contents need")

    if windowed:
        nibbles = [chunk[nibble_offset + k // 2] >> (4 * (k % 2)) & 15 for k in range(kept)]
        code_bits = 7 if values_form == 2 else 15
        values = [(chunk[base_offset] + (nibbles[k] & code_bits)) << 8 | chunk[k] for k in range(kept)]
        carried = [nibble >> 3 for nibble in nibbles]
    else:
        stored = [int.from_bytes(chunk[k * value_bytes :][:value_bytes], "little") for k in range(kept)]
        sign_bit = 8 * value_bytes - 1
        values = [value & ~(1 << sign_bit) for value in stored] if values_form == 1 else stored
        carried = [value >> sign_bit for value in stored]

    stream = carried[: 32 * carried_words] + bits_of(chunk[rest_offset:base_offset])
    indices = read_indices(elias_fano, stream, kept, tile_values)
    require(len(indices) == kept, "chunk: its mask does not have as many bits set as values kept")
    require(indices == sorted(set(indices)), "chunk: its values' places do not rise")
    require(indices[-1] < tile_values, "chunk: a value's place is outside the tile")
    tile = [0] * tile_values
    for index, value in zip(indices, values):
        tile[index] = value
    return tile


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
