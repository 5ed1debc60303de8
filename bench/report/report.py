#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""Makes the tables and figures of docs/benchmarks.md from a run of bench/kernels, or compares two runs.

usage: report.py RUN.json [--docs DIR]   fill DIR/benchmarks.md between its markers, draw DIR/figures/*.png
       report.py RUN.json --against OLD.json   print what became slower, or is gone; exit status 1 if anything

RUN.json is Google Benchmark's JSON with aggregates; figures need matplotlib and are left out, with a note, without it.
A table's place in benchmarks.md is between the lines '<!-- table NAME -->' and '<!-- end -->'.
"""
import argparse
import json
import math
import pathlib
import re
import sys

from pages import fill, pyplot, table

ELEMENTS = ("bf16", "fp16", "fp32", "e4m3", "e5m2")
BITS = {"bf16": 16, "fp16": 16, "fp32": 32, "e4m3": 8, "e5m2": 8}
LAYERS = ("00", "03", "07", "11")
SLOWER = 0.03  # of the old time; the rows' own spread is below it


def load(path):
    """{name: row} of the medians, each with its coefficient of variation as 'cv'."""
    rows, spread = {}, {}
    for row in json.loads(pathlib.Path(path).read_text())["benchmarks"]:
        name = re.sub(r"/iterations:\d+/manual_time.*$", "", row.get("run_name", row["name"]))
        if row.get("error_occurred"):
            rows[name] = {"error": row.get("error_message", "failed")}
        elif row.get("aggregate_name") == "median" or "aggregate_name" not in row:
            rows[name] = row
        elif row.get("aggregate_name") == "cv":
            spread[name] = row["real_time"]
    for name, cv in spread.items():
        if "error" not in rows.get(name, {"error": ""}):
            rows[name]["cv"] = cv
    return rows


def compare(new, old):
    faults = []
    for name, row in sorted(old.items()):
        if "error" in row:
            continue
        if name not in new or "error" in new[name]:
            faults.append(f"{name}: {new.get(name, {}).get('error', 'no such row any more')}")
        elif new[name]["real_time"] > row["real_time"] * (1 + SLOWER):
            times = f"{row['real_time']:.4g} -> {new[name]['real_time']:.4g} {row['time_unit']}"
            faults.append(f"{name}: {times}, {new[name]['real_time'] / row['real_time'] - 1:+.1%}")
    return faults


def number(row, key, digits=3):
    return f"{row[key]:.{digits}f}" if row is not None and key in row else "-"


class Run:
    def __init__(self, rows):
        self.rows = rows
        shapes = [m.group(1) for name in rows if (m := re.match(r"compress/bf16/(\d+x\d+)/zeros:0\.90/sign$", name))]
        self.shape = shapes[0] if shapes else "16000x21504"

    def row(self, name):
        row = self.rows.get(name)
        return None if row is None or "error" in row else row

    def uniform(self, what, element, zeros, codec, detail=""):
        return self.row(f"{what}/{element}/{self.shape}/zeros:{zeros}/{codec}{detail}")

    def zeros(self):
        found = {m.group(1) for name in self.rows if (m := re.match(r"compress/bf16/[^/]+/zeros:([\d.]+)/sign$", name))}
        return sorted(found, key=float)

    def both(self, element, zeros, codec, detail="", key="fraction"):
        pair = [self.uniform(what, element, zeros, codec, detail) for what in ("compress", "decompress")]
        return " / ".join(number(row, key) for row in pair) if any(pair) else "-"

    def peer(self, what, peer, zeros):
        return self.row(f"{what}/peer:{peer}/bf16/{self.shape}/zeros:{zeros}")

    def peers(self):
        return sorted({m.group(1) for name in self.rows if (m := re.match(r"compress/peer:([^/]+)/", name))})

    def real(self, who, layer):
        codec = who.removeprefix("bitsparse ")
        end = f"real:layer{layer}"
        return self.row(f"compress/bf16/114688x3072/{codec}/{end}" if codec != who else f"compress/peer:{who}/bf16/114688x3072/{end}")

    def tables(self):
        zeros = self.zeros()
        made = {}
        for codec in ("sign", "fast", "compact"):
            made[codec] = table(["element"] + [f"{100 * float(z):.0f} % zeros" for z in zeros],
                                [[e] + [self.both(e, z, codec) for z in zeros] for e in ELEMENTS])
        ratios = [["bf16", codec] + [number(self.uniform("compress", "bf16", z, codec), "ratio", 2) for z in zeros]
                  for codec in ("fast", "sign", "compact")]
        made["ratios"] = table(["element", "codec"] + [f"{100 * float(z):.0f} % zeros" for z in zeros], ratios)
        patterns = []
        for width in ("128", "256", "512"):
            cells = []
            for z in zeros:
                pair = [self.row(f"pattern/{what}/{width}/{self.shape}/zeros:{z}") for what in ("read", "write")]
                cells.append(" / ".join(number(row, "fraction") for row in pair) if any(pair) else "-")
            patterns.append([f"{width} bytes"] + cells)
        made["patterns"] = table(["row of a tile"] + [f"{100 * float(z):.0f} % zeros" for z in zeros], patterns)
        tiles = []
        for name in self.rows:
            if m := re.match(r"compress/(\w+)/[^/]+/zeros:0\.50/sign/tile:(\w+)$", name):
                element, tile = m.groups()
                tiles.append([element, tile] + [self.both(element, z, "sign", f"/tile:{tile}") for z in ("0.50", "0.90")])
        made["tiles"] = table(["element", "tile", "50 % zeros", "90 %"], tiles)
        rows = []
        for label, detail in (("leading dimension 21568, 16-byte rows", "/ld:21568"),
                              ("leading dimension 21505, no 16-byte rows", "/ld:21505"), ("into an arena", "/arena")):
            rows.append([label, self.both("bf16", "0.90", "sign", detail)])
        for name in sorted(self.rows):
            if m := re.match(r"compress/(bf16/.*/(sign|compact)/real:(\w+))$", name):
                pair = [self.row(f"{what}/{m.group(1)}") for what in ("compress", "decompress")]
                rows.append([f"real activations, {m.group(3)}, `{m.group(2)}`, ratio {number(pair[0], 'ratio')}",
                             " / ".join(number(row, "fraction") for row in pair)])
        made["others"] = table(["bf16, 90 % zeros where not real", "compress / decompress"], rows)
        sizes = []
        for name, row in self.rows.items():
            if (m := re.match(r"pair/(\d+)$", name)) and "error" not in row:
                sizes.append([f"{m.group(1)} MiB", number(row, "real_time", 4), number(row, "copy_ms", 4), number(row, "fraction")])
        made["sizes"] = table(["dense bf16, 90 % zeros", "compress + decompress, ms", "two copies, ms", "fraction"], sizes)
        lines = []
        for peer in ["bitsparse sign"] + self.peers():
            line = [peer]
            for z in ("0.50", "0.90"):
                pair = [self.uniform(what, "bf16", z, "sign") if peer == "bitsparse sign" else
                        self.peer(what, peer, z) for what in ("compress", "decompress")]
                line += [" / ".join(number(row, "fraction") for row in pair), number(pair[0], "ratio", 2)]
            lines.append(line)
        real = []
        for peer in ["bitsparse sign", "bitsparse compact"] + self.peers():
            ratios = [self.real(peer, layer) for layer in LAYERS]
            if any(ratios):
                real.append([peer] + [number(row, "ratio", 2) for row in ratios])
        made["real_peers_on_the_device"] = table([""] + [f"layer {layer}" for layer in LAYERS], real)
        made["peers"] = table(["", "50 % zeros: fraction", "ratio", "90 %: fraction", "ratio"], lines)
        return made


