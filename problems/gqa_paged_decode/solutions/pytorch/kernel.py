"""Gathers the pages, then attends with a length mask by PyTorch's own operator."""

import torch
import torch.nn.functional as F


def run(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    sm_scale: float,
) -> torch.Tensor:
    batch, max_pages = block_table.shape
    length = max_pages * k_cache.shape[1]
    keys = k_cache[block_table].reshape(batch, length, *k_cache.shape[2:]).transpose(1, 2)
    values = v_cache[block_table].reshape(batch, length, *v_cache.shape[2:]).transpose(1, 2)
    alive = torch.arange(length, device=q.device) < seq_lens[:, None]
    out = F.scaled_dot_product_attention(
        q.unsqueeze(2), keys, values, attn_mask=alive[:, None, None, :], scale=sm_scale, enable_gqa=True
    )
    return out.squeeze(2)
