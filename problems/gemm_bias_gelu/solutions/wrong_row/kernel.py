"""Wrong on purpose: every row gets the result of the one before it, the first gets zeros."""

import torch
import torch.nn.functional as F


def layer(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return F.gelu(F.linear(x.float(), weight.float(), bias.float()), approximate="tanh").to(x.dtype)


def run(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    right = layer(x, weight, bias)
    out = torch.zeros_like(right)
    out[1:] = right[:-1]
    return out
