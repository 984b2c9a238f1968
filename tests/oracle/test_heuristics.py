"""Every row of the table of random values, and that the first row that fits wins."""

from __future__ import annotations

import math

import pytest
import torch
from solmark.oracle import dtypes, heuristics
from solmark.oracle.inputs import seed_everything

CPU = torch.device("cpu")
WIDE = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def draw(
    name: str, shape: tuple[int, ...], dtype: torch.dtype = torch.float32, description: str = "", op: str = ""
) -> torch.Tensor:
    seed_everything(11)
    value = heuristics.draw(name, shape, dtype, CPU, description, op)
    assert value.dtype == dtype and tuple(value.shape) == shape
    return value


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("norm_weight", "norm_weight"),
        ("q_norm_weight", "norm_weight"),
        ("input_layernorm_weight", "norm_weight"),
        ("postlayernorm_weight", "norm_weight"),
        ("groupnorm_weight", "norm_weight"),
        ("norm1_weight", "norm_weight"),
        ("layernorm12_weight", "norm_weight"),
        ("normal_weight", None),
        ("norm_weights", None),
        ("norm_bias", "norm_bias"),
        ("q_norm_bias", "norm_bias"),
        ("norm2_bias", "norm_bias"),
        ("proj_bias", None),
        ("causal_mask", None),  # not square: one dimension
        ("x_mask", "binary_mask"),
        ("text_mask", "binary_mask"),
        ("aspect_ratio_mask", "binary_mask"),
        ("drop_mask", "binary_mask"),
        ("attention_mask", "binary_mask"),
        ("other_mask", None),
        ("cos", "cosine"),
        ("cos_cached", "cosine"),
        ("rope_cos", "cosine"),
        ("sin", "sine"),
        ("sin_cached", "sine"),
        ("rope_sin", "sine"),
        ("cosine", None),
        ("rstd", "positive"),
        ("std", "positive"),
        ("variance", "positive"),
        ("var", "positive"),
        ("running_var", "positive"),
        ("x_rstd", "positive"),
        ("var3", "positive"),
        ("x_std2", "positive"),
        ("vary", None),
        ("A_cumsum", "decay_sum"),
        ("A_log", "decay"),
        ("A", "decay"),
        ("g", "decay"),
        ("B", None),
        ("attn_weights", "softmax"),
        ("attention_weights", "softmax"),
        ("routing_weights", "softmax"),
        ("weight", None),  # one dimension: not a matrix
    ],
)
def test_names(name: str, rule: str | None) -> None:
    assert heuristics.rule_for(name, (8,), "") == rule


@pytest.mark.parametrize(
    "name",
    [
        "weight",
        "w_weight",
        "w_weights",
        "q_proj",
        "q_projs",
        "q_proj_weight",
        "q_proj_weights",
        "a_weight_matrix",
        "weight2",
        "q_proj3",
    ],
)
def test_weight_matrices(name: str) -> None:
    assert heuristics.rule_for(name, (4, 8), "") == "weight_matrix"
    assert heuristics.rule_for(name, (8,), "") is None


@pytest.mark.parametrize(
    ("name", "shape", "description", "rule"),
    [
        ("attention_mask", (2, 4, 4), "", "causal_mask"),
        ("causal_mask", (4, 4), "", "causal_mask"),
        ("m", (4, 4), "Causal Attention Mask to add", "causal_mask"),
        ("m", (4, 4), "attention mask", None),
        ("m", (4, 5), "causal attention mask", None),
        ("attention_mask", (4, 5), "", "binary_mask"),
        ("k_mask", (4,), "Binary mask", "binary_mask"),
        ("k_mask", (4,), "values in {0, 1}", "binary_mask"),
        ("k_mask", (4,), "0 or 1", "binary_mask"),
        ("k_mask", (4,), "1.0 for valid tokens", "binary_mask"),
        ("k_mask", (4,), "0.0 for masked", "binary_mask"),
        ("k_mask", (4,), "additive", None),
        ("masked", (4,), "binary", None),
        ("p", (4,), "the Softmax Output", "softmax"),
        ("p", (4,), "softmax of scores", None),
    ],
)
def test_shapes_and_descriptions(
    name: str, shape: tuple[int, ...], description: str, rule: str | None
) -> None:
    assert heuristics.rule_for(name, shape, description) == rule


def test_order_of_rules() -> None:
    # A norm weight with two dimensions is ones, not a scaled matrix; a softmax named *_weights likewise.
    assert heuristics.rule_for("q_norm_weight", (4, 4), "") == "norm_weight"
    assert heuristics.rule_for("attn_weights", (4, 4), "") == "softmax"


