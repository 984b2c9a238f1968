"""Wrong on purpose: every row gets the result of the one before it, the first gets zeros."""

import torch
import torch.nn.functional as F


def block(
    x: torch.Tensor, gate_proj: torch.Tensor, up_proj: torch.Tensor, down_proj: torch.Tensor
) -> torch.Tensor:
    return F.linear(F.silu(F.linear(x, gate_proj)) * F.linear(x, up_proj), down_proj)


def run(
    x: torch.Tensor, gate_proj: torch.Tensor, up_proj: torch.Tensor, down_proj: torch.Tensor
) -> torch.Tensor:
    right = block(x, gate_proj, up_proj, down_proj)
    out = torch.zeros_like(right)
    out[1:] = right[:-1]
    return out
