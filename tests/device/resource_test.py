#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""Compares the kernels' registers, shared memory and spills with a committed budget. Needs nvcc, no GPU.

usage: resource_test.py NVCC INCLUDE_DIR [--update]

A kernel fails if it spills, or needs more registers or shared memory than its line of resource_table.txt allows, or has
no line. --update writes the table anew.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
TABLE = HERE / "resource_table.txt"
HEADER = "# kernel | registers | shared memory, bytes (sm_90; no kernel spills)\n"


def compile_log(nvcc, include_dir):
    with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, "-std=c++17", "-O3", f"-I{include_dir}", "-gencode", "arch=compute_90,code=sm_90",
                   "--resource-usage", "-cubin", str(HERE / "resources.cu"), "-o", f"{folder}/resources.cubin"]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(result.stdout)
    return result.stdout


def short_name(symbol):
    """'compress sign, bf16 32x128, vectors, 64 threads x 2 tiles' from a demangled kernel; ', arena' if it works in one."""
    arena = ", arena" if re.search("::arena_|::statistics_|::move_", symbol) else ""
    kernel = re.search(r"(compress|decompress)_kernel<", symbol)
    if kernel is None:
        far = {"0": ", far source", "1": ", far target"}.get(next(iter(re.findall(r"far_end\)(\d)", symbol)), ""), "")
        return re.search(r"(\w+_kernel)", symbol).group(1) + far + arena
    element, rows, cols = re.search(r"tile_format<bitsparse::v0::(\w+), (\d+), (\d+)>", symbol).groups()
    arrangement = "vectors" if "uint4" in symbol else "values"
    if kernel.group(1) == "compress":
        what = "compress " + re.search(r"codec::(\w+)", symbol).group(1)
        threads, tiles = re.search(r"tile_tuning<(\d+), (\d+)>", symbol).groups()
        group = f"{threads} threads x {tiles} tile" + ("s" if tiles != "1" else "")
    else:
        what = "decompress"
        group = re.search(r"tile_format<[^>]*>, (\d+),", symbol).group(1) + " threads"
    return f"{what}, {element} {rows}x{cols}, {arrangement}, {group}{arena}{operation(symbol)}"


def operation(symbol):
    """', relu_squared bf16 > fp8_e4m3': op and dense operands of a kernel that has another op than identity."""
    arguments = re.search(r"(?:buffer|arena)_space, (.*)>\((?:bitsparse::v0::)?detail::", symbol).group(1)
    arguments = arguments.replace("bitsparse::v0::", "").replace("detail::", "")
    return "" if arguments.startswith("identity, ") else f", {arguments}"


def measured(log):
    rows, spills, symbol = {}, [], None
    for line in log.splitlines():
        if match := re.search(r"Compiling entry function '(\S+)'", line):
            symbol = subprocess.run(["c++filt", match.group(1)], capture_output=True, text=True).stdout
        elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if match.groups() != ("0", "0"):
                spills.append(short_name(symbol))
        elif match := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            if short_name(symbol) in rows:
                sys.exit(f"two kernels are named {short_name(symbol)}")
            rows[short_name(symbol)] = (int(match.group(1)), int(shared.group(1)) if shared else 0)
    return rows, spills


def main():
    rows, spills = measured(compile_log(sys.argv[1], sys.argv[2]))
    if "--update" in sys.argv:
        TABLE.write_text(HEADER + "".join(f"{name} | {r} | {s}\n" for name, (r, s) in sorted(rows.items())))
        print(f"{len(rows)} kernels, {len(spills)} spill: {spills}")
        return
    budget = {}
    for line in TABLE.read_text().splitlines()[1:]:
        name, registers, shared = line.split(" | ")
        budget[name] = (int(registers), int(shared))
    faults = [f"{name}: spills to local memory" for name in spills]
    for name, (registers, shared) in rows.items():
        if name not in budget:
            faults.append(f"{name}: no line in resource_table.txt")
        elif registers > budget[name][0] or shared > budget[name][1]:
            faults.append(f"{name}: {registers} registers, {shared} bytes; the budget is {budget[name]}")
    faults += [f"{name}: in the table, but there is no such kernel" for name in budget if name not in rows]
    print("\n".join(faults) if faults else f"{len(rows)} kernels within the budget, no spills")
    sys.exit(1 if faults else 0)


main()
