"""Wrong on purpose: every query gets the result of the one before it, the first gets zeros."""

import torch
import torch.nn.functional as F


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    right = attend(q, k, v)
    out = torch.zeros_like(right)
    out[:, :, 1:] = right[:, :, :-1]
    return out
