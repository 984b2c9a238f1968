"""Wrong on purpose: every token is rotated by the angles of the next position."""

import torch


def rotate(x: torch.Tensor, positions: torch.Tensor, cos_sin_cache: torch.Tensor) -> torch.Tensor:
    cos, sin = cos_sin_cache[positions][:, None, :].chunk(2, dim=-1)
    low, high = x.float().chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1).to(x.dtype)


def run(
    q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor, cos_sin_cache: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    following = (positions + 1) % cos_sin_cache.shape[0]
    return rotate(q, following, cos_sin_cache), rotate(k, following, cos_sin_cache)
