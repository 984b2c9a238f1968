"""Wrong on purpose: right for the first inputs of each size; afterwards the saved result is handed out again."""

import torch

saved: dict[torch.Size, torch.Tensor] = {}


def attend(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    sm_scale: float,
) -> torch.Tensor:
    rows = []
    group = q.shape[1] // k_cache.shape[2]
    for i, length in enumerate(seq_lens.tolist()):
        keys = k_cache[block_table[i]].flatten(0, 1)[:length].repeat_interleave(group, dim=1).float()
        values = v_cache[block_table[i]].flatten(0, 1)[:length].repeat_interleave(group, dim=1).float()
        weights = torch.softmax(torch.einsum("hd,shd->hs", q[i].float(), keys) * sm_scale, dim=-1)
        rows.append(torch.einsum("hs,shd->hd", weights, values))
    return torch.stack(rows).to(q.dtype)


def run(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    sm_scale: float,
) -> torch.Tensor:
    if q.shape not in saved:
        saved[q.shape] = attend(q, k_cache, v_cache, block_table, seq_lens, sm_scale)
    return saved[q.shape]
