# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""Tests of bitsparse_torch. `python3 test_bitsparse_torch.py [-k WORD] [-x WORD]`; needs a CUDA device."""

import argparse
import copy
import gc
import itertools
import pickle
import sys
import time
import traceback

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._subclasses.schema_check_mode import SchemaCheckMode

import bitsparse_torch as bt

DEVICE = "cuda"
BITS = {torch.bfloat16: torch.int16, torch.float16: torch.int16, torch.float32: torch.int32}
DTYPES = tuple(BITS)


class Skipped(Exception):
    pass


def same_bits(a, b):
    return a.shape == b.shape and torch.equal(a.contiguous().view(BITS[a.dtype]), b.contiguous().view(BITS[b.dtype]))


def make_arena(num_slabs=64, **options):
    return bt.Arena(num_slabs, device=DEVICE, **options)


def slabs_in_use(arena):
    gc.collect()
    report = arena.report()
    assert report["conditions"] == [], report
    return report["device_slabs_in_use"] + report["host_slabs_in_use"]


def randn(*shape, dtype=torch.bfloat16, scale=1.0, seed=0):
    generator = torch.Generator(DEVICE).manual_seed(seed + sum(shape))
    return (torch.randn(*shape, device=DEVICE, generator=generator) * scale).to(dtype)


