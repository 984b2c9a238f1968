"""Wrong on purpose: the keys come back in float16."""

import torch


def rotate(x: torch.Tensor, positions: torch.Tensor, cos_sin_cache: torch.Tensor) -> torch.Tensor:
    cos, sin = cos_sin_cache[positions][:, None, :].chunk(2, dim=-1)
    low, high = x.float().chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1).to(x.dtype)


def run(
    q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor, cos_sin_cache: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    rotated = rotate(k, positions, cos_sin_cache)
    return rotate(q, positions, cos_sin_cache), rotated.to(torch.float16)
