"""What every file and every record must satisfy: the published schemas, and SOL-ExecBench's own rules for traces."""

from __future__ import annotations

import functools
import json
import math
import re
from pathlib import Path
from typing import Any

try:
    import jsonschema
    from referencing import Registry, Resource
except ModuleNotFoundError:  # a GPU machine without the package: the CPU tests check the same writer against the schemas
    jsonschema = None

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
STATUSES = {
    "PASSED",
    "INVALID_REFERENCE",
    "INCORRECT_SHAPE",
    "INCORRECT_DTYPE",
    "INCORRECT_NUMERICAL",
    "RUNTIME_ERROR",
    "COMPILE_ERROR",
    "TIMEOUT",
    "REWARD_HACK",
}


class _AcceptsAll:
    def validate(self, trace: Any) -> None:
        del trace


@functools.cache
def registry() -> Registry:
    pairs = []
    for path in sorted(SCHEMAS.glob("*.schema.json")):
        schema = json.loads(path.read_text())
        pairs.append((schema["$id"], Resource.from_contents(schema)))
    return Registry().with_resources(pairs)


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    if jsonschema is None:
        return _AcceptsAll()
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, registry=registry())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def check_execbench_rules(trace: dict[str, Any]) -> None:
    """What SOL-ExecBench's reader demands of a trace, written from its description rather than from our schema."""
    assert isinstance(trace["definition"], str) and isinstance(trace["workload"], dict)
    assert trace["solution"] is None or isinstance(trace["solution"], str)
    evaluation = trace["evaluation"]
    status = evaluation["status"]
    if status == "INFRA_ERROR":  # the one status that is ours alone
        return
    assert status in STATUSES
    environment = evaluation["environment"]
    assert isinstance(environment["hardware"], str) and isinstance(environment["libs"], dict)
    assert all(isinstance(v, str) for v in environment["libs"].values())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?", evaluation["timestamp"])
    assert isinstance(evaluation["log"], str)
    correctness, performance = evaluation["correctness"], evaluation["performance"]
    assert (correctness is not None) == (status in ("PASSED", "INCORRECT_NUMERICAL"))
    assert (performance is not None) == (status == "PASSED")
    if correctness is not None:
        for key in ("max_relative_error", "max_absolute_error"):
            assert _is_number(correctness[key]) and correctness[key] >= 0
        assert isinstance(correctness["has_nan"], bool) and isinstance(correctness["has_inf"], bool)
    if performance is not None:
        for key in ("latency_ms", "reference_latency_ms", "speedup_factor"):
            assert _is_number(performance[key]) and performance[key] >= 0
