"""Wrong on purpose: right for the first inputs of each size, then hands that result out again."""

import torch
import torch.nn.functional as F

saved: dict[torch.Size, torch.Tensor] = {}


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    if q.shape not in saved:
        saved[q.shape] = attend(q, k, v)
    return saved[q.shape]
