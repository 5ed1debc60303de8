# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 the bitsparse authors
"""bitsparse for PyTorch: feed-forward layers that keep their activation compressed, losslessly.

    arena = Arena.planned([(tokens, hidden)] * layers, density=0.5, codec="compact")
    ffn = SparseFFN(dim, hidden, activation="relu_squared", codec="compact", arena=arena)
    y = ffn(x)          # relu(x @ up.T)**2 @ down.T; the activation is kept in the arena
    y.backward(...)     # the same gradients, bit for bit, as from dense activations

Nothing here waits for the device except Arena.report() and statistics(). A compressed tensor is a handle, a
tensor of one value: when the last reference to it goes, its slabs go back to the arena in the stream that filled
them. So a graph that is dropped, kept with retain_graph or recomputed by checkpointing needs no care.
"""

import os
import pathlib

import torch
import torch.nn.functional as F
from torch.autograd.function import once_differentiable

DEFAULT_SLAB_BYTES = 512 * 1024

# What is stored and emitted by the forward op of each activation, and how the emitted values are made again:
#   relu            stores and emits r = relu(h)
#   relu_squared    stores r, emits r**2
#   square_of_relu  stores and emits r**2; the gradient takes its root, as code does that keeps only r**2
_VALUE_OPS = {"relu": "identity", "relu_squared": "square", "square_of_relu": "identity"}
ACTIVATIONS = tuple(_VALUE_OPS)
CODECS = ("fast", "sign", "compact")


def _load():
    name = "libbitsparse_torch.so"
    here = pathlib.Path(__file__).resolve().parent
    given = os.environ.get("BITSPARSE_TORCH_LIBRARY")
    candidates = [pathlib.Path(given)] if given else [here / name, here / "build" / name]
    for path in candidates:
        if path.exists():
            torch.ops.load_library(str(path))
            return
    raise ImportError(
        f"{name} is not at {' or '.join(map(str, candidates))}: build it as README.md says, or set "
        "BITSPARSE_TORCH_LIBRARY to its path"
    )


_load()
_ops = torch.ops.bitsparse


# ----------------------------------------------------------------------------------------------------------------------
# Shapes for torch.compile
# ----------------------------------------------------------------------------------------------------------------------


@torch.library.register_fake("bitsparse::make_arena")
def _(memory, host_memory, slab_bytes):
    return memory.new_empty((1,), dtype=torch.float32)


@torch.library.register_fake("bitsparse::compress")
def _(source, arena, codec):
    torch._check(source.dim() == 2)
    return source.new_empty((1,), dtype=torch.int64)


@torch.library.register_fake("bitsparse::compress_")
def _(values, arena, op, codec):
    torch._check(values.dim() == 2)
    return values.new_empty((1,), dtype=torch.int64)


@torch.library.register_fake("bitsparse::decompress")
def _(handle, values, op, first_row):
    return None


@torch.library.register_fake("bitsparse::decompress_gradient")
def _(handle, gradient, values, op, first_row):
    return None


@torch.library.register_fake("bitsparse::release")
def _(handle):
    return None


@torch.library.register_fake("bitsparse::arena_reset")
def _(arena):
    return None


@torch.library.register_fake("bitsparse::arena_clear")
def _(arena):
    return None


# ----------------------------------------------------------------------------------------------------------------------
# Arena and compressed tensors
# ----------------------------------------------------------------------------------------------------------------------


