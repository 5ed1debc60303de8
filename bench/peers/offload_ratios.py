#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""What activations compress to on their way to host memory, by method: ratios alone, no times. Needs numpy,
scikit-learn, Pillow, and bitsparse_inspect, built.

    offload_ratios.py [--inspect PROGRAM] [FILE ...] > offload_ratios.json

A FILE holds bf16 bit patterns without a header, 3072 columns; without files, those of tests/data. The other tensors are
made by feature_maps.py. Each is taken as fp32, as bf16 (rounded to nearest even) and as e4m3 (the same, scaled so that
the tensor's largest value becomes 448; small values become zero). Every result is decompressed and compared. Methods:

    zvc        zero-value compression as in cDMA (Rhu et al., HPCA 2018): per 32 words a mask of 32 bits, and the words
               that are not zero. cDMA's words are fp32 values; here a word is a value of the element, 2 bytes in bf16
               and 1 in e4m3.
    rle        runs of zero and of other words, a variant of our own: a run of at most 128 words is a byte, its kind and
               its length less 1; behind one of others come the words.
    zlib_4k    deflate, level 6, every 4 KiB by themselves, without zlib's header and checksum
    zlib       the same over the whole tensor
    fast, sign, compact
               bitsparse's codecs with the default tile, chunks and 8 bytes of descriptor per tile. A FILE is a matrix
               of 3072 columns; of other tensors, a tile holds 8 KiB of consecutive values, and zeros fill the last row.

No method but bitsparse's is charged for an index, without which a reader has to start at the beginning.

In the output, a row of `training` is one network; of `layers`, one tensor: density, the mean length of a run of zeros
in memory order, and the bytes that it has dense and by each method. A row of `sets` is all layers of a set: `ratio` is
dense bytes over stored bytes of them together, `mean_ratio` the mean of the layers' ratios. The same seed gives the
same bytes with the same versions on the same kind of machine; on another one, the networks' sums may be rounded
differently.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: the same sums on any number of cores

import numpy as np

import feature_maps

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED, FILE_COLS, BLOCK_BYTES, MAX_RUN = 20180224, 3072, 4096, 128
TILE_COLS = {"fp32": 64, "bf16": 128, "e4m3": 256}  # of the default tiles, which all have 32 rows
CODECS = ("fast", "sign", "compact")
TRAINING = {"digits": (10, 200), "photographs": (2, 100)}  # classes, steps
BATCH, RATE = 32, 1e-3  # images per step; Adam's rate
TESTED, DUMPED = 384, 64  # images; those whose maps are compressed


# ----------------------------------------------------------------------------------------------------------------------
# Elements: bit patterns of float32 values, none of them negative
# ----------------------------------------------------------------------------------------------------------------------

def to_bf16(values):
    bits = values.view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def to_e4m3(values):
    scaled = values.astype(np.float64) * (448 / (float(values.max(initial=0)) or 1))
    exponent = np.maximum(np.frexp(scaled)[1] - 1, -6)
    bits = np.rint(np.ldexp(scaled, 3 - exponent)) + (exponent + 6) * 8  # with the hidden bit, which is 8
    return np.where(scaled > 0, bits, 0).astype(np.uint8)


ELEMENTS = {"fp32": lambda values: values.view(np.uint32), "bf16": to_bf16, "e4m3": to_e4m3}


# ----------------------------------------------------------------------------------------------------------------------
# Methods: from words to streams, and back
# ----------------------------------------------------------------------------------------------------------------------

def zvc(words):
    """The masks, a bit per word, and the words that are not zero."""
    present = np.zeros(-(-words.size // 32) * 32, bool)
    present[:words.size] = words != 0
    return [np.packbits(present, bitorder="little").view("<u4"), words[words != 0]]


def zvc_back(streams, like):
    masks, kept = streams
    words = np.zeros_like(like)
    words[np.unpackbits(masks.view(np.uint8), count=like.size, bitorder="little").astype(bool)] = kept
    return words


def runs(flags):
    """(values, lengths) of the runs of equal flags."""
    starts = np.flatnonzero(np.concatenate(([True], flags[1:] != flags[:-1])))[:flags.size]
    return flags[starts], np.diff(starts, append=flags.size)


def rle(words):
    """A byte per run, whose highest bit is set if its words are not zero; and those words."""
    kinds, lengths = runs(words != 0)
    pieces = -(-lengths // MAX_RUN)
    tokens = np.repeat(kinds * np.uint8(0x80), pieces) + np.uint8(MAX_RUN - 1)
    tokens[np.cumsum(pieces) - 1] -= (pieces * MAX_RUN - lengths).astype(np.uint8)
    return [tokens, words[words != 0]]


def rle_back(streams, like):
    tokens, kept = streams
    words = np.zeros_like(like)
    words[np.repeat(tokens >= 0x80, (tokens & 0x7f).astype(np.int64) + 1)] = kept
    return words


def deflate(words, block_bytes):
    """One stream per block."""
    data, streams = words.tobytes(), []
    for start in range(0, len(data), block_bytes):
        compressor = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
        block = compressor.compress(data[start:start + block_bytes]) + compressor.flush()
        streams.append(np.frombuffer(block, np.uint8))
    return streams


def deflate_back(streams, like):
    return np.frombuffer(b"".join(zlib.decompress(stream, -zlib.MAX_WBITS) for stream in streams), like.dtype)


METHODS = {"zvc": (zvc, zvc_back), "rle": (rle, rle_back),
           "zlib_4k": (lambda words: deflate(words, BLOCK_BYTES), deflate_back),
           "zlib": (lambda words: deflate(words, max(words.nbytes, 1)), deflate_back)}


def stored_bytes(method, words):
    """Errors: RuntimeError if they do not come back as they were."""
    forward, back = METHODS[method]
    streams = forward(words)
    if not np.array_equal(back(streams, words), words):
        raise RuntimeError(f"{method}: the words did not come back as they were")
    return sum(stream.nbytes for stream in streams)


def bitsparse_bytes(program, element, words, cols):
    """{codec: bytes}. Errors: subprocess.CalledProcessError, where the program fails or a bit differs."""
    rows = -(-words.size // cols)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "values.bin"
        file.write_bytes(words.tobytes() + bytes((rows * cols - words.size) * words.itemsize))
        options = ["--dtype", element, "--shape", f"{rows}x{cols}", "--codec", "choose", "--backend", "host", "--json"]
        lines = subprocess.run([program, *options, file], stdout=subprocess.PIPE, check=True).stdout.splitlines()
    return {row["codec"]: row["compressed_bytes"] for row in map(json.loads, lines) if "codec" in row}


# ----------------------------------------------------------------------------------------------------------------------
# The sets: (set, columns by element, [(layer, values)])
# ----------------------------------------------------------------------------------------------------------------------

def dumps(files):
    for file in files:
        values = (np.fromfile(file, "<u2").astype(np.uint32) << 16).view(np.float32)
        yield file.name, values.reshape(-1, FILE_COLS)


def trained_network(images, rng):
    """What training on a set of images came to; the feature maps of some of the test images before and after."""
    classes, steps = TRAINING[images]
    (x, labels), (test, test_labels) = getattr(feature_maps, images)(rng, TESTED)
    network = feature_maps.Network(x.shape[1:], classes, rng)
    row = {"images": images, "train_images": len(x), "test_images": TESTED, "dumped_images": DUMPED,
           "classes": classes, "steps": steps, "batch": BATCH, "rate": RATE,
           "accuracy_before": round(network.accuracy(test, test_labels), 4)}
    before = list(network.feature_maps(test[:DUMPED]))
    losses = []
    for _ in range(steps):
        batch = rng.integers(len(x), size=BATCH)
        losses.append(network.step(x[batch], labels[batch], RATE))
    row.update({"accuracy": round(network.accuracy(test, test_labels), 4),
                "loss_first_10": round(float(np.mean(losses[:10])), 4),
                "loss_last_10": round(float(np.mean(losses[-10:])), 4)})
    return row, before, list(network.feature_maps(test[:DUMPED]))


def all_sets(files, trained):
    """@param[out] trained gets a row per network"""
    root = np.random.default_rng(SEED)
    yield "language model", dict.fromkeys(ELEMENTS, FILE_COLS), dumps(files)
    for mask in ("uniform", "clustered"):
        for name, layers, images in (("AlexNet", feature_maps.ALEXNET, 4), ("VGG-16", feature_maps.VGG_16, 1)):
            make_mask = getattr(feature_maps, f"{mask}_mask")
            maps = feature_maps.synthetic(layers, images, make_mask, root.spawn(1)[0])
            yield f"{name}, rounded, {mask}", TILE_COLS, maps
    for images in TRAINING:
        row, before, after = trained_network(images, root.spawn(1)[0])
        trained.append(row)
        yield f"network, {images}, before training", TILE_COLS, before
        yield f"network, {images}, trained", TILE_COLS, after


# ----------------------------------------------------------------------------------------------------------------------
# Rows
# ----------------------------------------------------------------------------------------------------------------------

def measure(program, values, cols):
    """A row per element."""
    for element, convert in ELEMENTS.items():
        words = convert(np.ascontiguousarray(values).ravel())
        kinds, lengths = runs(words != 0)
        yield {"shape": list(values.shape), "element": element, "density": round(float((words != 0).mean()), 6),
               "mean_zero_run": 0 if kinds.all() else round(float(lengths[~kinds].mean()), 3), "dense": words.nbytes,
               **{method: stored_bytes(method, words) for method in METHODS},
               **bitsparse_bytes(program, element, words, cols[element])}


def summarise(layers):
    """A row per set and element."""
    for name, element in dict.fromkeys((row["set"], row["element"]) for row in layers):
        rows = [row for row in layers if (row["set"], row["element"]) == (name, element)]
        dense, methods = sum(row["dense"] for row in rows), (*METHODS, *CODECS)
        yield {"set": name, "element": element, "layers": len(rows), "dense": dense,
               "density": round(sum(row["density"] * row["dense"] for row in rows) / dense, 4),
               "ratio": {method: round(dense / sum(row[method] for row in rows), 4) for method in methods},
               "mean_ratio": {method: round(sum(row["dense"] / row[method] for row in rows) / len(rows), 4)
                              for method in methods}}


def versions(program):
    import PIL
    import sklearn
    printed = subprocess.run([program, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return {"bitsparse": printed.split()[-1], "python": sys.version.split()[0], "numpy": np.__version__,
            "scikit-learn": sklearn.__version__, "pillow": PIL.__version__, "zlib": zlib.ZLIB_RUNTIME_VERSION}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--inspect", type=pathlib.Path, metavar="PROGRAM",
                        default=ROOT / "build-host" / "bench" / "bitsparse_inspect")
    options = parser.parse_args()
    files = options.files or sorted((ROOT / "tests" / "data").glob("*.bin"))
    head = {"command": " ".join(["offload_ratios.py", *(file.name for file in files)]),
            "versions": versions(options.inspect), "seed": SEED}
    trained, layers = [], []
    for name, cols, tensors in all_sets(files, trained):
        print(name, file=sys.stderr)
        layers += [{"set": name, "layer": layer, **row} for layer, values in tensors
                   for row in measure(options.inspect, values, cols)]
    head["cpu_seconds"] = round(sum(os.times()[:4]))
    parts = {"training": trained, "sets": list(summarise(layers)), "layers": layers}
    texts = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
    texts += [f'"{key}": [\n  ' + ",\n  ".join(map(json.dumps, rows)) + "\n ]" for key, rows in parts.items()]
    print("{" + ",\n ".join(texts) + "}")


if __name__ == "__main__":
    main()
