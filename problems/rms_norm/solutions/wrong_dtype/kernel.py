"""Wrong on purpose: the right values, left in float32."""

import torch


def run(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    wide = x.to(torch.float32)
    return wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps) * weight.to(torch.float32)
