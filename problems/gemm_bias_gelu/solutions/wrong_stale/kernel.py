"""Wrong on purpose: right for the first inputs of each size, then hands that result out again."""

import torch
import torch.nn.functional as F

saved: dict[torch.Size, torch.Tensor] = {}


def layer(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return F.gelu(F.linear(x.float(), weight.float(), bias.float()), approximate="tanh").to(x.dtype)


def run(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    if x.shape not in saved:
        saved[x.shape] = layer(x, weight, bias)
    return saved[x.shape]
