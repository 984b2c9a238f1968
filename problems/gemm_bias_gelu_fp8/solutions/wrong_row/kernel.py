"""Wrong on purpose: every row gets the result of the one before it, the first gets zeros."""

import torch
import torch.nn.functional as F


def layer(
    x: torch.Tensor,
    weight: torch.Tensor,
    x_scale: torch.Tensor,
    weight_scale: torch.Tensor,
    bias: torch.Tensor,
) -> torch.Tensor:
    product = F.linear(x.float(), weight.float()) * x_scale[:, None] * weight_scale + bias.float()
    return F.gelu(product, approximate="tanh").to(bias.dtype)


def run(
    x: torch.Tensor,
    weight: torch.Tensor,
    x_scale: torch.Tensor,
    weight_scale: torch.Tensor,
    bias: torch.Tensor,
) -> torch.Tensor:
    right = layer(x, weight, x_scale, weight_scale, bias)
    out = torch.zeros_like(right)
    out[1:] = right[:-1]
    return out
