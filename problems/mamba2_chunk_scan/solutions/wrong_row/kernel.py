"""Wrong on purpose: every token gets the result of the one before it, the first gets zeros."""

import torch

CHUNK = 64


def scan(
    x: torch.Tensor, dt: torch.Tensor, A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, D: torch.Tensor
) -> torch.Tensor:
    batch, seqlen, heads, head_dim = x.shape
    repeat = heads // B.shape[2]
    state = x.new_zeros(batch, heads, head_dim, B.shape[3], dtype=torch.float32)
    causal = torch.ones(CHUNK, CHUNK, dtype=torch.bool, device=x.device).tril()
    y = torch.empty_like(x)
    for first in range(0, seqlen, CHUNK):
        span = slice(first, first + CHUNK)
        step = dt[:, span].transpose(1, 2)
        decay = (step * A[:, None]).cumsum(dim=-1)
        value = x[:, span].transpose(1, 2).float()
        driven = value * step[..., None]
        write = B[:, span].transpose(1, 2).float().repeat_interleave(repeat, dim=1)
        read = C[:, span].transpose(1, 2).float().repeat_interleave(repeat, dim=1)
        between = torch.exp((decay[..., :, None] - decay[..., None, :]).where(causal, -torch.inf))
        out = (read @ write.mT * between) @ driven
        out += (read @ state.mT) * decay.exp()[..., None]
        out += value * D[:, None, None]
        y[:, span] = out.transpose(1, 2).to(x.dtype)
        last = decay[..., -1:]
        state = state * last.exp()[..., None] + (driven * (last - decay).exp()[..., None]).mT @ write
    return y


def run(
    x: torch.Tensor, dt: torch.Tensor, A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, D: torch.Tensor
) -> torch.Tensor:
    right = scan(x, dt, A, B, C, D)
    out = torch.zeros_like(right)
    out[:, 1:] = right[:, :-1]
    return out