class Arena:
    """Memory for compressed tensors, taken once from PyTorch's allocator. One per device is enough.

    Slabs that are used up are continued in pinned host memory, if there is any, and else lost: then found_inf() is 1
    from that time on, what is decompressed of them is NaN, and report() says how many slabs would have sufficed.
    """

    def __init__(self, num_slabs, *, device="cuda", num_host_slabs=0, slab_bytes=DEFAULT_SLAB_BYTES):
        num_bytes = _ops.arena_bytes(num_slabs + num_host_slabs, slab_bytes) - num_host_slabs * slab_bytes
        memory = torch.empty(num_bytes, dtype=torch.uint8, device=device)
        host_memory = None
        if num_host_slabs:
            host_memory = torch.empty(num_host_slabs * slab_bytes, dtype=torch.uint8, pin_memory=True)
        self.num_bytes = num_bytes
        self.state = _ops.make_arena(memory, host_memory, slab_bytes)

    @classmethod
    def planned(cls, shapes, density, codec="sign", dtype=torch.bfloat16, *, slab_bytes=DEFAULT_SLAB_BYTES, **options):
        """An arena that has room for tensors of all these shapes at once, at this density (kept values / values)."""
        slabs = sum(_ops.planned_slabs(rows, cols, density, codec, dtype, slab_bytes) for rows, cols in shapes)
        return cls(slabs, slab_bytes=slab_bytes, **options)

    def found_inf(self):
        """A float on the device: 1 once anything was lost since clear(), else 0, like a gradient scaler's found_inf.

        Fused optimizers skip their step on it: `optimizer.found_inf = arena.found_inf()`.
        """
        return self.state.detach()[0]

    def report(self):
        """What the arena says of itself, since clear(). Waits for the current stream."""
        names = (
            "device_slabs_in_use",
            "host_slabs_in_use",
            "peak_device_slabs",
            "peak_host_slabs",
            "needed_slabs",
            "spilled_slabs",
            "refused_slabs",
            "conditions",
            "num_device_slabs",
            "num_host_slabs",
            "slab_bytes",
        )
        report = dict(zip(names, _ops.arena_report(self.state)))
        bits = {1: "lost_tile_read", 4: "corrupt_tile", 8: "capacity_exceeded", 16: "not_full"}
        report["conditions"] = [name for bit, name in bits.items() if report["conditions"] & bit]
        return report

    def clear(self):
        """Forgets conditions (found_inf) and peaks, in the current stream."""
        _ops.arena_clear(self.state)

    def reset(self):
        """Makes every slab free, in the current stream, whatever handles hold: they are refused from then on."""
        _ops.arena_reset(self.state)

    def __deepcopy__(self, memo):
        return self  # modules that are copied share it

    def __reduce__(self):
        raise TypeError("an Arena is device memory and cannot be pickled; save the module's state_dict")


def compress(source, arena, codec="sign"):
    """The handle of a matrix (bfloat16, float16 or float32; row-major), compressed losslessly."""
    return _ops.compress(source, arena.state, codec)


def decompress(handle, out, first_row=0):
    """Writes rows first_row, first_row + 1, ... of a compressed matrix, as many as `out` has, to `out`.

    Both first_row and the number of rows are multiples of 32, unless the range ends with the matrix.
    """
    _ops.decompress(handle, out, "identity", first_row)
    return out


def release(handle):
    """Gives a compressed matrix' slabs back before its handle goes, in the current stream."""
    _ops.release(handle)


def statistics(handle):
    """What a compressed matrix takes. Waits for the current stream."""
    kept, chunk_bytes, slabs, is_full, *tiles = _ops.statistics(handle)
    return {"kept": kept, "chunk_bytes": chunk_bytes, "slabs": slabs, "is_full": bool(is_full), "tiles": tiles}


# ----------------------------------------------------------------------------------------------------------------------
# act(h) @ weight.T
# ----------------------------------------------------------------------------------------------------------------------


def _check_activation(activation, codec, dense_buffers):
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}; it has to be one of {ACTIVATIONS}")
    if codec not in CODECS:
        raise ValueError(f"codec is {codec!r}; it has to be one of {CODECS}")
    if dense_buffers not in (1, 2):
        raise ValueError(f"dense_buffers is {dense_buffers!r}; it has to be 1 or 2")


def _activate_(h, activation):
    torch.relu_(h)
    return h if activation == "relu" else h.mul_(h)


def _matmul(a, b, out=None):
    """a @ b into `out`'s memory where that is possible and worth it: compiled code plans its own."""
    if out is None or torch.compiler.is_compiling():
        return torch.mm(a, b)
    return torch.mm(a, b, out=out)


