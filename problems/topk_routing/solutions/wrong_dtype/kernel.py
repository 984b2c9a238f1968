"""Wrong on purpose: indices stay in int64, as torch.topk returns them."""

import torch


def route(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    weights, experts = torch.softmax(logits, dim=-1).topk(8, dim=-1)
    return weights, experts.to(torch.int32)


def run(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    weights, experts = route(logits)
    return weights, experts.to(torch.int64)
