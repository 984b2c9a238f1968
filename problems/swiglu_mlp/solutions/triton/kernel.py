"""Gated feed-forward block: one kernel multiplies by gate and up and stores their gated product in bf16, a
second one projects back."""

import torch
import triton
import triton.language as tl


@triton.jit
def gated_kernel(
    x,
    gate_proj,
    up_proj,
    middle,
    tokens,
    inter,
    hidden,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    # Rows vary fastest: programs that run together share their slice of the weights.
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    left = x + row[:, None].to(tl.int64) * hidden + depth[None, :]
    right = column[None, :].to(tl.int64) * hidden + depth[:, None]
    gate = tl.zeros((ROWS, COLUMNS), tl.float32)
    up = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, hidden, DEPTH):
        rest = hidden - start
        a = tl.load(left + start, mask=(row[:, None] < tokens) & (depth[None, :] < rest), other=0.0)
        inside = (column[None, :] < inter) & (depth[:, None] < rest)
        gate = tl.dot(a, tl.load(gate_proj + right + start, mask=inside, other=0.0), gate)
        up = tl.dot(a, tl.load(up_proj + right + start, mask=inside, other=0.0), up)
    place = middle + row[:, None].to(tl.int64) * inter + column[None, :]
    kept = (row[:, None] < tokens) & (column[None, :] < inter)
    tl.store(place, (gate * tl.sigmoid(gate) * up).to(tl.bfloat16), mask=kept)


@triton.jit
def linear_kernel(x, weight, out, m, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    left = x + row[:, None].to(tl.int64) * k + depth[None, :]
    right = weight + column[None, :].to(tl.int64) * k + depth[:, None]
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, DEPTH):
        rest = k - start
        a = tl.load(left + start, mask=(row[:, None] < m) & (depth[None, :] < rest), other=0.0)
        b = tl.load(right + start, mask=(column[None, :] < n) & (depth[:, None] < rest), other=0.0)
        sums = tl.dot(a, b, sums)
    place = out + row[:, None].to(tl.int64) * n + column[None, :]
    tl.store(place, sums.to(tl.bfloat16), mask=(row[:, None] < m) & (column[None, :] < n))


def run(
    x: torch.Tensor,
    gate_proj: torch.Tensor,
    up_proj: torch.Tensor,
    down_proj: torch.Tensor,
    out: torch.Tensor,
) -> None:
    tokens, hidden = x.shape
    inter = gate_proj.shape[0]
    middle = torch.empty(tokens, inter, dtype=x.dtype, device=x.device)
    rows = 128 if tokens > 128 else 64 if tokens > 32 else 16
    warps = 8 if rows == 128 else 4
    columns = 128 if rows == 128 else 64
    gated_kernel[(triton.cdiv(tokens, rows), triton.cdiv(inter, columns))](
        x,
        gate_proj,
        up_proj,
        middle,
        tokens,
        inter,
        hidden,
        ROWS=rows,
        COLUMNS=columns,
        DEPTH=64,
        num_warps=warps,
        num_stages=3,
    )
    linear_kernel[(triton.cdiv(tokens, rows), triton.cdiv(hidden, columns))](
        middle,
        down_proj,
        out,
        tokens,
        hidden,
        inter,
        ROWS=rows,
        COLUMNS=columns,
        DEPTH=64,
        num_warps=warps,
        num_stages=4,
    )
