"""Wrong on purpose: right for the first inputs of each size, then hands that result out again."""

import torch

saved: dict[torch.Size, tuple[torch.Tensor, torch.Tensor]] = {}


def route(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    weights, experts = torch.softmax(logits, dim=-1).topk(8, dim=-1)
    return weights, experts.to(torch.int32)


def run(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if logits.shape not in saved:
        saved[logits.shape] = route(logits)
    return saved[logits.shape]
