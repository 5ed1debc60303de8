#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""How long an empty source takes to compile with the umbrella and with each header that it includes, on its own.

usage: header_cost.py [--nvcc NVCC] [--cxx CXX] [--repeats 3] --json FILE

.cuh headers by nvcc for sm_90, .hpp headers by the host compiler; C++17; wall-clock seconds and those of the processor, the least of
the repeats, which take turns. Where other programs run meanwhile (the file has the load average), the processor's say more.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CUB = ("cub/warp/warp_scan.cuh", "cub/block/block_scan.cuh", "cub/block/block_reduce.cuh")  # what ours include, for comparison
UMBRELLA = "bitsparse/bitsparse.cuh"


def headers():
    text = (ROOT / "include" / UMBRELLA).read_text()
    return [None, *CUB, UMBRELLA, *re.findall(r"#include <(bitsparse/[^>]+)>", text)]


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def version(compiler):
    text = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"V?\d+\.\d+\.\d+", text).group(0).lstrip("V")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    options = parser.parse_args()
    nvcc = [options.nvcc, "-std=c++17", "-arch=sm_90", "-I", str(ROOT / "include"), "-c", "-o"]
    cxx = [options.cxx, "-std=c++17", "-I", str(ROOT / "include"), "-c", "-o"]
    cases = [(header, name, command, suffix) for header in headers()
             for name, command, suffix in (("nvcc", nvcc, "cu"), ("g++", cxx, "cpp"))
             if header is None or header.endswith("hpp") == (name == "g++")]
    seconds, load = {}, [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.repeats):
            for header, name, command, suffix in cases:
                source = pathlib.Path(folder) / f"unit.{suffix}"
                source.write_text((f"#include <{header}>\n" if header else "") + "int main() { return 0; }\n")
                begin, cpu = time.monotonic(), cpu_seconds()
                subprocess.run([*command, f"{folder}/unit.o", str(source)], check=True)
                seconds.setdefault((header, name), []).append((time.monotonic() - begin, cpu_seconds() - cpu))
            load.append(os.getloadavg()[0])
    result = {"cores": os.cpu_count(), "nvcc": version(options.nvcc), "cxx": version(options.cxx), "load_average": [round(x, 2) for x in load],
              "rows": [{"header": header or "none", "compiler": name, "seconds": round(min(wall for wall, _ in all_of), 2),
                        "cpu_seconds": round(min(cpu for _, cpu in all_of), 2)}
                       for (header, name), all_of in seconds.items()]}
    rows = ",\n  ".join(json.dumps(row) for row in result.pop("rows"))
    options.json.write_text(json.dumps(result)[:-1] + ', "rows": [\n  ' + rows + "\n]}\n")


main()
