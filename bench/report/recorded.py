#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""Makes the tables of README.md and docs/*.md that report.py and training.py do not make, all from docs/results, and the figures
that their sentences quote.

usage: recorded.py ROOT              print the tables
       recorded.py ROOT --fill       fill ROOT/README.md and ROOT/docs/*.md between '<!-- table NAME -->' and '<!-- end -->'
       recorded.py ROOT --sentences  print each quoted figure: the page, and the words that it has to have
"""
import argparse
import json
import pathlib
import re

from pages import fill, table

MIB = 1 << 20
LAYERS = ("00", "03", "07", "11")
CODECS = ("fast", "sign", "compact")


class Results:
    """docs/results, one file at a time."""

    def __init__(self, root):
        self.folder = pathlib.Path(root) / "docs" / "results"

    def load(self, name):
        return json.loads((self.folder / name).read_text())

    def medians(self, name):
        """{name: row} of a Google Benchmark file."""
        return {re.sub(r"/iterations:.*$|_median$", "", row["run_name"]): row for row in self.load(name)["benchmarks"]
                if row.get("aggregate_name", "median") == "median" and "error_occurred" not in row}

    def by_layer(self, name, key):
        """{(what, layer): row} of a list of rows that each name a file."""
        return {(row[key], re.search(r"layer(\d+)", row["file"]).group(1)): row for row in self.load(name)}

    def steps(self):
        """The training runs that compare modes with all layers compressed."""
        return [run for run in self.load("h200/ffn.json")["runs"]
                if "modes" in run and not any(":" in mode["mode"] for mode in run["modes"])]


def times_of(mode):
    return mode["graph_ms"] if mode.get("graph_ms") else mode["eager_ms"]


def mean_ratio(mode, base):
    """Of a mode's time to another one's, round by round."""
    pairs = list(zip(times_of(mode)["all_ms"], times_of(base)["all_ms"]))
    return sum(a / b for a, b in pairs) / len(pairs)


def modes_of(run):
    return {mode["mode"]: mode for mode in run["modes"]}


def zeros_of(run):
    return 1 - sum(run["density_by_layer"]) / len(run["density_by_layer"])


def find_run(results, preset, element, activation, zeros):
    return next(run for run in results.steps() if (run["preset"], run["element"], run["activation"]) == (preset, element, activation)
                and abs(zeros_of(run) - zeros) < 0.05)


# ----------------------------------------------------------------------------------------------------------------------
# README.md
# ----------------------------------------------------------------------------------------------------------------------

def real_ratios(results):
    rows = results.by_layer("host/ratios.json", "codec")
    lines = []
    for layer in LAYERS:
        one = rows["sign", layer]
        lines.append([layer, f"{one['density']:.3f}"] + [f"{rows[codec, layer]['ratio']:.3f}" for codec in CODECS] +
                     [f"{one['bound_ratio']:.3f}"])
    return table(["layer", "density"] + [f"`{codec}`" for codec in CODECS] + ["bound"], lines)


def roofline(results):
    rows = results.medians("h200/kernels.json")
    zeros = ("0.50", "0.80", "0.90", "0.95")
    lines = []
    for element, codec in [(e, "sign") for e in ("bf16", "fp16", "fp32", "e4m3", "e5m2")] + [("bf16", "compact")]:
        cells = [" / ".join(f"{rows[f'{what}/{element}/16000x21504/zeros:{z}/{codec}']['fraction']:.2f}"
                            for what in ("compress", "decompress")) for z in zeros]
        lines.append([element + (f", codec `{codec}`" if codec != "sign" else "")] + cells)
    return table(["element", "50 % zeros", "80 %", "90 %", "95 %"], lines)


def step_summary(results):
    names = {"dense_epilogue": "dense, ReLU in the matrix product's epilogue",
             "dense": "dense, element-wise kernels that keep r",
             "sign": "bitsparse `sign`", "compact": "bitsparse `compact`", "recomputation": "recomputation"}
    runs = [modes_of(find_run(results, "paper", "bf16", "relu2", zeros)) for zeros in (0.5, 0.8)]
    return table(["C++, on cuBLASLt: ms, peak MiB", "50 % zeros", "80 % zeros"],
                 [[text] + [f"{times_of(run[mode])['mean']:.1f}, {run[mode]['peak_bytes']['total'] / MIB:,.0f}" for run in runs]
                  for mode, text in names.items()])


def pytorch_summary(results):
    names = {"dense": "`relu(x)**2`, which keeps two dense matrices per layer", "compiled": "the same under torch.compile",
             "compact": "bitsparse `compact`", "recompute": "torch.utils.checkpoint"}
    runs = []
    for zeros in (0.5, 0.8):
        runs.append(next(modes_of(run) for part in results.load("h200/ffn_pytorch.json")["runs"] for run in part["runs"]
                         if part["arguments"]["activation"] == "relu_squared" and abs(run["asked"] - zeros) < 0.01))
    return table(["PyTorch: ms, peak MiB", "50 % zeros", "80 % zeros"],
                 [[text] + [f"{run[mode]['ms']:.1f}, {run[mode]['peak_mib']:,.0f}" for run in runs] for mode, text in names.items()])


# ----------------------------------------------------------------------------------------------------------------------
# docs/benchmarks.md
# ----------------------------------------------------------------------------------------------------------------------

def real_peers(results):
    ours = results.by_layer("host/ratios.json", "codec")
    peers = results.by_layer("host/peer_ratios.json", "method")
    lines = [[f"bitsparse {codec}"] + [f"{ours[codec, layer]['ratio']:.2f}" for layer in LAYERS] for codec in ("sign", "compact")]
    density = {layer: ours["sign", layer]["density"] for layer in LAYERS}
    lines.append(["BitSparse's formula, 1 + 15d bits"] + [f"{16 / (1 + 15 * density[layer]):.2f}" for layer in LAYERS])
    lines.append(['its "theoretical optimum", H(d) + 15d'] + [f"{ours['sign', layer]['bound_ratio']:.2f}" for layer in LAYERS])
    lines.append(["entropy of mask and exponents, 7 mantissa bits"] + [f"{ours['sign', layer]['entropy_ratio']:.2f}" for layer in LAYERS])
    methods = list(dict.fromkeys(method for method, _ in peers))
    lines += [[method] + [f"{peers[method, layer]['ratio']:.2f}" for layer in LAYERS] for method in methods]
    return table([""] + [f"layer {layer}" for layer in LAYERS], lines)


def arena_speed(results):
    rows = results.medians("h200/arena.json")
    names = {"compress": "compress into an empty tensor", "recompress": "compress into a full one, which gives its slabs back first",
             "decompress": "decompress"}
    return table(["", "50 % zeros", "90 %"],
                 [[text] + [f"{rows[f'{what}/arena/zeros:{z}']['relative']:.3f}" for z in ("0.50", "0.90")] for what, text in names.items()])


def arena_host_slabs(results):
    rows = results.medians("h200/arena.json")
    pairs = [[rows[f"{what}/host_{share}/zeros:0.90"] for what in ("compress", "decompress")] for share in ("1", "10", "100")]
    return table(["host slabs, share of those used", "compress, dense GB/s", "decompress, dense GB/s"],
                 [[f"{a['host_share']:.3f}", f"{a['dense_GBps']:.0f}", f"{b['dense_GBps']:.0f}"] for a, b in pairs])


def arena_slab_sizes(results):
    rows = results.medians("h200/arena.json")
    return table(["slab", "slab bytes over chunk bytes", "ms"],
                 [[name.split("/")[1].replace("KiB", " KiB"), f"{row['held']:.3f}", f"{row['real_time']:.3f}"]
                  for name, row in rows.items() if name.startswith("slabs/")])


OFFLOAD_METHODS = {"zvc": "ZVC", "rle": "run lengths", "zlib_4k": "zlib, 4 KiB", "zlib": "zlib", "fast": "`fast`",
                   "sign": "`sign`", "compact": "`compact`"}


def offload_ratios(results):
    lines = [[row["set"], row["element"], f"{row['density']:.3f}"] +
             [f"{row['ratio'][method]:.2f} ({row['mean_ratio'][method]:.2f})" for method in OFFLOAD_METHODS]
             for row in results.load("host/offload_ratios.json")["sets"]]
    return table(["tensors", "element", "density", *OFFLOAD_METHODS.values()], lines)


def host_codec(results):
    rows = results.medians("host/host_codec.json")
    wanted = [("bf16", z, codec) for z in ("0.50", "0.90") for codec in CODECS] + [("e4m3", "0.90", "sign"), ("fp32", "0.90", "sign")]
    return table(["element", "zeros", "codec", "GB/s"],
                 [[e, z, codec, " / ".join(f"{rows[f'host_{what}/{e}/2048x4096/zeros:{z}/{codec}']['dense_GB/s']:.2f}"
                                           for what in ("compress", "decompress"))] for e, z, codec in wanted])


# ----------------------------------------------------------------------------------------------------------------------
# docs/comparison.md
# ----------------------------------------------------------------------------------------------------------------------

def ask_ratios(results):
    rows = results.medians("h200/kernels.json")
    zeros = ("0.00", "0.50", "0.80", "0.90", "0.95", "0.99")
    lines = []
    for element in ("bf16", "fp16", "fp32", "e4m3"):
        for codec in ("sign", "compact"):
            cells = [rows.get(f"compress/{element}/16000x21504/zeros:{z}/{codec}", {}).get("ratio") for z in zeros]
            lines.append([element, f"`{codec}`"] + ["-" if cell is None else f"{cell:.2f}" for cell in cells])
    return table(["element", "codec"] + [f"{100 * float(z):.0f} % zeros" for z in zeros], lines)


def ask_steps(results):
    activations = {"relu2": "ReLU²", "relu": "ReLU"}
    lines = []
    for run in results.steps():
        modes = modes_of(run)
        dense, epilogue = modes["dense"], modes.get("dense_epilogue")
        what = f"{run['layers']} x {run['width']} -> {run['hidden']}, {run['tokens']:,} tokens"
        for name in ("sign", "compact", "recomputation"):
            mode = modes[name]
            kept = mode["activation_bytes_per_token"]
            lines.append([what, f"{run['element']}, {activations[run['activation']]}, {100 * zeros_of(run):.0f} %", f"`{name}`",
                          f"{dense['activation_bytes_per_token'] / kept:.2f}" if kept else "nothing kept",
                          f"{mode['peak_bytes']['total'] / dense['peak_bytes']['total']:.2f}",
                          f"{100 * (mean_ratio(mode, dense) - 1):+.1f} %",
                          f"{100 * (mean_ratio(mode, epilogue) - 1):+.1f} %" if epilogue else "-"])
    return table(["layers and tokens", "element, activation, zeros", "mode", "ratio", "peak, of dense's", "time, against dense",
                  "against dense with the epilogue"], lines)


# ----------------------------------------------------------------------------------------------------------------------
# docs/design.md
# ----------------------------------------------------------------------------------------------------------------------

def elias_fano(results):
    ideas = {(row["idea"], re.search(r"layer(\d+)", row["file"]).group(1)): row
             for row in results.load("host/encoding_ideas.json") if row["element"] == "bf16"}
    ratios = results.by_layer("host/ratios.json", "codec")
    return table(["ratio with `compact`"] + [f"layer {layer}" for layer in LAYERS],
                 [["density"] + [f"{ratios['compact', layer]['density']:.3f}" for layer in LAYERS],
                  ["the mask's non-zero bytes"] + [f"{ideas['two_level masks (before), threshold 1/32', layer]['ratio']:.3f}" for layer in LAYERS],
                  ["Elias-Fano"] + [f"{ideas['codec compact', layer]['ratio']:.3f}" for layer in LAYERS]])


# ----------------------------------------------------------------------------------------------------------------------
# docs/integration.md
# ----------------------------------------------------------------------------------------------------------------------

def header_cost(results):
    return table(["header", "compiler", "seconds", "of the processor"],
                 [[f"`{row['header']}`" if row["header"] != "none" else "none", row["compiler"], f"{row['seconds']:.1f}", f"{row['cpu_seconds']:.1f}"]
                  for row in results.load("host/header_cost.json")["rows"]])


# ----------------------------------------------------------------------------------------------------------------------
# docs/benchmarks.md: training
# ----------------------------------------------------------------------------------------------------------------------

def element_wise(results):
    lines = []
    for run in results.load("h200/element_wise.json")["runs"]:
        dense = modes_of(run)["dense"]
        for codec in CODECS:
            mode = modes_of(run).get(codec)
            if mode is None:
                continue
            extra = mode["measured_extra_ms"]
            lines.append([f"{run['element']} {run['activation']}", f"{100 * zeros_of(run):.0f} %", f"`{codec}`",
                          f"{dense['graph_ms']['median']:.2f}", f"{mode['predicted_extra_ms']:+.2f}",
                          f"{extra['mean']:+.2f} ± {extra['interval95']:.2f}"])
    return table(["step", "zeros", "codec", "dense, ms", "extra predicted from bytes", "measured"], lines)


# ----------------------------------------------------------------------------------------------------------------------
# docs/reliability.md
# ----------------------------------------------------------------------------------------------------------------------

def campaigns(results):
    lines = [[f"libFuzzer, {row['target']}", f"{row['executions']:,} executions", f"{row['seconds']:,} s", str(row["failures"])]
             for row in results.load("host/fuzz.json")["targets"]]
    for row in results.load("h200/restart.json"):
        (device_before, _, device_after), (host_before, _, host_after) = row["device_used_mib"], row["host_available_mib"]
        is_back = device_after <= device_before + 8 and host_after >= host_before - 512
        lines.append([f"killed in {row['killed_in']}, started again", "1 run", "-", str(int(row["next_run_status"] != 0 or not is_back))])
    fuzzed = results.load("h200/device_fuzz.json")
    lines.append(["`device_fuzz`", f"{fuzzed['cases']:,} cases", f"{fuzzed['seconds']:,.0f} s", str(fuzzed["failures"])])
    for run in results.load("h200/soak.json"):
        compared = sum(mode["comparisons"] for mode in run["modes"])
        spilled = sum(mode["spilled_slabs"] for mode in run["modes"])
        lines.append([f"soak, {run['element']} {run['activation']}",
                      f"{run['steps']:,} steps, {compared:,} compared, {spilled:,} slabs spilled",
                      f"{run['steps'] * run['last_ms_per_step'] / 1000:.0f} s", str(run["failures"])])
    for tool, runs in sanitizer_runs(results).items():
        lines.append([f"compute-sanitizer, {tool}", f"{len(runs)} programs", f"{sum(seconds for _, seconds in runs):,} s",
                      str(sum(status != 0 for status, _ in runs))])
    return table(["campaign", "size", "time", "failures"], lines)


def sanitizer_runs(results):
    """{tool: [(exit status, seconds)]}"""
    found = {}
    for line in (results.folder / "h200/sanitizer.txt").read_text().splitlines():
        if m := re.match(r"(\w+) +(\w+) +exit (\d+) +(\d+) s", line):
            found.setdefault(m.group(1), []).append((int(m.group(3)), int(m.group(4))))
    return found


TABLES = {
    "docs/reliability.md": {"campaigns": campaigns},
    "docs/integration.md": {"header_cost": header_cost},
    "docs/design.md": {"elias_fano": elias_fano},
    "README.md": {"real_ratios": real_ratios, "roofline": roofline, "step_summary": step_summary, "pytorch_summary": pytorch_summary},
    "docs/benchmarks.md": {"real_peers": real_peers, "arena_speed": arena_speed, "arena_host_slabs": arena_host_slabs,
                           "arena_slab_sizes": arena_slab_sizes, "element_wise": element_wise, "offload_ratios": offload_ratios,
                           "host_codec": host_codec},
    "docs/comparison.md": {"ask_ratios": ask_ratios, "ask_steps": ask_steps},
}


# ----------------------------------------------------------------------------------------------------------------------
# Figures in sentences
# ----------------------------------------------------------------------------------------------------------------------

def span(values, digits, factor=1.0):
    low, high = (f"{factor * value:.{digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def change(percents, digits):
    """'0.9 % less to 1.9 % more', or '0.5 to 1.9 % more' where nothing got less."""
    low, high = min(percents), max(percents)
    if low >= 0:
        return f"{span(percents, digits)} % more"
    return f"{-low:.{digits}f} % less to {abs(high):.{digits}f} % {'more' if high >= 0 else 'less'}"


def sentences(results):
    """(page, words): words that the page has to have, with the figures that the results give."""
    kernels = results.medians("h200/kernels.json")
    arena = results.medians("h200/arena.json")
    copies = {name: row["copy_GBps"] / 1000 for name, row in kernels.items()
              if re.match(r"(de)?compress/\w+/16000x21504/zeros:[\d.]+/(fast|sign|compact)$", name)}
    def copy_rates(*elements):
        return [rate for name, rate in copies.items() if name.split("/")[1] in elements]
    yield "README.md", f"beside each row, {span(copies.values(), 1)} TB/s read and written"
    def extra(runs, base):
        return [100 * (mean_ratio(modes_of(run)[codec], modes_of(run)[base]) - 1) for run in runs for codec in ("sign", "compact")]
    small = [find_run(results, preset, "bf16", "relu2", 0.8) for preset in ("nanogpt", "nemotron")]
    relu = [find_run(results, "paper", "bf16", "relu", zeros) for zeros in (0.5, 0.8)]
    fp8 = [run for run in results.steps() if run["element"] == "e4m3"]
    fp8_sign = [100 * (mean_ratio(modes_of(run)["sign"], modes_of(run)["dense"]) - 1) for run in fp8]
    yield "README.md", f"it takes {change(extra(small, 'dense_epilogue'), 1)} than the epilogue"
    yield "README.md", f"ReLU layers {span(extra(relu, 'dense_epilogue'), 1)} %"
    yield "README.md", f"with FP8 products {span(fp8_sign, 1)} % more than dense kernels with `sign`"
    yield "docs/benchmarks.md", f"compressed activations cost {span(fp8_sign, 1)} % of it with `sign`"
    recomputed = [100 * (mean_ratio(modes_of(run)["recomputation"], modes_of(run)["dense"]) - 1) for run in results.steps()]
    yield "docs/comparison.md", f"memory matters more than {span(recomputed, 1)} % of the time"
    saved = {zeros: [100 * (1 - modes_of(run)[codec]["activation_bytes_per_token"] / modes_of(run)["dense"]["activation_bytes_per_token"])
                     for run in results.steps() if abs(zeros_of(run) - zeros) < 0.05 for codec in ("sign", "compact")] for zeros in (0.5, 0.8)}
    yield "docs/comparison.md", f"{span(saved[0.5], 0)} % of the activations' memory is saved at 50 % zeros"
    yield "docs/comparison.md", f"and {span(saved[0.8], 0)} % at 80 %"
    yield "docs/comparison.md", f"between nothing and {max(extra(results.steps(), 'dense')):.1f} % of the dense step's time"
    relative = [arena[f"{what}/arena/zeros:{z}"]["relative"] for what in ("compress", "recompress") for z in ("0.50", "0.90")]
    restored = [arena[f"decompress/arena/zeros:{z}"]["relative"] for z in ("0.50", "0.90")]
    yield "README.md", f"compressing into it runs at {span(relative, 2)} of a plain buffer's speed, decompressing at {span(restored, 2)}"
    for name, digits in (("empty_pair", 4),):
        if name in kernels:
            yield "docs/benchmarks.md", f"takes {kernels[name]['real_time']:.{digits}f} ms there"
    given = [arena[f"take_give/{blocks}"]["million_per_s"] for blocks in (1, 32, 132)]
    yield "docs/benchmarks.md", "{:.0f}, {:.0f} and {:.0f} million a second".format(*given)
    dense = {row["zeros"]: row for row in results.load("h200/bitsparse_code.json")["rows"] if row["mode"] == "dense"}
    yield "docs/benchmarks.md", f"dense {dense[0.5]['ms']} ms and {dense[0.5]['peak_mib']:,} MiB"
    yield from offload_ratio_sentences(results)


def offload_ratio_sentences(results):
    page, recorded = "docs/benchmarks.md", results.load("host/offload_ratios.json")
    sets = {(row["set"], row["element"]): row for row in recorded["sets"]}
    trained = {row["images"]: row for row in recorded["training"]}
    right = [100 * trained[images][when] for images in ("digits", "photographs")
             for when in ("accuracy_before", "accuracy")]
    yield page, ("{:.1f} % of the test images right before training and {:.1f} % after it with the digits, "
                 "{:.1f} % and {:.1f} % with the photographs").format(*right)
    yield page, "{} and {} steps".format(*(trained[images]["steps"] for images in ("digits", "photographs")))
    maps = [row["density"] for row in recorded["layers"]
            if row["element"] == "fp32" and row["set"].endswith(", trained")]
    yield page, f"keep {span(maps, 0, 100)} % of their values"
    fast = [100 * (1 - row["ratio"]["fast"] / row["ratio"]["zvc"]) for row in sets.values()]
    yield page, f"{span(fast, 1)} % lower"
    for element in ("fp32", "bf16", "e4m3"):
        gains = [100 * (row["ratio"]["sign"] / row["ratio"]["zvc"] - 1) for (_, e), row in sets.items() if e == element]
        yield page, f"{span(gains, 1)} % in {element}"
    clustered = sets["VGG-16, rounded, clustered", "bf16"]["ratio"]
    yield page, f"{clustered['zlib']:.2f} against {clustered['compact']:.2f}"
    networks = [sets[f"{name}, rounded, uniform", "fp32"] for name in ("AlexNet", "VGG-16")]
    yield page, "ZVC reaches {:.2f} and {:.2f} in fp32".format(*(row["ratio"]["zvc"] for row in networks))
    yield page, "means of the layers {:.2f} and {:.2f}".format(*(row["mean_ratio"]["zvc"] for row in networks))
    yield page, f"takes a density of {1 / 13.8 - 1 / 32:.3f}"
    sparsest = min(recorded["layers"], key=lambda row: row["density"])["layer"]
    fp32, bf16 = (next(row for row in recorded["layers"] if (row["layer"], row["element"]) == (sparsest, element))
                  for element in ("fp32", "bf16"))
    yield page, f"layer {re.search(r'layer(.+?)_', sparsest).group(1)} of the language model with {bf16['density']:.3f}"
    reached = fp32["dense"] / fp32["zvc"], bf16["dense"] / bf16["zvc"], bf16["dense"] / bf16["compact"]
    yield page, "ZVC {:.1f} in fp32 and {:.1f} in bf16, `compact` {:.1f} in bf16".format(*reached)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path, help="another root, whose docs/results to take")
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--sentences", action="store_true")
    options = parser.parse_args()
    results = Results(options.results or options.root)
    if options.sentences:
        for page, words in sentences(results):
            print(f"{page}\t{words}")
        return
    for page, makers in TABLES.items():
        tables = {name: make(results) for name, make in makers.items()}
        path = options.root / page
        if not options.fill:
            print("\n\n".join(f"{page}: {name}\n{content}" for name, content in tables.items()) + "\n")
        elif path.exists():
            path.write_text(fill(path.read_text(), tables))


main()
