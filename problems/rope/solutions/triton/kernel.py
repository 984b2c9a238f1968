"""Rotary embedding: one program turns all heads of one token, queries and keys in one launch."""

import torch
import triton
import triton.language as tl


@triton.jit
def rotate_heads(x, out, token, cos, sin, HEADS: tl.constexpr, PADDED: tl.constexpr, HALF: tl.constexpr):
    head = tl.arange(0, PADDED)[:, None]
    column = tl.arange(0, HALF)[None, :]
    inside = head < HEADS
    at = (token * HEADS + head) * (2 * HALF) + column
    low = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    high = tl.load(x + at + HALF, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + at, (low * cos - high * sin).to(tl.bfloat16), mask=inside)
    tl.store(out + at + HALF, (high * cos + low * sin).to(tl.bfloat16), mask=inside)


@triton.jit
def rope_kernel(
    q,
    k,
    positions,
    cache,
    q_out,
    k_out,
    Q_HEADS: tl.constexpr,
    Q_PADDED: tl.constexpr,
    KV_HEADS: tl.constexpr,
    KV_PADDED: tl.constexpr,
    HALF: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    angle = cache + tl.load(positions + token) * (2 * HALF) + tl.arange(0, HALF)
    cos = tl.load(angle)[None, :]
    sin = tl.load(angle + HALF)[None, :]
    rotate_heads(q, q_out, token, cos, sin, Q_HEADS, Q_PADDED, HALF)
    rotate_heads(k, k_out, token, cos, sin, KV_HEADS, KV_PADDED, HALF)


def run(
    q: torch.Tensor,
    k: torch.Tensor,
    positions: torch.Tensor,
    cos_sin_cache: torch.Tensor,
    q_out: torch.Tensor,
    k_out: torch.Tensor,
) -> None:
    tokens, q_heads, head_dim = q.shape
    kv_heads = k.shape[1]
    rope_kernel[(tokens,)](
        q,
        k,
        positions,
        cos_sin_cache,
        q_out,
        k_out,
        Q_HEADS=q_heads,
        Q_PADDED=triton.next_power_of_2(q_heads),
        KV_HEADS=kv_heads,
        KV_PADDED=triton.next_power_of_2(kv_heads),
        HALF=head_dim // 2,
    )
