#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""Fills the tables on offload in a folder of documents from what the program offload recorded.

usage: offload.py OFFLOAD.json [--docs FOLDER]
"""
import argparse
import json
import pathlib
import statistics

from pages import fill, table

WAYS = ("to_host", "to_device", "both_to_host", "both_to_device")


def link(results):
    rows = results["link"]["rows"]
    engine = next(row for row in rows if row["blocks"] == 0)
    lines = []
    for row in rows:
        cells = [f"{row[f'{way}_gb_per_s']:.1f} ({row[f'{way}_gb_per_s'] / engine[f'{way}_gb_per_s']:.3f})" for way in WAYS]
        lines.append(["copy engine" if row is engine else f"{row['blocks']} block" + ("s" if row["blocks"] > 1 else "")] + cells)
    return table(["GB/s (of the copy engine's)", "to the host", "to the device", "both at once: to the host", "to the device"], lines)


def transfer(results):
    names = {"dense": "dense, copy engine", "size_and_copy": "compress (`sign`), read the size, copy engine"}
    lines = []
    for row in results["transfer"]["results"]:
        cells = [f"{row[f'{way}_dense_gb_per_s']:.0f} ({row[f'{way}_times_dense']:.2f}, {row[f'{way}_times_dense'] / row['ratio']:.2f})"
                 for way in WAYS[:2]]
        lines.append([f"{100 * row['zeros']:.0f} %", names.get(row["name"], f"bitsparse `{row['name']}`"), f"{row['ratio']:.2f}"] + cells)
    return table(["zeros", "method", "ratio", "to the host, dense GB/s (x dense, of the ratio)", "to the device"], lines)


def product(results):
    return table(["beside it", "the product's time, x alone", "link GB/s beside it", "link GB/s without it"],
                 [[row["traffic"], f"{row['times_alone']:.3f} ± {row['interval']:.3f}"] +
                  ([f"{row['gb_per_s_beside_it']:.1f}", f"{row['gb_per_s_alone']:.1f}"] if row["traffic"] != "none" else ["-", "-"])
                  for row in results["product"]["results"]])


def step(results):
    lines = []
    for element, part in results["step"].items():
        rows = {(row["densities"], row["link_over_computation"], row["mode"]): row for row in part["results"]}
        for densities, intensity in dict.fromkeys(key[:2] for key in rows):
            cells = [f"{rows[densities, intensity, 'no_offload']['step_ms']:.1f}"]
            dense = rows[densities, intensity, "dense"]
            cells.append(f"{dense['step_ms']:.1f} ({dense['times_ideal']:.2f})")
            for mode in ("sign", "compact"):
                row = rows[densities, intensity, mode]
                cells.append(f"{row['step_ms']:.1f} ({row['times_ideal']:.2f}), {100 * (row['dense_over_this'] - 1):+.0f} ± "
                             f"{100 * row['interval']:.0f} %")
            lines.append([element, densities, f"{intensity:g}"] + cells)
    return table(["element", "densities", "link / computation", "no offload, ms", "dense, ms (of its ideal)",
                  "`sign`, ms (of its ideal), faster than dense by", "`compact`"], lines)


def gains(results):
    """Over the density sets and the elements: how much faster than dense offload."""
    lines = []
    for mode in ("sign", "compact"):
        cells = []
        intensities = sorted({row["link_over_computation"] for part in results["step"].values() for row in part["results"]})
        for intensity in intensities:
            found = [100 * (row["dense_over_this"] - 1) for part in results["step"].values() for row in part["results"]
                     if row["mode"] == mode and row["link_over_computation"] == intensity]
            cells.append(f"{statistics.mean(found):+.0f} %, at most {max(found):+.0f} %")
        lines.append([f"`{mode}`"] + cells)
    return table(["faster than dense offload"] + [f"link / computation {intensity:g}" for intensity in intensities], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    options = parser.parse_args()
    results = json.loads(options.file.read_text())
    tables = {f"offload_{make.__name__}": make(results) for make in (link, transfer, product, gains, step)}
    if options.docs is None:
        print("\n\n".join(f"{name}\n{content}" for name, content in tables.items()))
        return
    for page in options.docs.glob("*.md"):
        page.write_text(fill(page.read_text(), tables))


main()
