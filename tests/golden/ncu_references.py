"""What every kernel of ncu/sm_90/basic.cu and gemm.cu computes, in NumPy and float64.

`expected(kernel, arrays, scalars)` answers with {index of the array among the arguments: (values, scale)}: float64 values
with NaN where the kernel writes nothing, and the size of the terms that were added up, against which an error counts.
`arrays` and `scalars` hold the arguments before the launch in order, each without the other kind.
"""

from __future__ import annotations

import numpy as np

__all__ = ["expected"]


def _unwritten(like):
    return np.full(like.size, np.nan)


def _plain(values):
    """Values with nothing added up: their own size is the scale."""
    return values, np.abs(values)


def _vecadd(a, b, c, n):
    out = _unwritten(c)
    out[:n] = a[:n].astype(np.float64) + b[:n]
    return {2: _plain(out)}


def _copy_stride(x, out, n, stride):
    made = _unwritten(out)
    reached = (np.arange(n, dtype=np.int64) * stride) & (n - 1)
    made[reached] = x[reached]
    return {1: _plain(made)}


def _copy_offset(x, out, n, offset):
    made = _unwritten(out)
    made[offset:n] = x[offset:n]
    return {1: _plain(made)}


def _copy(width):
    def copy(x, out, n):
        made = _unwritten(out)
        made[: n * width] = x[: n * width]
        return {1: _plain(made)}

    return copy


def _aos(x, out, n):
    made = _unwritten(out)
    made[:n] = x[: 3 * n].reshape(n, 3)[:, 1]
    return {1: _plain(made)}


def _soa(x, out, n):
    made = _unwritten(out)
    made[:n] = x[n : 2 * n]
    return {1: _plain(made)}


def _sums(axis):
    def sums(m, r, rows, columns):
        made, scale = _unwritten(r), np.ones(r.size)
        matrix = m[: rows * columns].reshape(rows, columns).astype(np.float64)
        total = matrix.sum(axis)
        made[: total.size], scale[: total.size] = total, np.abs(matrix).sum(axis)
        return {1: (made, scale)}

    return sums


def _gemm(a, b, c, n):
    a, b = (x.reshape(n, n).astype(np.float64) for x in (a, b))
    return {2: ((a @ b).reshape(-1), (np.abs(a) @ np.abs(b)).reshape(-1))}


def _transpose(x, out, n):
    return {1: _plain(x.reshape(n, n).T.astype(np.float64).reshape(-1))}


def _lanes(out):
    return np.arange(out.size) % 32


def _bank_stride(out, stride, repeats):
    return {0: _plain(repeats * _lanes(out) * stride * 1.0)}


def _bank_broadcast(out, repeats):
    return {0: _plain(np.full(out.size, (np.arange(repeats) & 31).sum() * 1.0))}


def _bank_f4(out, stride, repeats):
    return {0: _plain(repeats * 4.0 * _lanes(out) * stride)}


def _bank_store(out, stride, repeats):
    thread = np.arange(out.size) % 256
    written = np.isin(thread, np.arange(32) * stride)
    return {0: _plain(np.where(written, repeats - 1.0, np.nan))}


def _reduce(width):
    def reduce(x, out, n):
        part = x[: n * width].astype(np.float64)
        return {1: (out + part.sum(keepdims=True), np.abs(part).sum(keepdims=True))}

    return reduce


def _warpsum(x, out, repeats):
    made, scale = _unwritten(out), np.ones(out.size)
    n = 64  # warps of the recorded launches
    rows = x[: 32 * n].reshape(n, 32).astype(np.float64)
    steps = np.arange(repeats).sum()
    made[:n] = repeats * rows.sum(1) + 32 * steps
    scale[:n] = repeats * np.abs(rows).sum(1) + 32 * steps
    return {1: (made, scale)}


def _histogram(x, bins, n):
    return {1: _plain(bins + np.bincount(x[:n], minlength=256) * 1.0)}


def _heavy(x, rounds, factor):
    for i in range(int(np.max(rounds))):
        x = np.where(i < rounds, x * factor + 0.5, x)
    return x


def _diverging(chosen):
    def diverge(out, rounds):
        i = np.arange(out.size)
        first = chosen(i % 256)
        x = np.where(first, _heavy(i * 1.0, rounds, 0.25), _heavy(i * 1.0, rounds + 1, 0.75))
        return {0: _plain(x)}

    return diverge


def _div_loop(out, rounds):
    i = np.arange(out.size)
    return {0: _plain(_heavy(i * 1.0, (i % 32) * rounds, 0.25))}


def _softmax(x, out, rows, columns):
    m = x.reshape(rows, columns).astype(np.float64)
    e = np.exp(m - m.max(1, keepdims=True))
    return {1: _plain((e / e.sum(1, keepdims=True)).reshape(-1))}


def _stream(x, out, n4, work):
    made = x.astype(np.float64)
    for _ in range(work):
        made = made * np.float32(0.999) + np.float32(0.1)
    return {1: (made, np.abs(x) + 0.1 * work)}


_TABLE = {
    "vecadd": _vecadd, "vecadd_gridstride": _vecadd, "copy_stride": _copy_stride, "copy_offset": _copy_offset,
    "copy_f1": _copy(1), "copy_f2": _copy(2), "copy_f4": _copy(4), "aos_read": _aos, "soa_read": _soa,
    "rowsum_thread": _sums(1), "colsum_thread": _sums(0), "rowsum_warp": _sums(1),
    "bank_stride": _bank_stride, "bank_broadcast": _bank_broadcast, "bank_f4": _bank_f4, "bank_f64": _bank_stride,
    "bank_store": _bank_store, "reduce_grid4": _reduce(4), "warpsum_shfl": _warpsum, "warpsum_serial": _warpsum,
    "hist_global": _histogram, "hist_shared": _histogram, "div_lane": _diverging(lambda t: t & 1),
    "div_warp": _diverging(lambda t: (t >> 5) & 1), "div_loop": _div_loop,
    "softmax_3pass": _softmax, "softmax_online": _softmax, "noop": dict,
}  # fmt: skip
_PREFIXES = {"gemm_": _gemm, "transpose_": _transpose, "reduce_": _reduce(1), "stream_": _stream}


def expected(kernel, arrays, scalars):
    """The outputs of one launch; see the module."""
    reference = _TABLE.get(kernel) or next(f for prefix, f in _PREFIXES.items() if kernel.startswith(prefix))
    return reference(*(array.reshape(-1) for array in arrays), *scalars)
