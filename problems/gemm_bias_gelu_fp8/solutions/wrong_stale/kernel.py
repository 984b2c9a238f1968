"""Wrong on purpose: right for the first inputs of each size, then hands that result out again."""

import torch
import torch.nn.functional as F

saved: dict[torch.Size, torch.Tensor] = {}


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
    if x.shape not in saved:
        saved[x.shape] = layer(x, weight, x_scale, weight_scale, bias)
    return saved[x.shape]
