#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""Checks that kernels of large blocks can be launched when they are compiled with -G. Needs nvcc, no GPU.

usage: debug_build_test.py NVCC INCLUDE_DIR

Without optimisation a thread takes more registers, and a block of 1,024 threads has room for 64 each. The kernels of
debug_kernels.cu are compiled with -G; each that needs more than its block has room for is a fault.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
BLOCK_THREADS = 1024  # arena_space::prologue_threads, which debug_kernels.cu asserts
REGISTERS = 65536     # of a multiprocessor, sm_80 and later


def main():
    nvcc, include_dir = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, "-std=c++17", "-G", f"-I{include_dir}", "-gencode", "arch=compute_90,code=sm_90",
                   "--resource-usage", "-cubin", str(HERE / "debug_kernels.cu"), "-o", f"{folder}/debug_kernels.cubin"]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(result.stdout)
    kernels = re.findall(r"entry function '\w+?\d([a-z_]+_kernel)I.*?Used (\d+) registers", result.stdout, re.S)
    expected = {"compress_prologue_kernel", "release_kernel", "statistics_kernel"}
    if {name for name, _ in kernels} != expected:
        sys.exit(f"kernels found: {kernels}; expected {sorted(expected)}")
    faults = [f"{name}: {registers} registers, a block of {BLOCK_THREADS} threads has {REGISTERS // BLOCK_THREADS} each"
              for name, registers in kernels if int(registers) * BLOCK_THREADS > REGISTERS]
    print("\n".join(faults) if faults else f"{len(kernels)} kernels can be launched: {kernels}")
    sys.exit(1 if faults else 0)


main()
