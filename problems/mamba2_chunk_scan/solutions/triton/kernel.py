"""Chunked state-space scan: one program a (head, sequence) walks the chunks with the state in registers."""

import torch
import triton
import triton.language as tl


@triton.jit
def chunk_scan_kernel(
    x,
    dt,
    A,
    B,
    C,
    D,
    y,
    seqlen,
    heads,
    groups,
    CHUNK: tl.constexpr,
    DIM: tl.constexpr,
    STATE: tl.constexpr,
):
    head = tl.program_id(0)
    group = head // (heads // groups)
    first_token = tl.program_id(1).to(tl.int64) * seqlen
    place = tl.arange(0, CHUNK)
    p = tl.arange(0, DIM)
    n = tl.arange(0, STATE)
    rate = tl.load(A + head)
    skip = tl.load(D + head)
    state = tl.zeros((DIM, STATE), tl.float32)
    for start in range(0, seqlen, CHUNK):
        token = first_token + start + place
        x_at = (token * heads + head)[:, None] * DIM + p[None, :]
        bc_at = (token * groups + group)[:, None] * STATE + n[None, :]
        value = tl.load(x + x_at)
        write = tl.load(B + bc_at)
        read = tl.load(C + bc_at)
        step = tl.load(dt + token * heads + head)
        decay = tl.cumsum(step * rate, axis=0)
        whole = tl.sum(step * rate, axis=0)

        score = tl.dot(read, tl.trans(write))
        causal = place[:, None] >= place[None, :]
        between = tl.where(causal, decay[:, None] - decay[None, :], float("-inf"))
        weight = score * tl.exp(between) * step[None, :]
        out = tl.dot(read, tl.trans(state.to(tl.bfloat16))) * tl.exp(decay)[:, None]
        out = tl.dot(weight.to(tl.bfloat16), value, out)
        out += value.to(tl.float32) * skip
        tl.store(y + x_at, out.to(tl.bfloat16))

        driven = value.to(tl.float32) * (step * tl.exp(whole - decay))[:, None]
        state = tl.dot(tl.trans(driven.to(tl.bfloat16)), write, state * tl.exp(whole))


def run(
    x: torch.Tensor,
    dt: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    C: torch.Tensor,
    D: torch.Tensor,
    y: torch.Tensor,
) -> None:
    batch, seqlen, heads, head_dim = x.shape
    groups, state = B.shape[2], B.shape[3]
    chunk_scan_kernel[(heads, batch)](
        x,
        dt,
        A,
        B,
        C,
        D,
        y,
        seqlen,
        heads,
        groups,
        CHUNK=64,
        DIM=head_dim,
        STATE=state,
        num_warps=8,
        num_stages=1,
    )
