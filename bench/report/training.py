#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""Makes the training tables and figures of docs/benchmarks.md from runs of bench/ffn_training.

usage: training.py --join FFN.json RUN.json...    put runs into one file; those of docs/integrations/pytorch too
       training.py FFN.json [--pytorch PYTORCH.json] [--ops FUSED_OPS.json] [--docs DIR]
                                                  fill DIR/benchmarks.md between its markers, draw DIR/figures/*.png

A table's place in benchmarks.md is between the lines '<!-- table NAME -->' and '<!-- end -->'. Figures need matplotlib and are
left out, with a note, without it.
"""
import argparse
import json
import pathlib
import re
import sys

from pages import fill, pyplot, table

MIB = 1 << 20


def rounded(content):
    """Floats to 9 digits, which tell apart any two losses; shares of kept values to 4."""
    if isinstance(content, dict):
        return {key: [[round(x, 4) for x in layer] for layer in value.values()] if key == "density_by_step" else rounded(value)
                for key, value in content.items()}
    if isinstance(content, list):
        return [rounded(item) for item in content]
    return float(f"{content:.9g}") if isinstance(content, float) else content


def join(target, sources):
    runs = [rounded(json.loads(pathlib.Path(source).read_text())) for source in sources]
    lines = ",\n  ".join(json.dumps(run) for run in runs)  # one run per line
    pathlib.Path(target).write_text('{"runs": [\n  ' + lines + "\n]}\n")


def setting(run):
    zeros = 1 - sum(run["density_by_layer"]) / len(run["density_by_layer"])
    activation = {"relu2": "ReLU²", "relu": "ReLU"}[run["activation"]]
    return (f"{run['preset']}, {run['element']}, {activation}, {100 * zeros:.0f} % zeros: {run['layers']} layers, {run['width']} -> "
            f"{run['hidden']}, {run['tokens']:,} tokens" + (f" in {run['ranges']} range{'s' if run['ranges'] != 1 else ''}, {run['rounds']} rounds" if "ranges" in run else ""))


def time_of(mode):
    """The measured times that ratios are about: those of the captured graph where there are any."""
    return mode["graph_ms"] if mode.get("graph_ms") else mode["eager_ms"]


def both_times(mode):
    times = [mode[key]["mean"] if mode.get(key) else None for key in ("graph_ms", "eager_ms")]
    return " / ".join("-" if t is None else f"{t:.2f}" for t in times)


def lines_of(run):
    dense = next(mode for mode in run["modes"] if mode["mode"] == "dense")
    for mode in run["modes"]:
        ratio = time_of(mode)["ratio_to_dense"]
        peak = mode["peak_bytes"]["total"]
        extra = mode["measured_extra_ms"]
        other_bits = "" if mode.get("gradients_equal_dense", True) else " (*)"
        yield [f"`{mode['mode']}`{other_bits}", both_times(mode), f"{ratio['mean']:.4f} ± {ratio['interval95']:.4f}", f"{peak / MIB:,.0f}",
               f"{peak / dense['peak_bytes']['total']:.2f}", f"{mode['activation_bytes_per_token']:,.0f}",
               f"{mode['max_tokens']:,.0f}", f"{mode['predicted_extra_ms']:+.2f}", f"{extra['mean']:+.2f} ± {extra['interval95']:.2f}"]


HEADER = ["mode", "ms per step, graph / not", "of dense's time", "peak MiB", "of dense's peak", "activation bytes per token",
          "largest token count", "extra ms predicted from bytes", "measured"]


def measured(runs):
    """Runs that measure steps with all layers compressed; one that varies their number is for the figure."""
    return [run for run in runs if "modes" in run and not any(":" in mode["mode"] for mode in run["modes"])]


def training_table(runs):
    return "\n\n".join(f"{setting(run)}\n\n{table(HEADER, list(lines_of(run)))}" for run in measured(runs))


def losses_table(runs):
    lines = []
    for run in (run for run in runs if "runs" in run):
        for one in run["runs"]:
            lines.append([one["mode"], f"{one['losses'][0]:.6f} -> {one['losses'][-1]:.6f}", str(one["losses_differing_from_dense"])])
    return table(["mode", "loss, first -> last step", "losses whose bits differ from dense's"], lines)


def pytorch_table(content):
    """Runs of docs/integrations/pytorch/ffn_experiment.py."""
    lines = []
    for part in content["runs"]:
        for run in part["runs"]:
            activation = {"relu_squared": "ReLU²", "relu": "ReLU"}[part["arguments"]["activation"]]
            what = f"{activation}, {100 * sum(run['zeros']) / len(run['zeros']):.0f} % zeros"
            dense = next(mode for mode in run["modes"] if mode["mode"] == "dense")
            for mode in run["modes"]:
                lines.append([what, f"`{mode['mode']}`", f"{mode['ms']:.1f} ({mode['ms_low']:.1f} to {mode['ms_high']:.1f})",
                              f"{mode['ms'] / dense['ms']:.3f}", f"{mode['peak_mib']:,.0f}", "yes" if mode["equals_dense"] else "no"])
                what = ""
    return table(["", "mode", "ms per step (10 to 90 %)", "of dense's time", "peak MiB", "input gradient is dense's, bit for bit"], lines)


def ops_table(content):
    """A run of bench/fused_ops: milliseconds and fraction of each op, by codec and share of zeros."""
    rows = {}
    for row in content["benchmarks"]:
        if row.get("aggregate_name", "median") == "median":
            rows[re.sub(r"/iterations:.*$", "", row.get("run_name", row["name"]))] = row
    columns = [("bf16", "0.50", "sign"), ("bf16", "0.80", "sign"), ("bf16", "0.50", "compact"), ("bf16", "0.80", "compact"),
               ("e4m3", "0.50", "sign"), ("e4m3", "0.80", "sign")]
    names = list(dict.fromkeys(re.match(r"(.*?)/(?:bf16|e4m3)/16000x21504/", name).group(1) for name in rows))
    lines = []
    for name in names:
        dense = rows.get(f"{name}/bf16/16000x21504/dense") or rows.get(f"{name}/e4m3/16000x21504/dense")
        cells = [rows.get(f"{name}/{e}/16000x21504/zeros:{z}/{c}") for e, z, c in columns]
        lines.append([f"`{name}`"] + ["-" if row is None else f"{row['real_time']:.3f} ({row['fraction']:.3f})" for row in [dense] + cells])
    header = ["ms (fraction)", "dense kernel"] + [f"{e}, {100 * float(z):.0f} %, `{c}`" for e, z, c in columns]
    return table(header, lines)


def draw_layers(run, axis):
    """One point per codec and number of compressed layers: memory against time."""
    by_codec = {}
    for mode in run["modes"]:
        codec, _, layers = mode["mode"].partition(":")
        ratio = time_of(mode)["ratio_to_dense"]
        by_codec.setdefault(codec, []).append((mode["peak_bytes"]["total"] / MIB, ratio["mean"], ratio["interval95"], layers))
    for codec, points in by_codec.items():
        points.sort(reverse=True)
        axis.errorbar([p[0] for p in points], [p[1] for p in points], yerr=[p[2] for p in points], marker="o", capsize=2, label=codec)
        for memory, ratio, _, layers in points:
            axis.annotate(layers, (memory, ratio), textcoords="offset points", xytext=(3, 4), fontsize=7)
    axis.set(title=setting(run), xlabel="peak device memory, MiB", ylabel="time per step / dense's")
    axis.title.set_fontsize(8)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7)


def draw_density(run, axis):
    densities = next(one["density_by_step"] for one in run["runs"] if one.get("density_by_step"))
    for layer, steps in enumerate(densities):
        axis.plot(steps, label=f"layer {layer}", linewidth=1)
    axis.set(xlabel="step", ylabel="share of values that are not zero", ylim=(0, 0.6))
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7)


def draw(runs, folder):
    plots = pyplot("training.py")
    if plots is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    layers = [run for run in runs if "modes" in run and any(":" in mode["mode"] for mode in run["modes"])]
    trained = [run for run in runs if "runs" in run]
    if layers:
        figure, axes = plots.subplots(1, len(layers), figsize=(6 * len(layers), 4.2), squeeze=False)
        for run, axis in zip(layers, axes[0]):
            draw_layers(run, axis)
        figure.tight_layout()
        figure.savefig(folder / "training_memory.png", dpi=120)
    if trained:
        figure, axis = plots.subplots(figsize=(6, 4.2))
        draw_density(trained[0], axis)
        figure.tight_layout()
        figure.savefig(folder / "training_density.png", dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--join", action="store_true")
    parser.add_argument("--pytorch", type=pathlib.Path)
    parser.add_argument("--ops", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    options = parser.parse_args()
    if options.join:
        join(options.file, options.runs)
        return
    runs = json.loads(pathlib.Path(options.file).read_text())["runs"]
    tables = {"training": training_table(runs), "losses": losses_table(runs)}
    if options.pytorch:
        tables["pytorch"] = pytorch_table(json.loads(options.pytorch.read_text()))
    if options.ops:
        tables["ops"] = ops_table(json.loads(options.ops.read_text()))
    if options.docs is None:
        print("\n\n".join(f"{name}\n{content}" for name, content in tables.items()))
        return
    page = options.docs / "benchmarks.md"
    page.write_text(fill(page.read_text(), tables))
    draw(runs, options.docs / "figures")


main()