def refuses(text, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except (RuntimeError, TypeError, ValueError) as error:
        assert text in str(error), f"expected '{text}' in: {error}"
        return
    raise AssertionError(f"not refused: expected '{text}'")


# ----------------------------------------------------------------------------------------------------------------------
# Eager references: the same matrix products, dense activations
# ----------------------------------------------------------------------------------------------------------------------


def dense_activation(h, activation):
    r = torch.relu(h)
    return r if activation == "relu" else r**2


def dense_ffn(x, up, down, up_bias=None, down_bias=None, activation="relu_squared"):
    return F.linear(dense_activation(F.linear(x, up, up_bias), activation), down, down_bias)


class DenseRootFFN(torch.autograd.Function):
    """Keeps post = relu(x @ up.T)**2 and takes its root in the backward pass."""

    @staticmethod
    def forward(ctx, x, up, down):
        post = torch.relu(F.linear(x, up)) ** 2
        ctx.save_for_backward(x, up, down, post)
        return F.linear(post, down)

    @staticmethod
    def backward(ctx, dy):
        x, up, down, post = ctx.saved_tensors
        d_down = dy.t() @ post
        dh = root_gradient(post, dy @ down)
        return dh @ up, dh.t() @ x, d_down


def root_gradient(post, gradient):
    exact = 2 * post.float().sqrt() * gradient.float()
    return torch.where(post > 0, exact, torch.zeros_like(exact)).to(post.dtype)


def layer_tensors(rows=200, dim=96, hidden=416, dtype=torch.bfloat16, bias=False, shape=None):
    x = randn(*(shape or (rows,)), dim, dtype=dtype)
    up = randn(hidden, dim, dtype=dtype, scale=dim**-0.5, seed=1)
    down = randn(dim, hidden, dtype=dtype, scale=hidden**-0.5, seed=2)
    tensors = [x, up, down]
    if bias:
        tensors += [randn(hidden, dtype=dtype, seed=3), randn(dim, dtype=dtype, seed=4)]
    return tensors


def gradients(function, tensors, dy=None):
    leaves = [t.detach().clone().requires_grad_() for t in tensors]
    y = function(*leaves)
    y.backward(randn(*y.shape, dtype=y.dtype, seed=5) if dy is None else dy)
    return [y.detach()] + [leaf.grad for leaf in leaves]


def relative_error(a, b):
    return float(torch.linalg.norm(a.float() - b.float()) / torch.linalg.norm(b.float()))


def assert_same(results, references):
    assert len(results) == len(references)
    for i, (a, b) in enumerate(zip(results, references)):
        assert torch.equal(a, b), f"result {i} differs: {(a.float() - b.float()).abs().max()}"


# ----------------------------------------------------------------------------------------------------------------------
# Compressed matrices
# ----------------------------------------------------------------------------------------------------------------------


def test_round_trip_of_every_16_bit_pattern():
    arena = make_arena()
    patterns = torch.arange(-(2**15), 2**15, device=DEVICE, dtype=torch.int32).to(torch.int16)
    for dtype, codec in itertools.product((torch.bfloat16, torch.float16), bt.CODECS):
        for zero_every in (0, 2, 7):
            bits = patterns.clone()
            if zero_every:
                bits[torch.arange(bits.numel(), device=DEVICE) % zero_every != 0] = 0
            x = bits.view(dtype).view(256, 256)
            out = torch.full_like(x, 7)
            bt.decompress(bt.compress(x, arena, codec), out)
            assert same_bits(x, out), (dtype, codec, zero_every)
    assert slabs_in_use(arena) == 0


def test_round_trip_of_shapes_and_strides():
    arena = make_arena()
    shapes = [(0, 5), (5, 0), (1, 1), (1, 31), (33, 1), (31, 33), (32, 128), (33, 129), (100, 200), (257, 1000)]
    for dtype, (rows, cols) in itertools.product(DTYPES, shapes):
        for offset, pitch in ((0, cols), (0, cols + 8), (1, cols + 3)):
            base = torch.relu(randn(rows * (pitch + 1) + 16, dtype=dtype))
            x = base[offset:].as_strided((rows, cols), (max(pitch, 1), 1))
            canvas = torch.full_like(base, 7)
            out = canvas[offset:].as_strided((rows, cols), (max(pitch, 1), 1))
            bt.decompress(bt.compress(x, arena), out)
            assert same_bits(x, out), (dtype, rows, cols, offset, pitch)
            out.fill_(7)
            assert (canvas == 7).all(), "it wrote outside the matrix"


def test_row_ranges():
    arena = make_arena()
    x = torch.relu(randn(150, 300))
    handle = bt.compress(x, arena, "compact")
    for first, count in ((0, 32), (32, 64), (96, 54), (0, 150), (128, 22)):
        out = torch.full((count, 300), 7, device=DEVICE, dtype=x.dtype)
        bt.decompress(handle, out, first)
        assert same_bits(x[first : first + count].clone(), out)
    out = torch.empty(32, 300, device=DEVICE, dtype=x.dtype)
    refuses("does not begin with a tile", bt.decompress, handle, out, 16)
    refuses("beyond", bt.decompress, handle, out, 128)
    refuses("ends within a tile", bt.decompress, handle, out[:20], 0)


def test_element_wise_ops_equal_eager_autograd():
    arena = make_arena()
    for dtype, activation, codec in itertools.product(DTYPES, bt.ACTIVATIONS, bt.CODECS):
        x = randn(100, 300, dtype=dtype).requires_grad_()
        gradient = randn(100, 300, dtype=dtype, seed=6)
        dense = dense_activation(x, activation)
        (expected,) = torch.autograd.grad(dense, x, gradient)
        if activation == "relu_squared":
            (again,) = torch.autograd.grad(torch.relu(x).square(), x, gradient)
            assert torch.equal(expected, again)
        if activation == "square_of_relu":
            expected = root_gradient(dense.detach(), gradient)
        h = x.detach().clone()
        handle = torch.ops.bitsparse.compress_(h, arena.state, activation, codec)
        assert torch.equal(h, dense), (dtype, activation, codec)
        values, both, alone = torch.full_like(h, 7), gradient.clone(), gradient.clone()
        torch.ops.bitsparse.decompress_gradient(handle, both, values, activation, 0)
        torch.ops.bitsparse.decompress_gradient(handle, alone, None, activation, 0)
        assert torch.equal(values, dense) and torch.equal(both, expected) and torch.equal(alone, expected)
        bt.decompress(handle, values)
        kept = torch.relu(x) if activation != "square_of_relu" else dense
        assert torch.equal(values, kept)
        part = gradient[32:96].clone()
        torch.ops.bitsparse.decompress_gradient(handle, part, None, activation, 32)
        assert torch.equal(part, expected[32:96])


def test_special_values():
    arena = make_arena()
    inf, nan = float("inf"), float("nan")
    row = torch.tensor([0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 1e-40, -1e-40, 3e38, 1e-20], device=DEVICE)
    for dtype in DTYPES:
        x = row.to(dtype).repeat(64, 12).requires_grad_()
        gradient = randn(*x.shape, dtype=dtype)
        dense = torch.relu(x) ** 2
        (expected,) = torch.autograd.grad(dense, x, gradient)
        h = x.detach().clone()
        handle = torch.ops.bitsparse.compress_(h, arena.state, "relu_squared", "compact")
        torch.ops.bitsparse.decompress_gradient(handle, gradient, None, "relu_squared", 0)
        torch.testing.assert_close(h, dense.detach(), rtol=0, atol=0, equal_nan=True)
        finite = torch.isfinite(expected)
        if dtype != torch.float16:  # eager doubles in fp16, which may overflow where the product does not
            torch.testing.assert_close(gradient, expected, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(gradient[finite], expected[finite])


def test_statistics():
    arena = make_arena()
    x = torch.relu(randn(256, 1024))
    handle = bt.compress(x, arena, "sign")
    s = bt.statistics(handle)
    assert s["kept"] == int((x != 0).sum()) and s["is_full"] and s["chunk_bytes"] < x.nbytes * 0.6, s
    assert s["slabs"] == slabs_in_use(arena) == 1


# ----------------------------------------------------------------------------------------------------------------------
# Layers
# ----------------------------------------------------------------------------------------------------------------------


def test_ffn_equals_eager():
    arena = make_arena()
    for dtype, activation, bias in itertools.product(DTYPES, ("relu", "relu_squared"), (False, True)):
        tensors = layer_tensors(dtype=dtype, bias=bias)
        expected = gradients(lambda *t: dense_ffn(*t, activation=activation), tensors)
        for codec, buffers in itertools.product(bt.CODECS, (1, 2)):
            options = dict(arena=arena, activation=activation, codec=codec, dense_buffers=buffers)
            assert_same(gradients(lambda *t: bt.ffn(*t, **options), tensors), expected)
    assert slabs_in_use(arena) == 0


def test_ffn_from_post_equals_eager():
    arena = make_arena()
    tensors = layer_tensors()
    expected = gradients(DenseRootFFN.apply, tensors)
    for codec, buffers in itertools.product(bt.CODECS, (1, 2)):
        options = dict(arena=arena, activation="square_of_relu", codec=codec, dense_buffers=buffers)
        assert_same(gradients(lambda *t: bt.ffn(*t, **options), tensors), expected)
    assert slabs_in_use(arena) == 0


def test_gradients_that_are_not_needed():
    arena = make_arena()
    x, up, down, up_bias, down_bias = layer_tensors(bias=True)
    for needed in itertools.product((False, True), repeat=5):
        if not any(needed):
            continue
        grads = []
        for function in (dense_ffn, lambda *t: bt.ffn(*t, arena=arena)):
            leaves = [t.clone().requires_grad_(n) for t, n in zip((x, up, down, up_bias, down_bias), needed)]
            function(*leaves).backward(randn(*x.shape, seed=5))
            grads.append([leaf.grad for leaf in leaves])
        for a, b in zip(*grads):
            assert (a is None) == (b is None) and (a is None or torch.equal(a, b)), needed
    assert slabs_in_use(arena) == 0


def ranged_reference(x, up, down, dy, range_rows):
    """ReLU² with the matrix products of ffn(range_rows=...) and dense activations."""
    y, dx, d_up, d_down = [], [], None, None
    for x_rows, dy_rows in zip(x.split(range_rows), dy.split(range_rows)):
        r = torch.relu(F.linear(x_rows, up))
        y.append(F.linear(r * r, down))
        dh = torch.where(r > 0, 2 * r * (dy_rows @ down), 0)
        d_down = dy_rows.t() @ (r * r) if d_down is None else d_down.addmm_(dy_rows.t(), r * r)
        d_up = dh.t() @ x_rows if d_up is None else d_up.addmm_(dh.t(), x_rows)
        dx.append(dh @ up)
    return [torch.cat(y), torch.cat(dx), d_up, d_down]


def test_row_ranges_of_a_layer():
    arena = make_arena()
    tensors = layer_tensors()
    dy = randn(200, 96, seed=5)
    dense = gradients(dense_ffn, tensors)
    for range_rows, buffers in itertools.product((50, 64, 199, 200), (1, 2)):
        options = dict(arena=arena, range_rows=range_rows, dense_buffers=buffers)
        results = gradients(lambda *t: bt.ffn(*t, **options), tensors)
        assert_same(results, dense if range_rows == 200 else ranged_reference(*tensors, dy, range_rows))
        for a, b in zip(results, dense):
            assert relative_error(a, b) < 0.01, range_rows
    with_bias = layer_tensors(bias=True)
    results = gradients(lambda *t: bt.ffn(*t, arena=arena, range_rows=64), with_bias)
    for a, b in zip(results, gradients(dense_ffn, with_bias)):
        assert relative_error(a, b) < 0.02
    assert slabs_in_use(arena) == 0


def test_module():
    arena = make_arena()
    layer = bt.SparseFFN(96, 416, arena=arena, device=DEVICE, dtype=torch.bfloat16)
    x = randn(3, 50, 96)
    expected = gradients(lambda t: dense_ffn(t, layer.up.weight, layer.down.weight), [x])
    layer.zero_grad()
    assert_same(gradients(layer, [x]), expected)
    assert sorted(layer.state_dict()) == ["down.weight", "up.weight"]
    twin = copy.deepcopy(layer)
    assert twin.arena is arena and twin.up.weight is not layer.up.weight
    refuses("cannot be pickled", pickle.dumps, arena)
    refuses("needs an Arena", bt.SparseFFN, 96, 416)
    refuses("activation is", bt.SparseFFN, 96, 416, "gelu", arena=arena)
    refuses("codec is", bt.SparseFFN, 96, 416, codec="zip", arena=arena)


def test_autocast():
    arena = make_arena()
    tensors = layer_tensors(dtype=torch.float32, bias=True)

    def under_autocast(function):
        def run(*t):
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                return function(*t)

        return run

    dy = randn(200, 96, seed=5)
    expected = gradients(under_autocast(dense_ffn_in_bf16), tensors, dy)
    assert_same(gradients(under_autocast(lambda *t: bt.ffn(*t, arena=arena)), tensors, dy), expected)


def dense_ffn_in_bf16(x, up, down, up_bias, down_bias):
    r = torch.relu(F.linear(x, up, up_bias))
    return F.linear(r * r, down, down_bias)  # pow would be computed in fp32 under autocast


# ----------------------------------------------------------------------------------------------------------------------
# Who holds slabs, and how long
# ----------------------------------------------------------------------------------------------------------------------


def test_no_grad_holds_nothing():
    arena = make_arena()
    tensors = layer_tensors(bias=True)
    expected = dense_ffn(*tensors)
    leaves = [t.clone().requires_grad_() for t in tensors]
    for context, options in itertools.product((torch.no_grad, torch.inference_mode), ({}, {"range_rows": 64})):
        with context():
            y = bt.ffn(*leaves, arena=arena, **options)
        if not options:
            assert torch.equal(y, expected)
    assert torch.equal(bt.ffn(*tensors, arena=arena), expected)  # nothing requires a gradient
    report = arena.report()
    assert report["peak_device_slabs"] == 0 and report["needed_slabs"] == 0, report


def test_retain_graph():
    arena = make_arena()
    leaves = [t.requires_grad_() for t in layer_tensors()]
    y = bt.ffn(*leaves, arena=arena)
    dy = randn(*y.shape, seed=5)
    first = torch.autograd.grad(y, leaves, dy, retain_graph=True)
    assert slabs_in_use(arena) > 0
    second = torch.autograd.grad(y, leaves, dy)
    assert_same(first, second)
    assert slabs_in_use(arena) == 0
    refuses("second time", torch.autograd.grad, y, leaves, dy)


def test_dropped_graph_gives_its_slabs_back():
    arena = make_arena()
    leaves = [t.requires_grad_() for t in layer_tensors()]
    y = bt.ffn(*leaves, arena=arena)
    assert slabs_in_use(arena) > 0
    del y
    assert slabs_in_use(arena) == 0
    for _ in range(200):  # far more than there are slabs
        bt.ffn(*leaves, arena=arena)
    assert slabs_in_use(arena) == 0 and arena.report()["refused_slabs"] == 0


def test_checkpointing():
    arena = make_arena()
    tensors = layer_tensors(bias=True)
    expected = gradients(dense_ffn, tensors)
    for reentrant in (False, True):

        def run(*t):
            return torch.utils.checkpoint.checkpoint(
                lambda *u: bt.ffn(*u, arena=arena), *t, use_reentrant=reentrant
            )

        leaves = [t.clone().requires_grad_() for t in tensors]
        y = run(*leaves)
        assert slabs_in_use(arena) == 0, "a checkpointed layer holds slabs"
        del y
        assert_same(gradients(run, tensors), expected)
        assert slabs_in_use(arena) == 0


def test_two_layers_in_any_order():
    arena = make_arena()
    tensors = layer_tensors()
    expected = gradients(dense_ffn, tensors)
    leaves = [[t.clone().requires_grad_() for t in tensors] for _ in range(3)]
    outputs = [bt.ffn(*group, arena=arena) for group in leaves]
    for i in (1, 0, 2):
        outputs[i].backward(randn(*outputs[i].shape, seed=5))
        assert_same([outputs[i].detach()] + [leaf.grad for leaf in leaves[i]], expected)
    assert slabs_in_use(arena) == 0


def test_side_streams():
    arena = make_arena()
    tensors = layer_tensors(rows=2000, dim=256, hidden=1024)
    expected = gradients(dense_ffn, tensors)
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    for i in range(30):
        stream, other = streams[i % 3], streams[(i + 1) % 3]
        with torch.cuda.stream(stream):
            leaves = [t.clone().requires_grad_() for t in tensors]
            y = bt.ffn(*leaves, arena=arena)
            dy = randn(*y.shape, seed=5)
        if i % 4 == 3:
            del y, leaves, dy  # dropped in another stream than it was made in
            continue
        other.wait_stream(stream)
        with torch.cuda.stream(other):
            grads = torch.autograd.grad(y, leaves, dy)
        torch.cuda.synchronize()
        assert_same([y.detach(), *grads], expected)
        del y, leaves
    torch.cuda.synchronize()
    x = torch.relu(randn(2000, 1024))
    outs = [torch.empty_like(x) for _ in streams]
    for _ in range(20):  # several readers; the slabs are reused at once by the next round
        handle = bt.compress(x, arena)
        for stream, out in zip(streams, outs):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                torch.cuda._sleep(100000)
                bt.decompress(handle, out)
        del handle
        filler = bt.compress(torch.ones_like(x), arena)
        torch.cuda.synchronize()
        assert all(same_bits(x, out) for out in outs)
        del filler
    assert slabs_in_use(arena) == 0


def test_release_and_use_after_it():
    arena = make_arena()
    x = torch.relu(randn(64, 256))
    out = torch.empty_like(x)
    handle = bt.compress(x, arena)
    bt.release(handle)
    assert slabs_in_use(arena) == 0
    refuses("released before", bt.release, handle)
    refuses("released before", bt.decompress, handle, out)
    refuses("released before", bt.statistics, handle)
    del handle
    handle = bt.compress(x, arena)
    arena.reset()
    refuses("was reset", bt.decompress, handle, out)
    refuses("was reset", bt.release, handle)
    del handle
    handle = bt.compress(x, arena)
    refuses("copy of one", bt.decompress, handle.clone(), out)
    refuses("not an arena", bt._ops.compress, x, arena.state.clone(), "sign")
    bt.decompress(handle.view(1, 1), out)  # an alias will do
    assert same_bits(x, out)
    del handle
    assert slabs_in_use(arena) == 0


def test_hooks_that_copy_are_refused():
    arena = make_arena()
    leaves = [t.requires_grad_() for t in layer_tensors()]
    with torch.autograd.graph.save_on_cpu():
        y = bt.ffn(*leaves, arena=arena)
    refuses("hooks that copy", y.sum().backward)
    del y
    assert slabs_in_use(arena) == 0


def test_misuse_is_refused():
    arena = make_arena()
    x, up, down = layer_tensors()
    h = F.linear(x, up)
    refuses("leaf", bt.activation_linear, h.detach().requires_grad_(), down, arena=arena)
    refuses("has to be a matrix", bt.activation_linear, h.view(2, 100, -1), down, arena=arena)
    refuses("dtype", bt.compress, h.double(), arena)
    refuses("row-major", bt.compress, h.t(), arena)
    refuses("2 dimensions", bt.compress, h.view(2, 100, -1), arena)
    refuses("codec is 'zip'", bt.compress, h, arena, "zip")
    refuses("op is 'gelu'", bt._ops.compress_, h, arena.state, "gelu", "sign")
    handle = bt.compress(h, arena)
    refuses("another dtype", bt.decompress, handle, h.float())
    refuses("columns", bt.decompress, handle, h[:, :128].contiguous())
    refuses("beyond", bt.decompress, handle, torch.cat([h, h]))
    refuses("overlap", bt._ops.decompress_gradient, handle, h, h, "relu", 0)
    refuses("arena or the compressed tensor on", bt.compress, h.cpu(), arena)
    refuses("on cpu", bt.decompress, handle, h.cpu())
    refuses("no room for a slab", bt._ops.make_arena, torch.empty(100, dtype=torch.uint8, device=DEVICE), None, 1 << 19)
    refuses("power of two", make_arena, 4, slab_bytes=3 << 17)
    doubled = torch.tanh(F.linear(x, up.clone().requires_grad_()))  # saves its output, which is overwritten
    y = bt.activation_linear(doubled, down.clone().requires_grad_(), arena=arena)
    refuses("modified by an inplace operation", y.sum().backward)


# ----------------------------------------------------------------------------------------------------------------------
# Exhaustion, spilling, asynchrony
# ----------------------------------------------------------------------------------------------------------------------


def test_exhaustion_is_reported_and_skips_the_step():
    torch.manual_seed(0)
    arena = make_arena(2)
    layer = bt.SparseFFN(256, 2048, arena=arena, device=DEVICE, dtype=torch.bfloat16)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1, fused=True)
    optimizer.found_inf = arena.found_inf()
    before = [p.detach().clone() for p in layer.parameters()]
    layer(randn(2000, 256)).sum().backward()
    optimizer.step()
    assert float(arena.found_inf()) == 1
    assert all(torch.equal(p, b) for p, b in zip(layer.parameters(), before)), "the step was not skipped"
    assert torch.isnan(layer.up.weight.grad).any(), "lost values have to read as NaN"
    report = arena.report()
    assert "capacity_exceeded" in report["conditions"] and report["refused_slabs"] > 0, report
    arena.clear()
    assert float(arena.found_inf()) == 0 and arena.report()["conditions"] == []

    enough = make_arena(report["needed_slabs"] + 1)
    layer.arena = enough
    optimizer.found_inf = enough.found_inf()
    optimizer.zero_grad()
    layer(randn(2000, 256)).sum().backward()
    optimizer.step()
    assert slabs_in_use(enough) == 0 and float(enough.found_inf()) == 0
    assert not any(torch.equal(p, b) for p, b in zip(layer.parameters(), before))


def test_planned_arena_suffices():
    shapes = [(1000, 3072)] * 3
    arena = bt.Arena.planned(shapes, 0.52, "sign", torch.bfloat16, device=DEVICE)
    handles = [bt.compress(torch.relu(randn(*shape, seed=i)), arena, "sign") for i, shape in enumerate(shapes)]
    assert slabs_in_use(arena) > 0 and arena.report()["refused_slabs"] == 0
    del handles
    assert slabs_in_use(arena) == 0


def test_spilling_to_host_memory():
    arena = make_arena(2, num_host_slabs=16)
    tensors = layer_tensors(rows=2000, dim=256, hidden=2048)
    expected = gradients(dense_ffn, tensors)
    assert_same(gradients(lambda *t: bt.ffn(*t, arena=arena), tensors), expected)
    report = arena.report()
    assert report["spilled_slabs"] > 0 and report["refused_slabs"] == 0, report
    assert slabs_in_use(arena) == 0


def test_arena_memory_is_pytorchs():
    gc.collect()
    before = torch.cuda.memory_allocated()
    arena = make_arena(32)
    assert torch.cuda.memory_allocated() - before >= 32 * bt.DEFAULT_SLAB_BYTES
    handle = bt.compress(randn(64, 64), arena)
    del arena  # the handle keeps its memory
    gc.collect()
    assert torch.cuda.memory_allocated() - before >= 32 * bt.DEFAULT_SLAB_BYTES
    del handle
    assert torch.cuda.memory_allocated() - before == 0


def test_nothing_waits_for_the_device():
    arena = make_arena()
    tensors = layer_tensors()
    gradients(lambda *t: bt.ffn(*t, arena=arena), tensors)  # kernels loaded, memory cached
    leaves = [t.clone().requires_grad_() for t in tensors]
    dy = randn(200, 96, seed=5)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        torch.cuda._sleep(2_000_000_000)  # about a second
        running = torch.cuda.Event()
        running.record()
        start = time.perf_counter()
        for _ in range(5):
            bt.ffn(*leaves, arena=arena).backward(dy)
            bt.ffn(*leaves, arena=arena)
        arena.clear()
        seconds = time.perf_counter() - start
        assert not running.query(), f"the host took {seconds:.2f} s, as long as the device"
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()
    assert slabs_in_use(arena) == 0


def test_cuda_graph_of_a_whole_step():
    arena = make_arena()
    tensors = layer_tensors()
    leaves = [t.clone().requires_grad_() for t in tensors]
    dy = randn(200, 96, seed=5)

    def step():
        y = bt.ffn(*leaves, arena=arena)
        return (y.detach(), *torch.autograd.grad(y, leaves, dy))

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = step()
    for i in range(20):
        with torch.no_grad():
            leaves[0].copy_(randn(*leaves[0].shape, seed=i) - i * 0.1)
        graph.replay()
        expected = gradients(dense_ffn, leaves)
        assert_same(results, expected)
    assert slabs_in_use(arena) == 0


def test_compile():
    arena = make_arena()
    for options in ({}, {"dense_buffers": 2}, {"activation": "relu"}, {"codec": "compact", "bias": True}):
        torch._dynamo.reset()
        layer = torch.nn.Sequential(
            bt.SparseFFN(96, 416, arena=arena, device=DEVICE, dtype=torch.bfloat16, **options),
            torch.nn.LayerNorm(96, device=DEVICE, dtype=torch.bfloat16),
            bt.SparseFFN(96, 416, arena=arena, device=DEVICE, dtype=torch.bfloat16, **options),
        )
        compiled = torch.compile(layer, fullgraph=True)
        x = randn(4, 50, 96)
        results = []
        for function in (layer, compiled, compiled):
            layer.zero_grad()
            y, dx = gradients(function, [x])
            results.append([y, dx] + [p.grad.clone() for p in layer.parameters()])
        for a, b in zip(*results[:2]):
            assert relative_error(a, b) < 0.02, options
        assert_same(results[1], results[2])
        assert slabs_in_use(arena) == 0
        y = compiled(x.requires_grad_())
        assert slabs_in_use(arena) > 0
        del y
        assert slabs_in_use(arena) == 0, "a dropped compiled graph holds slabs"
        with torch.no_grad():
            compiled(x)
            assert slabs_in_use(arena) == 0


def test_schemas_and_fakes():
    arena = make_arena()
    x = torch.relu(randn(64, 256))
    handle = bt.compress(x, arena)
    for op, args in (
        (bt._ops.compress, (x, arena.state, "sign")),
        (bt._ops.compress_, (x.clone(), arena.state, "relu_squared", "sign")),
        (bt._ops.decompress, (handle, x.clone(), "identity", 0)),
        (bt._ops.decompress_gradient, (handle, x.clone(), x.clone(), "relu", 0)),
        (bt._ops.release, (handle,)),
    ):
        with SchemaCheckMode():  # what is written and aliased is what the schema says
            real = op.default(*args)
        with FakeTensorMode() as mode:
            fake = op.default(*[mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in args])
        assert (real is None) == (fake is None)
        if real is not None:
            assert (real.shape, real.stride(), real.dtype, real.device) == (
                fake.shape,
                fake.stride(),
                fake.dtype,
                fake.device,
            )


def test_two_devices():
    if torch.cuda.device_count() < 2:
        raise Skipped("there is one device")
    arenas = [bt.Arena(64, device=f"cuda:{i}") for i in range(2)]
    x = torch.relu(randn(64, 256)).to("cuda:1")
    out = torch.empty_like(x)
    bt.decompress(bt.compress(x, arenas[1]), out)  # while cuda:0 is the current device
    assert same_bits(x, out)
    refuses("the arena or the compressed tensor on", bt.compress, x, arenas[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="", help="run the tests with this word in their names")
    parser.add_argument("-x", help="leave out those with this word")
    args = parser.parse_args()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    names = [name for name in globals() if name.startswith("test_") and args.k in name]
    for name in [name for name in names if args.x is None or args.x not in name]:
        test = globals()[name]
        start = time.perf_counter()
        try:
            test()
            outcome, why = "passed", ""
        except Skipped as reason:
            outcome, why = "skipped", f": {reason}"
        except Exception:
            outcome, why = "failed", "\n" + traceback.format_exc()
        counts[outcome] += 1
        print(f"{outcome:8}{time.perf_counter() - start:6.1f} s  {name}{why}", flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    if not torch.cuda.is_available():
        print("0 passed, 0 failed, 1 skipped\nthere is no CUDA device")
        sys.exit(0)
    sys.exit(main())
