"""Linear layer with bias and GELU: one output tile a program, in groups of rows that share the cache."""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu(v):
    # tanh by the sigmoid, which Triton has: tanh(u) = 2 sigmoid(2 u) - 1
    return v * tl.sigmoid(1.5957691216 * (v + 0.044715 * v * v * v))


@triton.jit
def gemm_kernel(
    x,
    weight,
    bias,
    out,
    m,
    n,
    k,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
):
    row_tiles = tl.cdiv(m, ROWS)
    column_tiles = tl.cdiv(n, COLUMNS)
    program = tl.program_id(0)
    group_first = program // (GROUP * column_tiles) * GROUP
    group_rows = tl.minimum(row_tiles - group_first, GROUP)
    within = program % (GROUP * column_tiles)
    row = (group_first + within % group_rows) * ROWS + tl.arange(0, ROWS)
    column = within // group_rows * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    left = x + row[:, None].to(tl.int64) * k + depth[None, :]
    right = weight + column[None, :].to(tl.int64) * k + depth[:, None]
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, DEPTH):
        rest = k - start
        a = tl.load(left, mask=(row[:, None] < m) & (depth[None, :] < rest), other=0.0)
        b = tl.load(right, mask=(column[None, :] < n) & (depth[:, None] < rest), other=0.0)
        sums = tl.dot(a, b, sums)
        left += DEPTH
        right += DEPTH
    sums += tl.load(bias + column, mask=column < n, other=0.0).to(tl.float32)[None, :]
    place = out + row[:, None].to(tl.int64) * n + column[None, :]
    tl.store(place, gelu(sums).to(tl.bfloat16), mask=(row[:, None] < m) & (column[None, :] < n))


def run(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, out: torch.Tensor) -> None:
    m, k = x.shape
    n = weight.shape[0]
    rows, columns = (128, 256) if m > 256 else (64, 64) if m > 32 else (16, 64)
    gemm_kernel[(triton.cdiv(m, rows) * triton.cdiv(n, columns),)](
        x,
        weight,
        bias,
        out,
        m,
        n,
        k,
        ROWS=rows,
        COLUMNS=columns,
        DEPTH=64,
        GROUP=8,
        num_warps=8 if rows == 128 else 4,
        num_stages=3 if rows == 128 else 4,
    )