def _linear_backward(dy, weight, handle, activation, dense_buffers, needs_h, needs_weight, dw=None):
    """The gradients of h and of weight, for the rows of dy. With dw given, the latter is added to it.

    With one dense buffer the activation is decompressed into it, used, and overwritten by the gradient; the
    compressed data is read twice. With two, it is read once.
    """
    values = dh = None
    if needs_weight:
        values = dy.new_empty((dy.shape[0], weight.shape[1]))
    if needs_h and needs_weight and dense_buffers == 2:
        dh = torch.mm(dy, weight)
        _ops.decompress_gradient(handle, dh, values, activation, 0)
    elif needs_weight:
        _ops.decompress(handle, values, _VALUE_OPS[activation], 0)
    if needs_weight:
        dw = torch.mm(dy.t(), values) if dw is None else dw.addmm_(dy.t(), values)
    if needs_h and dh is None:
        dh = _matmul(dy, weight, values)
        _ops.decompress_gradient(handle, dh, None, activation, 0)
    return dh, dw


class _ActivationLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, weight, bias, arena, activation, codec, dense_buffers):
        handle = _ops.compress_(h, arena, activation, codec)
        ctx.save_for_backward(handle, weight)
        ctx.activation = activation
        ctx.dense_buffers = dense_buffers
        return F.linear(h, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        handle, weight = ctx.saved_tensors
        needs_h, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        dh, dw = _linear_backward(
            dy, weight, handle, ctx.activation, ctx.dense_buffers, needs_h, needs_weight
        )
        db = dy.sum(0) if needs_bias else None
        return dh, dw, db, None, None, None, None


def _under_autocast(*tensors):
    device = tensors[0].device.type
    if not torch.is_autocast_enabled(device):
        return tensors
    dtype = torch.get_autocast_dtype(device)
    return tuple(t if t is None else t.to(dtype) for t in tensors)


def _records(*tensors):
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


def activation_linear(
    h, weight, bias=None, *, arena, activation="relu_squared", codec="sign", dense_buffers=1
):
    """act(h) @ weight.T + bias, of a matrix h whose memory it overwrites: do not use h afterwards.

    Where no gradient is recorded nothing is compressed.
    """
    _check_activation(activation, codec, dense_buffers)
    if h.dim() != 2:
        raise ValueError(f"h has {h.dim()} dimensions; it has to be a matrix: flatten the others into its rows")
    if h.requires_grad and h.is_leaf and torch.is_grad_enabled():
        raise ValueError("h is a leaf that requires a gradient and would be overwritten; pass a copy of it")
    h, weight, bias = _under_autocast(h, weight, bias)
    if not _records(h, weight, bias):
        return F.linear(_activate_(h, activation), weight, bias)
    if not torch.compiler.is_compiling():
        torch.autograd.graph.increment_version(h)  # whoever has saved h is to know
    return _ActivationLinear.apply(h, weight, bias, arena.state, activation, codec, dense_buffers)


# ----------------------------------------------------------------------------------------------------------------------
# act(x @ up.T) @ down.T
# ----------------------------------------------------------------------------------------------------------------------


class _RangedFFN(torch.autograd.Function):
    """All of a feed-forward layer, so many rows at a time: neither pass has more dense hidden rows than that."""

    @staticmethod
    def forward(ctx, x, up, up_bias, down, down_bias, arena, activation, codec, dense_buffers, range_rows):
        y = x.new_empty((x.shape[0], down.shape[0]))
        handles = []
        for x_rows, y_rows in zip(x.split(range_rows), y.split(range_rows)):
            h = F.linear(x_rows, up, up_bias)
            handles.append(_ops.compress_(h, arena, activation, codec))
            y_rows.copy_(F.linear(h, down, down_bias))
            del h
        ctx.save_for_backward(x, up, down, *handles)
        ctx.activation = activation
        ctx.dense_buffers = dense_buffers
        ctx.range_rows = range_rows
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        x, up, down, *handles = ctx.saved_tensors
        needs_x, needs_up, needs_up_bias, needs_down, needs_down_bias = ctx.needs_input_grad[:5]
        needs_h = needs_x or needs_up or needs_up_bias
        dx = torch.empty_like(x)
        d_up = d_up_bias = d_down = None
        for dy_rows, x_rows, dx_rows, handle in zip(
            dy.split(ctx.range_rows), x.split(ctx.range_rows), dx.split(ctx.range_rows), handles
        ):
            dh, d_down = _linear_backward(
                dy_rows, down, handle, ctx.activation, ctx.dense_buffers, needs_h, needs_down, d_down
            )
            if needs_up:
                d_up = torch.mm(dh.t(), x_rows) if d_up is None else d_up.addmm_(dh.t(), x_rows)
            if needs_up_bias:
                d_up_bias = dh.sum(0) if d_up_bias is None else d_up_bias.add_(dh.sum(0))
            if needs_x:
                dx_rows.copy_(torch.mm(dh, up))
            del dh
        d_down_bias = dy.sum(0) if needs_down_bias else None
        return dx if needs_x else None, d_up, d_up_bias, d_down, d_down_bias, None, None, None, None, None


def ffn(
    x,
    up,
    down,
    up_bias=None,
    down_bias=None,
    *,
    arena,
    activation="relu_squared",
    codec="sign",
    dense_buffers=1,
    range_rows=None,
):
    """act(x @ up.T + up_bias) @ down.T + down_bias, its activation kept compressed in the arena.

    range_rows: so many rows at a time in both passes, which bounds the dense hidden values to that many rows. The
    weights' gradients are then sums over the ranges, rounded after each: close to, but not the bits of, one product.
    dense_buffers: 1, or 2 to read the compressed data once instead of twice in the backward pass.
    """
    _check_activation(activation, codec, dense_buffers)
    options = dict(arena=arena, activation=activation, codec=codec, dense_buffers=dense_buffers)
    rows = x.reshape(-1, x.shape[-1])
    if range_rows is None or range_rows >= rows.shape[0]:
        y = activation_linear(F.linear(rows, up, up_bias), down, down_bias, **options)
    elif range_rows <= 0:
        raise ValueError(f"range_rows is {range_rows}; it has to be positive, or None for all rows")
    elif _records(rows, up, up_bias, down, down_bias):
        rows, up, up_bias, down, down_bias = _under_autocast(rows, up, up_bias, down, down_bias)
        y = _RangedFFN.apply(
            rows, up, up_bias, down, down_bias, arena.state, activation, codec, dense_buffers, range_rows
        )
    else:
        parts = rows.split(range_rows)
        y = torch.cat([F.linear(_activate_(F.linear(r, up, up_bias), activation), down, down_bias) for r in parts])
    return y.view(*x.shape[:-1], y.shape[-1])


class SparseFFN(torch.nn.Module):
    """dim -> hidden -> dim with an activation that keeps only its compressed form; see ffn().

    Many layers share an arena.
    """

    def __init__(
        self,
        dim,
        hidden,
        activation="relu_squared",
        codec="sign",
        arena=None,
        *,
        bias=False,
        dense_buffers=1,
        range_rows=None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if arena is None:
            raise ValueError("SparseFFN needs an Arena to keep its activation in; layers may share one")
        _check_activation(activation, codec, dense_buffers)
        self.up = torch.nn.Linear(dim, hidden, bias=bias, device=device, dtype=dtype)
        self.down = torch.nn.Linear(hidden, dim, bias=bias, device=device, dtype=dtype)
        self.arena = arena
        self.activation = activation
        self.codec = codec
        self.dense_buffers = dense_buffers
        self.range_rows = range_rows

    def forward(self, x):
        return ffn(
            x,
            self.up.weight,
            self.down.weight,
            self.up.bias,
            self.down.bias,
            arena=self.arena,
            activation=self.activation,
            codec=self.codec,
            dense_buffers=self.dense_buffers,
            range_rows=self.range_rows,
        )

    def extra_repr(self):
        return f"activation={self.activation!r}, codec={self.codec!r}"
