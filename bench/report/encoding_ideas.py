#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""What other encodings would make of activations: sizes, computed without writing a chunk. Needs numpy.

    encoding_ideas.py FILE ... > ideas.json

A FILE holds bf16 bit patterns without a header: a matrix of 3072 columns, in whole tiles. A row of the output is one
idea on one file. A tile takes the smallest of codec compact's encodings and the idea's, by docs/format.md's rules.

    compressed_bytes   chunks in units of 16 bytes, and 8 bytes of directory per tile; for rows "bound: ..." neither
    gain_percent       bytes saved of those of codec compact, for the same element with its default tile
    entropy_fraction   of the bound "mask and exponent entropy": mask, sign and exponent with their entropy of order 0
                       over the whole tensor, plain mantissas
    mask_bytes         of all mask streams, carried words included; directory_bytes, padding_bytes: what they say

Other elements than bf16 are the same values rounded to nearest even: fp16 as they are, e4m3 and e5m2 scaled so that the
file's largest value becomes the element's largest.
"""
import json
import pathlib
import sys
from typing import NamedTuple

import numpy as np

COLS, UNIT_BYTES, DESCRIPTOR_BYTES = 3072, 16, 8
KEEP = (31, 32)  # a mask form besides flat must leave this fraction of the units, or less
NEVER = 1 << 20  # units of a form that a tile cannot take
NOW = "codec compact"


class Element(NamedTuple):
    bits: int
    mantissa_bits: int
    bias: int
    largest: float  # to which values are scaled, if at all
    tile: tuple  # (rows, columns)


ELEMENTS = {"bf16": Element(16, 7, 127, None, (32, 128)), "fp16": Element(16, 10, 15, None, (32, 128)),
            "e4m3": Element(8, 3, 7, 448.0, (32, 256)), "e5m2": Element(8, 2, 15, 57344.0, (32, 256))}


def ceil_div(a, b):
    return -(-a // b)


def entropy(counts, of=None):
    """Bits per symbol, along the last axis, of an ideal code for the counts `of`, or for `counts` themselves."""
    of = counts if of is None else of
    p = of / np.maximum(of.sum(-1, keepdims=True), 1)
    return -(counts * np.log2(np.where(p > 0, p, 1))).sum(-1) / np.maximum(counts.sum(-1), 1)


def convert(bf16, element):
    """The values' bit patterns as another element."""
    values = (bf16.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    magnitude = np.abs(values) * (element.largest / np.abs(values).max() if element.largest else 1)
    exponent = np.maximum(np.frexp(magnitude)[1] - 1, 1 - element.bias)
    steps = np.rint(np.ldexp(magnitude, element.mantissa_bits - exponent)).astype(np.int64)
    bits = np.where(steps > 0, ((exponent + element.bias - 1) << element.mantissa_bits) + steps, 0)
    return bits | np.signbit(values).astype(np.int64) << (element.bits - 1)


class Tiles:
    """The tiles of a matrix of bit patterns, and what their sizes depend on."""

    def __init__(self, matrix, element, shape=None):
        rows, cols = self.shape = shape or element.tile
        grid = matrix.astype(np.int64).reshape(matrix.shape[0] // rows, rows, -1, cols).swapaxes(1, 2)
        self.values = grid.reshape(-1, rows * cols)  # (tiles, values)
        self.num, self.size = self.values.shape
        self.mask = self.values != 0
        self.kept = self.mask.sum(1)
        self.element = element
        self.positive = ~(self.values >> (element.bits - 1)).any(1)

    def high(self, shift):
        """(tiles, values): the bits from `shift` up to the sign bit, and how many codes they have."""
        codes = 1 << (self.element.bits - 1 - shift)
        return (self.values >> shift) % codes, codes

    def histogram(self, shift):
        """(tiles, codes): kept values by high bits."""
        high, codes = self.high(shift)
        field = (np.arange(self.num)[:, None] * codes + high)[self.mask]
        return np.bincount(field, minlength=self.num * codes).reshape(self.num, codes)

    def planes(self, *widths):
        """Bytes of streams of so many bits per kept value, each a multiple of 4."""
        return sum(ceil_div(np.ceil(self.kept * bits).astype(np.int64), 32) * 4 for bits in widths)


# Mask forms -----------------------------------------------------------------------------------------------------------


class Mask(NamedTuple):
    words: np.ndarray  # (tiles,) of the mask stream
    fits: np.ndarray = True


def flat(tiles):
    return Mask(np.full(tiles.num, tiles.size // 32))


def two_level(tiles):
    return Mask(tiles.size // 256 + ceil_div(tiles.mask.reshape(tiles.num, -1, 8).any(2).sum(1), 4))


def elias_fano(tiles, lower=(3, 8), limit=7, indices=None):
    """The kept values' indices below `indices`, l from `lower`, for at most limit/32 of the values."""
    indices = np.full(tiles.num, tiles.size) if indices is None else indices
    bits = np.full(tiles.num, lower[0])
    for _ in range(*lower):
        bits += (bits < lower[1]) & (indices >> (bits + 1) > tiles.kept)
    upper = ceil_div(tiles.kept + ceil_div(indices, 1 << bits), 32)
    return Mask(upper + ceil_div(bits * tiles.kept, 32), tiles.kept <= tiles.size // 32 * limit)


def live(tiles, coded):
    """A bitmap of the rows and columns that keep anything, then the mask of those, flat or Elias-Fano coded."""
    grid = tiles.mask.reshape(-1, *tiles.shape)
    cells = grid.any(1).sum(1) * grid.any(2).sum(1)
    words = elias_fano(tiles, (0, 8), indices=cells).words if coded else ceil_div(cells, 32)
    return Mask(ceil_div(sum(tiles.shape), 32) + words)


# Value forms ----------------------------------------------------------------------------------------------------------


class Values(NamedTuple):
    bytes: np.ndarray  # (tiles,) of the planes before the mask stream
    tail: np.ndarray = 0  # (tiles,) bytes behind it
    carries: bool = False  # one mask bit per kept value
    fits: np.ndarray = True


def window(tiles, shift, code_bits, planes, carries=False, quarters=None):
    """The high bits as a code above the least of the tile, or of each quarter of its rows or columns."""
    rows, cols = tiles.shape
    split = {None: (1, rows, 1, cols), "rows": (4, rows // 4, 1, cols), "columns": (1, rows, 4, cols // 4)}[quarters]
    high, codes = tiles.high(shift)
    most = np.where(tiles.mask, high, -1).reshape(-1, *split).max((2, 4))
    least = np.where(tiles.mask, high, codes).reshape(-1, *split).min((2, 4))
    fits = tiles.positive & (most - least < 1 << code_bits).all((1, 2))
    return Values(tiles.planes(*planes), 4 if quarters else 1, carries, fits)


def listed(tiles, shift, code_bits, planes, carries=False, entry_bits=4, below=None):
    """A window, and a list of the values outside it. An entry of 24 or 16 bits is a patch: which value (16 or 12 bits)
    and its high bits; a byte counts them. One of 8 or 4 bits is an escape: high bits alone, in order, of the values
    that have the last code. In 4 bits, high bits are counted outside the window and from a start that is a byte. The
    window ends at the largest value or up to `below` codes lower, or lies anywhere: where it holds the most."""
    is_patch = entry_bits > 8
    width = (1 << code_bits) - (not is_patch)
    counts = tiles.histogram(shift)
    codes = counts.shape[1]
    sums = np.pad(counts, ((0, 0), (1, width))).cumsum(1)
    inside = sums[:, width:] - sums[:, :-width]  # (tiles, bases)
    largest = codes - 1 - (counts[:, ::-1] > 0).argmax(1)
    bases = largest[:, None] - width + 1 - np.arange(codes if below is None else below + 1)
    others = tiles.kept - np.take_along_axis(inside, np.maximum(bases, 0), 1).max(1)
    span = largest - (counts > 0).argmax(1) + 1
    fits = tiles.positive & ((entry_bits in (24, 8)) | (span <= 16 + width)) & ((others < 256) | (not is_patch))
    return Values(tiles.planes(*planes), 2 + ceil_div(others * entry_bits, 8), carries, fits)


def ideal(tiles, table):
    """Exponents of an entropy coder of order 0 that wastes nothing and whose tables take no room."""
    counts = tiles.histogram(tiles.element.mantissa_bits)
    bits = entropy(counts, counts.sum(0) if table == "tensor" else counts)
    return Values(tiles.planes(tiles.element.mantissa_bits + bits), fits=tiles.positive)


# The choice, and bounds -----------------------------------------------------------------------------------------------


def smallest(candidates):
    stack = np.array(candidates)  # (candidates, 3, tiles)
    return np.take_along_axis(stack, stack[:, 0].argmin(0)[None, None], 0)[0]


def encode(tiles, values, masks, keep=KEEP):
    """(3, tiles): units, bytes before padding, mask words. `masks` are the forms besides flat."""
    def chunk(mask, value):
        carried = np.minimum(tiles.kept // 32, mask.words) if value.carries else 0
        size = value.bytes + 4 * (mask.words - carried) + value.tail
        return [np.where(mask.fits & value.fits, ceil_div(size, UNIT_BYTES), NEVER), size, mask.words]

    dense = np.full(tiles.num, tiles.size * tiles.element.bits // 8)
    best = smallest([[dense // UNIT_BYTES, dense, 0 * dense]] + [chunk(flat(tiles), value) for value in values])
    if masks:
        other = smallest([chunk(mask, value) for mask in masks for value in values])
        best = np.where(other[0] * keep[1] <= best[0] * keep[0], other, best)
    return np.where(tiles.kept > 0, best, 0)


def bounds(tiles):
    """Bytes for the whole tensor."""
    plain, mantissa_bits = tiles.element.bits - 1, tiles.element.mantissa_bits
    kept = tiles.values[tiles.mask]
    d = kept.size / tiles.values.size
    mask, sign = entropy(np.array([d, 1 - d])), entropy(np.bincount(kept >> plain))
    exponent = entropy(tiles.histogram(mantissa_bits).sum(0))
    bits = {"mask and exponent entropy": mask + d * (sign + exponent + mantissa_bits),
            f"H(d) + {plain}d": mask + plain * d, f"1 + {plain}d": 1 + plain * d}
    return {name: int(np.ceil(tiles.values.size * b / 8)) for name, b in bits.items()}


# The ideas ------------------------------------------------------------------------------------------------------------

# shift, bits of a code, planes, whether one of these is a bit wider and carries the mask
WINDOWS = [(8, 3, (8, 4), True), (8, 4, (8, 4), False)]
EXPONENTS = {"bf16": (7, 3, (8, 2), False), "fp16": (10, 3, (8, 2, 4), True), "e4m3": (3, 3, (4, 2), False),
             "e5m2": (2, 3, (2, 4), True)}
OTHER_WINDOWS = {
    "fp16": {"high 7 bits in 3 or 4": WINDOWS,
             "exponents in 3 or 4 bits": [EXPONENTS["fp16"], (10, 4, (8, 2, 4))]},
    "e4m3": {"high nibbles in 2 bits": [(4, 2, (4, 2))], "exponents in 3 bits": [EXPONENTS["e4m3"]]},
    "e5m2": {"high nibbles in 2 bits": [(4, 2, (4, 2))], "exponents in 3 bits": [EXPONENTS["e5m2"]]},
}
BASES = (("base at the top", 0), ("best of 3 bases", 2), ("best base", None))


def ideas(tiles, name):
    raw = Values(tiles.planes(tiles.element.bits))
    plain = [raw, raw._replace(carries=True, fits=tiles.positive)]
    values = plain + [window(tiles, *w) for w in WINDOWS if name == "bf16"]
    masks, from_2 = [elias_fano(tiles)], [elias_fano(tiles, (2, 8), 8)]
    escapes = listed(tiles, *EXPONENTS[name])

    yield NOW, encode(tiles, values, masks)
    yield "masks: Elias-Fano, l from 2", encode(tiles, values, from_2)
    if name == "bf16":
        yield from bf16_ideas(tiles, values, masks)
    for what, windows in OTHER_WINDOWS.get(name, {}).items():
        yield f"windows: {what}", encode(tiles, values + [window(tiles, *w) for w in windows], masks)
    for base, below in BASES:
        for bits in (8, 4):
            more = [listed(tiles, *EXPONENTS[name], bits, below)]
            yield f"escapes of {bits} bits: exponents in 3 bits, {base}", encode(tiles, values + more, masks)
    yield "escapes of 4 bits: exponents in 3 bits, best base; no windows", encode(tiles, plain + [escapes], masks)
    yield "escapes of 4 bits: exponents in 3 bits, best base; l from 2", encode(tiles, values + [escapes], from_2)
    for table in ("tile", "tensor"):
        coder = f"upper bound of an entropy coder for exponents, one free table per {table}"
        yield coder, encode(tiles, values + [ideal(tiles, table)], masks)


def bf16_ideas(tiles, values, masks):
    lives = [live(tiles, False), live(tiles, True)]
    for threshold, keep in (("1/32", (31, 32)), ("1/16", (15, 16)), ("none", (1, 1))):
        yield f"two_level masks (before), threshold {threshold}", encode(tiles, values, [two_level(tiles)], keep)
    yield "masks: flat only", encode(tiles, values, [])
    yield "masks: two_level besides", encode(tiles, values, masks + [two_level(tiles)])
    yield "masks: Elias-Fano, l = 3", encode(tiles, values, [elias_fano(tiles, (3, 3))])
    yield "masks: Elias-Fano, l = 4", encode(tiles, values, [elias_fano(tiles, (4, 4))])
    yield "masks: threshold none", encode(tiles, values, masks, (1, 1))
    yield "masks: live rows and columns, flat", encode(tiles, values, masks + lives[:1])
    yield "masks: live rows and columns, flat or Elias-Fano", encode(tiles, values, masks + lives)
    for part in ("rows", "columns"):
        more = [window(tiles, *w, quarters=part) for w in WINDOWS]
        yield f"windows: one per quarter of the {part}", encode(tiles, values + more, masks)
    for base, below in BASES[::2]:
        three = listed(tiles, *WINDOWS[0], 24, below)
        two = listed(tiles, 8, 2, (8, 2), False, 24, below)
        exponents = listed(tiles, *EXPONENTS["bf16"], 16, below)
        yield f"patches of 24 bits: high 7 bits in 3, {base}", encode(tiles, values + [three], masks)
        yield f"patches of 24 bits: high 7 bits in 2, {base}", encode(tiles, values + [two], masks)
        yield f"patches of 24 bits: high 7 bits in 2 or 3, {base}", encode(tiles, values + [two, three], masks)
        yield f"patches of 12 + 4 bits: exponents in 3 bits, {base}", encode(tiles, values + [exponents], masks)


def rows_of(file, bf16):
    for name, element in ELEMENTS.items():
        matrix = bf16 if name == "bf16" else convert(bf16, element)
        tiles, double = Tiles(matrix, element), Tiles(matrix, element, (64, element.tile[1]))
        limits = bounds(tiles)
        results = dict(ideas(tiles, name))
        results["tiles of 16 KiB"] = next(ideas(double, name))[1]
        results.update({f"bound: {bound}": size for bound, size in limits.items()})
        for idea, chosen in results.items():
            parts, total = {}, chosen
            if not isinstance(chosen, int):
                units, size, mask_words = chosen
                parts = {"mask_bytes": int(mask_words.sum()) * 4, "directory_bytes": DESCRIPTOR_BYTES * units.size,
                         "padding_bytes": int((units * UNIT_BYTES - size).sum())}
                total = int(units.sum()) * UNIT_BYTES + parts["directory_bytes"]
            now = total if idea == NOW else now
            dense = matrix.size * element.bits // 8
            yield {"file": file, "element": name, "idea": idea, "dense_bytes": dense, "compressed_bytes": total,
                   **parts, "ratio": round(dense / total, 4), "gain_percent": round(100 * (1 - total / now), 2),
                   "entropy_fraction": round(limits["mask and exponent entropy"] / total, 4)}


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    found = [row for path in map(pathlib.Path, sys.argv[1:])
             for row in rows_of(path.name, np.fromfile(path, "<u2").reshape(-1, COLS))]
    print("[\n  " + ",\n  ".join(map(json.dumps, found)) + "\n]")