@pytest.mark.parametrize("dtype", WIDE)
def test_values_of_each_rule(dtype: torch.dtype) -> None:
    assert bool((draw("norm_weight", (64,), dtype) == 1).all())
    assert bool((draw("norm_bias", (64,), dtype) == 0).all())
    mask = draw("causal_mask", (2, 5, 5), dtype)
    upper = torch.ones(5, 5, dtype=torch.bool).triu(1)
    assert bool((mask[:, upper] == torch.finfo(dtype).min).all()) and bool((mask[:, ~upper] == 0).all())
    assert set(draw("x_mask", (64,), dtype).tolist()) == {0.0, 1.0}
    for name in ("cos", "sin"):
        value = draw(name, (4096,), dtype).double()
        assert value.abs().max() <= 1 and value.min() < -0.5
    # cos of a clamped normal is positive more often than not, sin is even: the two are not exchanged.
    assert draw("cos", (4096,), dtype).double().mean() > 0.4
    assert abs(draw("sin", (4096,), dtype).double().mean()) < 0.1
    assert draw("rstd", (4096,), dtype).double().min() >= 0.099
    sums = draw("A_cumsum", (4, 16), dtype).double()
    assert bool((sums.diff(dim=-1) <= 0).all()) and sums.min() >= -1.7 and sums.max() <= 0
    for name, low, high in (("A_log", -5, -1), ("A", -1, -0.001), ("g", -5, 0)):
        value = draw(name, (4096,), dtype).double()
        assert value.min() >= low and value.max() <= high * 0.99
        assert value.min() < low + 0.1 * (high - low) and value.max() > high - 0.1 * (high - low)
    rows = draw("attn_weights", (8, 16), dtype).double()
    assert torch.allclose(rows.sum(-1), torch.ones(8, dtype=torch.float64), atol=0.02) and rows.min() >= 0
    matrix = draw("weight", (256, 64), dtype).double()
    assert math.isclose(matrix.std().item(), 1 / 8, rel_tol=0.05)
    plain = draw("x", (16384,), dtype).double()
    assert abs(plain.mean()) < 0.05 and math.isclose(plain.std().item(), 1, rel_tol=0.05)


def test_float64_without_a_rule_is_normal() -> None:
    assert draw("x", (64,), torch.float64).std() > 0.5


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_float8(dtype: torch.dtype) -> None:
    value = draw("norm_weight", (4096,), dtype).float()  # no rules for narrow types
    assert value.abs().max() == 2 and value.std() > 0.5


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (torch.int8, -128, 127),
        (torch.uint8, 0, 255),
        (torch.int16, -1024, 1023),
        (torch.int32, -1024, 1023),
        (torch.int64, -1024, 1023),
        (torch.bool, 0, 1),
    ],
)
def test_integers(dtype: torch.dtype, low: int, high: int) -> None:
    value = draw("norm_weight", (65536,), dtype).to(torch.int64)
    assert value.min() == low and value.max() == high


def test_sampling_probabilities() -> None:
    assert torch.allclose(draw("probs", (4, 8), op="sampling").sum(-1), torch.ones(4))
    assert not torch.allclose(draw("probs", (4, 8)).sum(-1), torch.ones(4))
    assert not torch.allclose(draw("logits", (4, 8), op="sampling").sum(-1), torch.ones(4))


def test_scalars_ignore_names() -> None:
    seed_everything(3)
    value = heuristics.draw_scalar(torch.float32)
    assert isinstance(value, float) and value != 0
    assert isinstance(heuristics.draw_scalar(torch.int32), int)
    assert isinstance(heuristics.draw_scalar(torch.bool), bool)


def unpack(packed: torch.Tensor) -> list[float]:
    table = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    table += [-v for v in table]
    codes = [c for byte in packed.view(torch.uint8).reshape(-1).tolist() for c in (byte & 15, byte >> 4)]
    return [table[c] for c in codes]


def test_packing_of_4_bit_floats() -> None:
    # Every representable value, the midpoints (to the even code), values beyond the range; even index low.
    values = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        4.0,
        6.0,
        -0.5,
        -6.0,
        0.25,
        0.75,
        1.25,
        1.75,
        2.5,
        3.5,
        5.0,
        5.1,
        100.0,
        -0.76,
    ]
    rounded = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        4.0,
        6.0,
        -0.5,
        -6.0,
        0.0,
        1.0,
        1.0,
        2.0,
        2.0,
        4.0,
        4.0,
        6.0,
        6.0,
        -1.0,
    ]
    packed = dtypes.pack_e2m1(torch.tensor(values))
    assert packed.dtype == torch.float4_e2m1fn_x2 and packed.shape == (len(values) // 2,)
    assert unpack(packed) == rounded
    assert dtypes.pack_e2m1(torch.tensor([0.5, -6.0])).view(torch.uint8).item() == 0xF1


def test_random_4_bit_floats_have_the_packed_shape() -> None:
    value = draw("x", (8, 512), torch.float4_e2m1fn_x2)
    numbers = torch.tensor(unpack(value))
    assert numbers.numel() == 8192 and 0.8 < numbers.std() < 1.2 and len(numbers.unique()) > 12
