"""Gated feed-forward block in bf16 PyTorch: the hidden layer is rounded to bf16 between the products."""

import torch
import torch.nn.functional as F


def run(
    x: torch.Tensor, gate_proj: torch.Tensor, up_proj: torch.Tensor, down_proj: torch.Tensor
) -> torch.Tensor:
    return F.linear(F.silu(F.linear(x, gate_proj)) * F.linear(x, up_proj), down_proj)
