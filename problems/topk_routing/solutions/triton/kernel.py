"""Softmax and the largest eight: a few tokens a program, eight rounds of maximum and removal."""

import torch
import triton
import triton.language as tl


@triton.jit
def route_kernel(
    logits, weights, chosen, tokens, experts, TOP: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    inside = row < tokens
    value = tl.load(
        logits + row[:, None] * experts + column[None, :],
        mask=inside[:, None] & (column[None, :] < experts),
        other=float("-inf"),
    )
    # Rows past the end are all zero rather than all -inf, which would make NaN of them.
    value = tl.where(inside[:, None], value, 0.0)
    largest = tl.max(value, axis=1)
    total = tl.sum(tl.exp(value - largest[:, None]), axis=1)
    for i in range(TOP):
        best = tl.max(value, axis=1)
        expert = tl.min(tl.where(value == best[:, None], column[None, :], COLUMNS), axis=1)
        tl.store(weights + row * TOP + i, tl.exp(best - largest) / total, mask=inside)
        tl.store(chosen + row * TOP + i, expert, mask=inside)
        value = tl.where(column[None, :] == expert[:, None], float("-inf"), value)


def run(logits: torch.Tensor, weights: torch.Tensor, experts_out: torch.Tensor) -> None:
    tokens, experts = logits.shape
    rows = 4
    route_kernel[(triton.cdiv(tokens, rows),)](
        logits,
        weights,
        experts_out,
        tokens,
        experts,
        TOP=weights.shape[1],
        ROWS=rows,
        COLUMNS=triton.next_power_of_2(experts),
        num_warps=4,
    )