def entropy(p):
    return 0 if p in (0, 1) else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def plot(axis, zeros, row_of, key, *style, **options):
    """A line through the rows that were run; nothing if none was."""
    points = [(float(z), row[key]) for z in zeros if (row := row_of(z)) and key in row]
    if points:
        axis.plot(*zip(*points), *style, **options)


def draw_fraction(run, zeros, figure):
    for axis, what, pattern in zip(figure.subplots(1, 2, sharey=True), ("compress", "decompress"), ("read", "write")):
        for element in ELEMENTS:
            plot(axis, zeros, lambda z: run.uniform(what, element, z, "sign"), "fraction", marker="o", label=element)
        plot(axis, zeros, lambda z: run.uniform(what, "bf16", z, "compact"), "fraction", marker="s", label="bf16, compact")
        plot(axis, zeros, lambda z: run.row(f"pattern/{pattern}/256/{run.shape}/zeros:{z}"), "fraction", "k--",
             label="the same bytes, nothing computed")
        for peer in run.peers():
            plot(axis, zeros, lambda z: run.peer(what, peer, z), "fraction", ":x", label=f"{peer}, bf16")
        axis.set(title=what, xlabel="share of zeros", ylabel="useful bytes / (copy rate x time)", ylim=(0, 1.1))
        axis.grid(alpha=0.3)
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))


def draw_ratio(run, zeros, figure):
    axis = figure.subplots()
    grid = [0.5 + i / 200 for i in range(99)]
    for element in ("bf16", "e4m3"):
        bits = BITS[element]
        for codec, marker in (("sign", "o"), ("compact", "s")):
            plot(axis, zeros, lambda z: run.uniform("compress", element, z, codec), "ratio", marker=marker,
                 label=f"{element}, {codec}")
        axis.plot(grid, [bits / (entropy(1 - z) + (bits - 1) * (1 - z)) for z in grid], "--", label=f"{element}, b / (H(d) + (b - 1) d)")
    for peer in run.peers():
        plot(axis, zeros, lambda z: run.peer("compress", peer, z), "ratio", "x", label=f"{peer}, bf16")
    axis.set(xlabel="share of zeros", ylabel="dense bytes / stored bytes", yscale="log")
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize=7)


def draw(run, folder):
    plots = pyplot("report.py")
    if plots is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    zeros = [z for z in run.zeros() if float(z) > 0]
    for name, size, draw_into in (("fraction", (11, 4.2), draw_fraction), ("ratio", (6, 4.2), draw_ratio)):
        figure = plots.figure(figsize=size)
        draw_into(run, zeros, figure)
        figure.tight_layout()
        figure.savefig(folder / f"{name}.png", dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--against")
    options = parser.parse_args()
    rows = load(options.run)
    for name, row in rows.items():
        if "error" in row:
            print(f"{name}: {row['error']}", file=sys.stderr)
    if options.against:
        faults = compare(rows, load(options.against))
        print("\n".join(faults) if faults else "nothing became slower")
        sys.exit(1 if faults else 0)
    run = Run(rows)
    tables = run.tables()
    if options.docs is None:
        print("\n\n".join(f"{name}\n{content}" for name, content in tables.items()))
        return
    page = options.docs / "benchmarks.md"
    page.write_text(fill(page.read_text(), tables))
    draw(run, options.docs / "figures")


main()
