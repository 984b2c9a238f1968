"""Wrong on purpose: right for the first inputs of each size, then hands that result out again."""

import torch
import torch.nn.functional as F

saved: dict[torch.Size, torch.Tensor] = {}


def block(
    x: torch.Tensor, gate_proj: torch.Tensor, up_proj: torch.Tensor, down_proj: torch.Tensor
) -> torch.Tensor:
    return F.linear(F.silu(F.linear(x, gate_proj)) * F.linear(x, up_proj), down_proj)


def run(
    x: torch.Tensor, gate_proj: torch.Tensor, up_proj: torch.Tensor, down_proj: torch.Tensor
) -> torch.Tensor:
    if x.shape not in saved:
        saved[x.shape] = block(x, gate_proj, up_proj, down_proj)
    return saved[x.shape]
