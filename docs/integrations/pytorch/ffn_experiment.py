# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""Time and peak memory of a stack of feed-forward layers: dense, recomputed, and compressed with bitsparse.

The experiment of BitSparse (Zhu, Sun, Lio, Yu, 2026): 8 layers, 4096 -> 21504 -> 4096, 16,000 tokens, bf16, forward
and backward pass, each weight's gradient dropped as soon as it is there. The modes take turns, step by step, in one
process; peak memory is taken before, with no other mode's memory around. Every mode's input gradient is compared with
that of dense.
"""

import argparse
import functools
import gc
import json
import math
import statistics

import torch
import torch.nn.functional as F
import torch.utils.checkpoint

import bitsparse_torch as bt

DENSE_MODES = ("dense", "compiled", "recompute")
MODES = DENSE_MODES + bt.CODECS

# ms and MiB that the paper's own code took on an H200 in this experiment with ReLU², by zeros; to be read beside, not
# in place of, this run's dense row: their code, libraries and data are others.
PAPERS_CODE = {
    0.5: {
        "dense": (213, 12393),
        "recompute": (257, 8288),
        "BitSparse": (221, 8875),
        "BitSparse, signs packed": (238, 8706),
    },
    0.8: {"dense": (207, None), "BitSparse": (214, 7310), "BitSparse, signs packed": (224, 7243)},
}


# ----------------------------------------------------------------------------------------------------------------------
# Data
# ----------------------------------------------------------------------------------------------------------------------


def moments(threshold, power):
    """Mean and variance of relu(z - threshold)**power, z normally distributed."""
    step = 1e-3
    points = [threshold + step * (i + 0.5) for i in range(int(9 / step))]
    weights = [math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * step for z in points]
    mean = sum(w * (z - threshold) ** power for z, w in zip(points, weights))
    return mean, sum(w * (z - threshold) ** (2 * power) for z, w in zip(points, weights)) - mean**2


def make_layers(args, zeros):
    """Weights that give every layer normally distributed inputs and so many zeros.

    Feature 0 of every layer's input is 1, or nearly so; its weights, minus a threshold, shift all hidden units.
    """
    generator = torch.Generator("cuda").manual_seed(1)
    threshold = statistics.NormalDist().inv_cdf(zeros)
    mean, variance = moments(threshold, 1 if args.activation == "relu" else 2)

    def normal(rows, cols, deviation):
        return torch.randn(rows, cols, device="cuda", generator=generator) * deviation

    layers = []
    for _ in range(args.layers):
        up = normal(args.hidden, args.dim, args.dim**-0.5)
        up[:, 0] = -threshold
        down = normal(args.dim, args.hidden, (args.hidden * variance) ** -0.5)
        down -= down.mean(1, keepdim=True)
        down[0] = 1 / (args.hidden * mean)
        layers.append([torch.nn.Parameter(w.to(torch.bfloat16)) for w in (up, down)])
    x = normal(args.tokens, args.dim, 1)
    x[:, 0] = 1
    dy = normal(args.tokens, args.dim, 1).to(torch.bfloat16)
    return x.to(torch.bfloat16).requires_grad_(), layers, dy


def zeros_by_layer(x, layers, activation):
    zeros = []
    with torch.no_grad():
        for up, down in layers:
            r = torch.relu(F.linear(x, up))
            zeros.append(1 - float(torch.count_nonzero(r)) / r.numel())
            x = F.linear(r if activation == "relu" else r.square_(), down)
    return zeros


# ----------------------------------------------------------------------------------------------------------------------
# Modes: each a function of x and a layer's weights
# ----------------------------------------------------------------------------------------------------------------------


@functools.cache
def dense_layer(activation):
    if activation == "relu":
        return lambda x, up, down: F.linear(torch.relu(F.linear(x, up)), down)
    return lambda x, up, down: F.linear(torch.relu(F.linear(x, up)) ** 2, down)


@functools.cache
def compiled_layer(activation):
    return torch.compile(dense_layer(activation), fullgraph=True)


def layer_of(mode, args, arena):
    dense = dense_layer(args.activation)
    if mode == "dense":
        return dense
    if mode == "compiled":
        return compiled_layer(args.activation)
    if mode == "recompute":
        return lambda x, up, down: torch.utils.checkpoint.checkpoint(dense, x, up, down, use_reentrant=False)
    options = dict(
        arena=arena,
        activation=args.activation,
        codec=mode,
        dense_buffers=args.buffers,
        range_rows=args.range_rows,
    )
    return lambda x, up, down: bt.ffn(x, up, down, **options)


def run_step(layer, x, layers, dy):
    y = x
    for up, down in layers:
        y = layer(y, up, down)
    y.backward(dy)


def make_arena(mode, args, x, layers, dy, zeros):
    """The arena that a mode needs, found by one step with one that surely suffices."""
    shapes = [(args.tokens, args.hidden)] * args.layers
    roomy = bt.Arena.planned(shapes, min(1.0, 1.1 * (1 - zeros) + 0.05), "fast")
    run_step(layer_of(mode, args, roomy), x, layers, dy)
    x.grad = None
    report = roomy.report()
    if report["conditions"]:
        raise RuntimeError(f"{mode}: the arena for calibration is too small: {report}")
    del roomy
    return bt.Arena(math.ceil(report["needed_slabs"] * args.headroom))


# ----------------------------------------------------------------------------------------------------------------------
# Measurements
# ----------------------------------------------------------------------------------------------------------------------


def measure_memory(mode, args, x, layers, dy, zeros, results):
    arena = make_arena(mode, args, x, layers, dy, zeros) if mode in bt.CODECS else None
    layer = layer_of(mode, args, arena)
    run_step(layer, x, layers, dy)
    gradient, x.grad = x.grad.cpu(), None
    dense_gradient = results[0]["gradient"] if results else gradient
    result = {"mode": mode, "equals_dense": torch.equal(gradient, dense_gradient)}
    if not results:
        result["gradient"] = gradient  # for the modes to come
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(2):
        run_step(layer, x, layers, dy)
        x.grad = None
    torch.cuda.synchronize()
    result["peak_mib"] = torch.cuda.max_memory_allocated() / 2**20
    if arena is not None:
        report = arena.report()
        result["arena_mib"] = arena.num_bytes / 2**20
        result["conditions"] = report["conditions"]
        dense = 2 * args.tokens * args.hidden * args.layers
        result["ratio"] = dense / (report["needed_slabs"] * report["slab_bytes"])
    results.append(result)


def measure_time(args, x, layers, dy, zeros, results):
    arenas, functions = {}, {}
    for mode in args.modes:
        arenas[mode] = make_arena(mode, args, x, layers, dy, zeros) if mode in bt.CODECS else None
        functions[mode] = layer_of(mode, args, arenas[mode])
    events = {mode: [] for mode in args.modes}
    for step in range(args.warmup + args.steps):
        for mode in args.modes:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run_step(functions[mode], x, layers, dy)
            end.record()
            x.grad = None
            if step >= args.warmup:
                events[mode].append((start, end))
    torch.cuda.synchronize()
    for result in results:
        times = sorted(start.elapsed_time(end) for start, end in events[result["mode"]])
        result["ms"] = statistics.median(times)
        result["ms_low"], result["ms_high"] = times[len(times) // 10], times[-1 - len(times) // 10]
        if arenas[result["mode"]] is not None:
            result["conditions"] += arenas[result["mode"]].report()["conditions"]


def print_results(args, zeros, run):
    print(f"\n{args.activation}, asked for {zeros:.0%} zeros; got " + " ".join(f"{z:.3f}" for z in run["zeros"]))
    columns = f"{'ms':>8}{'10-90 %':>16}{'/ dense':>9}{'peak MiB':>10}{'arena MiB':>11}{'ratio':>7}"
    print(f"{'mode':36}{columns}  dx = dense's")
    for r in run["modes"]:
        spread = f"{r['ms_low']:.1f}-{r['ms_high']:.1f}"
        arena = f"{r['arena_mib']:11.0f}{r['ratio']:7.2f}" if "arena_mib" in r else " " * 18
        relative = r["ms"] / run["modes"][0]["ms"]
        verdict = "yes" if r["equals_dense"] else "no"
        if r.get("conditions"):
            verdict += f"; ARENA: {', '.join(r['conditions'])}"
        print(f"{r['mode']:36}{r['ms']:8.1f}{spread:>16}{relative:9.3f}{r['peak_mib']:10.0f}{arena}  {verdict}")
    if args.activation == "relu_squared":
        for name, (ms, mib) in PAPERS_CODE.get(zeros, {}).items():
            print(f"{'their code: ' + name:36}{ms:8.1f}{'':16}{ms / PAPERS_CODE[zeros]['dense'][0]:9.3f}{mib or '-':>10}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=16000)
    parser.add_argument("--dim", type=int, default=4096)
    parser.add_argument("--hidden", type=int, default=21504)
    parser.add_argument("--activation", choices=("relu_squared", "relu"), default="relu_squared")
    parser.add_argument("--zeros", type=float, nargs="+", default=[0.5, 0.8], help="shares of zeros to aim at")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--buffers", type=int, choices=(1, 2), default=1, help="dense buffers of the backward pass")
    parser.add_argument("--range-rows", type=int, help="so many rows of hidden values at a time")
    parser.add_argument("--headroom", type=float, default=1.02, help="slabs of the arena / slabs needed")
    parser.add_argument("--json", help="write the results to this file")
    args = parser.parse_args()
    if args.modes[0] != "dense":
        args.modes = ["dense"] + [m for m in args.modes if m != "dense"]  # the others are compared with it
    return args


def main():
    args = parse_arguments()
    device = torch.cuda.get_device_name()
    print(
        f"{device}, PyTorch {torch.__version__}: {args.layers} layers, {args.dim} -> {args.hidden} -> {args.dim}, "
        f"{args.tokens} tokens, {args.steps} steps, {args.buffers} dense buffer(s), range {args.range_rows}"
    )
    report = {"device": device, "torch": torch.__version__, "arguments": vars(args), "runs": []}
    for zeros in args.zeros:
        x, layers, dy = make_layers(args, zeros)
        for parameter in (p for layer in layers for p in layer):
            parameter.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
        run = {"asked": zeros, "zeros": zeros_by_layer(x, layers, args.activation), "modes": []}
        for mode in args.modes:
            gc.collect()
            torch.cuda.empty_cache()
            measure_memory(mode, args, x, layers, dy, zeros, run["modes"])
        run["modes"][0].pop("gradient")
        measure_time(args, x, layers, dy, zeros, run["modes"])
        print_results(args, zeros, run)
        report["runs"].append(run)
        del x, layers, dy
        gc.collect()
        torch.cuda.empty_cache()
    if args.json:
        with open(args.json, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
