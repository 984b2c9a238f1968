"""Wrong on purpose: every sequence gets the result of the one before it, the first gets zeros."""

import torch


def attend(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    sm_scale: float,
) -> torch.Tensor:
    batch, heads, dim = q.shape
    grouped = q.float().reshape(batch, k_cache.shape[2], -1, dim)
    keys = k_cache[block_table].flatten(1, 2).float()
    values = v_cache[block_table].flatten(1, 2).float()
    logits = torch.einsum("bhgd,bshd->bhgs", grouped, keys) * sm_scale
    alive = torch.arange(keys.shape[1], device=q.device) < seq_lens[:, None]
    weights = torch.softmax(logits.where(alive[:, None, None, :], -torch.inf), dim=-1)
    return torch.einsum("bhgs,bshd->bhgd", weights, values).reshape(batch, heads, dim).to(q.dtype)


def run(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    sm_scale: float,
) -> torch.Tensor:
    right = attend(q, k_cache, v_cache, block_table, seq_lens, sm_scale)
    out = torch.zeros_like(right)
    out[1:] = right[:-1]
    return out
