#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""What general compressors of the host reach on activations: ratios alone, no times.

    host_ratios.py [FILE ...] > ratios.json

A file is bf16 bit patterns without a header, or anything else: its bytes are compressed as they are. Without files,
those of tests/data. Every result is decompressed and compared. zstd is the command of that
name; without it there are no zstd rows, and a note on stderr.
"""
import json
import lzma
import pathlib
import shutil
import subprocess
import sys
import zlib

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data"


def zlib_size(data, level):
    compressed = zlib.compress(data, level)
    assert zlib.decompress(compressed) == data
    return len(compressed)


def xz_size(data, level):
    compressed = lzma.compress(data, preset=level)
    assert lzma.decompress(compressed) == data
    return len(compressed)


def zstd(data, option):
    command = ["zstd", "--quiet", "--stdout", option]
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def zstd_size(data, level):
    compressed = zstd(data, f"-{level}")
    assert zstd(compressed, "--decompress") == data
    return len(compressed)


METHODS = {
    "zlib -6": (zlib_size, 6),
    "zlib -9": (zlib_size, 9),
    "xz -9": (xz_size, 9),
    "zstd -3": (zstd_size, 3),
    "zstd -19": (zstd_size, 19),
}


def methods():
    if shutil.which("zstd"):
        return METHODS
    print("host_ratios: no zstd command, so no zstd rows", file=sys.stderr)
    return {name: method for name, method in METHODS.items() if method[0] is not zstd_size}


def main(arguments):
    if any(argument.startswith("-") for argument in arguments):
        print(__doc__)
        return 0 if arguments[0] in ("-h", "--help") else 2
    files = [pathlib.Path(argument) for argument in arguments] or sorted(DATA.glob("*.bin"))
    if not files:
        print("host_ratios: no files given and none in tests/data", file=sys.stderr)
        return 1
    available = methods()
    rows = []
    for file in files:
        data = file.read_bytes()
        if not data:
            print(f"host_ratios: {file} is empty", file=sys.stderr)
            return 1
        for name, (size, level) in available.items():
            rows.append({"file": file.name, "method": name, "ratio": round(len(data) / size(data, level), 4)})
    print("[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
