"""Paged decoding: a program serves one part of one sequence for one key-value head; a second joins the parts.

The query heads of a group are padded to the 16 rows that a tensor-core product needs.
"""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    q,
    k_cache,
    v_cache,
    block_table,
    seq_lens,
    scale,
    part_sums,
    part_largest,
    part_total,
    max_pages,
    part_length,
    KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    DIM: tl.constexpr,
    PAGE: tl.constexpr,
    TOKENS: tl.constexpr,
):
    sequence = tl.program_id(0)
    kv_head = tl.program_id(1)
    part = tl.program_id(2)
    group = tl.arange(0, 16)
    column = tl.arange(0, DIM)
    real = group < GROUP
    row = (sequence * KV_HEADS + kv_head) * GROUP + group
    query = tl.load(q + row[:, None] * DIM + column[None, :], mask=real[:, None], other=0.0)
    # Finite stand-ins for -inf: a part without tokens then joins with weight zero and no NaN.
    largest = tl.full((16,), -1e30, tl.float32)
    total = tl.zeros((16,), tl.float32)
    sums = tl.zeros((16, DIM), tl.float32)
    begin = part * part_length
    end = tl.minimum(tl.load(seq_lens + sequence), begin + part_length)
    for start in range(begin, end, TOKENS):
        token = start + tl.arange(0, TOKENS)
        alive = token < end
        page = tl.load(block_table + sequence * max_pages + token // PAGE, mask=alive, other=0).to(tl.int64)
        at = ((page * PAGE + token % PAGE) * KV_HEADS + kv_head)[:, None] * DIM + column[None, :]
        keys = tl.load(k_cache + at, mask=alive[:, None], other=0.0)
        logits = tl.where(alive[None, :], tl.dot(query, tl.trans(keys)) * scale, -1e30)
        now = tl.maximum(largest, tl.max(logits, axis=1))
        weight = tl.where(alive[None, :], tl.exp2(logits - now[:, None]), 0.0)
        shrink = tl.exp2(largest - now)
        total = total * shrink + tl.sum(weight, axis=1)
        values = tl.load(v_cache + at, mask=alive[:, None], other=0.0)
        sums = tl.dot(weight.to(tl.bfloat16), values, sums * shrink[:, None])
        largest = now
    slot = row.to(tl.int64) * tl.num_programs(2) + part
    tl.store(part_sums + slot[:, None] * DIM + column[None, :], sums, mask=real[:, None])
    tl.store(part_largest + slot, largest, mask=real)
    tl.store(part_total + slot, total, mask=real)


@triton.jit
def join_kernel(part_sums, part_largest, part_total, out, parts, PARTS: tl.constexpr, DIM: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    part = tl.arange(0, PARTS)
    column = tl.arange(0, DIM)
    inside = part < parts
    slot = row * parts + part
    largest = tl.load(part_largest + slot, mask=inside, other=-1e30)
    factor = tl.where(inside, tl.exp2(largest - tl.max(largest, axis=0)), 0.0)
    total = tl.sum(tl.load(part_total + slot, mask=inside, other=0.0) * factor, axis=0)
    sums = tl.load(part_sums + slot[:, None] * DIM + column[None, :], mask=inside[:, None], other=0.0)
    result = tl.sum(sums * factor[:, None], axis=0) / total
    tl.store(out + row * DIM + column, result.to(tl.bfloat16))


def run(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    sm_scale: float,
    out: torch.Tensor,
) -> None:
    batch, q_heads, head_dim = q.shape
    page, kv_heads = k_cache.shape[1], k_cache.shape[2]
    longest = block_table.shape[1] * page
    tokens = 64
    # About a thousand programs, none of them for fewer than 128 tokens.
    wanted = max(1, min(1024 // (batch * kv_heads), longest // 128))
    part_length = triton.cdiv(triton.cdiv(longest, wanted), tokens) * tokens
    parts = triton.cdiv(longest, part_length)
    part_sums = torch.empty(batch, q_heads, parts, head_dim, dtype=torch.float32, device=q.device)
    part_largest = torch.empty(batch, q_heads, parts, dtype=torch.float32, device=q.device)
    part_total = torch.empty_like(part_largest)
    decode_kernel[(batch, kv_heads, parts)](
        q,
        k_cache,
        v_cache,
        block_table,
        seq_lens,
        float(sm_scale) * math.log2(math.e),  # logits in powers of two
        part_sums,
        part_largest,
        part_total,
        block_table.shape[1],
        part_length,
        KV_HEADS=kv_heads,
        GROUP=q_heads // kv_heads,
        DIM=head_dim,
        PAGE=page,
        TOKENS=tokens,
        num_warps=4,
    )
    join_kernel[(batch * q_heads,)](
        part_sums,
        part_largest,
        part_total,
        out,
        parts,
        PARTS=triton.next_power_of_2(parts),
        DIM=head_dim,
    )
