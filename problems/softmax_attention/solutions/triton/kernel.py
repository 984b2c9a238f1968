"""Causal attention in one pass over the keys (online softmax): a block of queries of one head a program."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(q, k, v, out, seq, scale, DIM: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr):
    # The longest rows start first.
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * QUERIES
    plane = tl.program_id(1).to(tl.int64) * seq * DIM
    query = first + tl.arange(0, QUERIES)
    column = tl.arange(0, DIM)
    at = plane + query[:, None] * DIM + column[None, :]
    inside = query[:, None] < seq
    held = tl.load(q + at, mask=inside, other=0.0)
    largest = tl.full((QUERIES,), float("-inf"), tl.float32)
    total = tl.zeros((QUERIES,), tl.float32)
    sums = tl.zeros((QUERIES, DIM), tl.float32)
    for start in range(0, tl.minimum(first + QUERIES, seq), KEYS):
        key = start + tl.arange(0, KEYS)
        rows = plane + key[:, None] * DIM + column[None, :]
        keys = tl.load(k + rows, mask=key[:, None] < seq, other=0.0)
        logits = tl.dot(held, tl.trans(keys)) * scale
        # Key 0 is visible to every query, so a row's maximum is finite from the first block on.
        logits = tl.where(key[None, :] <= query[:, None], logits, float("-inf"))
        now = tl.maximum(largest, tl.max(logits, axis=1))
        weight = tl.exp2(logits - now[:, None])
        shrink = tl.exp2(largest - now)
        total = total * shrink + tl.sum(weight, axis=1)
        values = tl.load(v + rows, mask=key[:, None] < seq, other=0.0)
        sums = tl.dot(weight.to(tl.bfloat16), values, sums * shrink[:, None])
        largest = now
    tl.store(out + at, (sums / total[:, None]).to(tl.bfloat16), mask=inside)


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> None:
    batch, heads, seq, head_dim = q.shape
    queries = 128 if seq >= 512 else 64
    attention_kernel[(triton.cdiv(seq, queries), batch * heads)](
        q,
        k,
        v,
        out,
        seq,
        math.log2(math.e) / math.sqrt(head_dim),  # logits in powers of two
        DIM=head_dim,
        QUERIES=queries,
        KEYS=64,
        num_warps=8 if queries == 128 else 4,
        num_stages=2,
    )
