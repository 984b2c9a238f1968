"""Wrong on purpose: the right values in float32."""

import torch
import torch.nn.functional as F


def layer(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return F.gelu(F.linear(x.float(), weight.float(), bias.float()), approximate="tanh").to(x.dtype)


def run(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return layer(x, weight, bias).to(torch.float32)
