"""Root-mean-square norm by PyTorch's own operator."""

import torch
import torch.nn.functional as F


def run(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, eps)
