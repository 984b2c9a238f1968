"""Wrong on purpose: right for the first inputs of each size, then hands that result out again."""

import torch

saved: dict[torch.Size, tuple[torch.Tensor, torch.Tensor]] = {}


def rotate(x: torch.Tensor, positions: torch.Tensor, cos_sin_cache: torch.Tensor) -> torch.Tensor:
    cos, sin = cos_sin_cache[positions][:, None, :].chunk(2, dim=-1)
    low, high = x.float().chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1).to(x.dtype)


def run(
    q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor, cos_sin_cache: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    if q.shape not in saved:
        saved[q.shape] = rotate(q, positions, cos_sin_cache), rotate(k, positions, cos_sin_cache)
    return saved[q.shape]
