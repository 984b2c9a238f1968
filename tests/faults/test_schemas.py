"""The published schemas: they accept every example and reject what the readers reject."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from records import SCHEMAS, check_execbench_rules, validator

ROOT = SCHEMAS.parent
DATA = ROOT / "tests/cli/data"
NAMES = sorted(p.name.removesuffix(".schema.json") for p in SCHEMAS.glob("*.schema.json"))


@pytest.mark.parametrize("name", NAMES)
def test_is_a_schema(name: str) -> None:
    schema = validator(name).schema
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"https://solmark.dev/schemas/{name}.schema.json"
    assert schema["title"] and schema["description"]


def _examples(pattern: str) -> list[Path]:
    found = sorted((ROOT / "problems").glob(pattern))
    assert found
    return found


def test_examples() -> None:
    for path in _examples("*/definition.json"):
        validator("definition").validate(json.loads(path.read_text()))
    for path in _examples("*/workload.jsonl"):
        for line in path.read_text().splitlines():
            validator("workload").validate(json.loads(line))
    for path in _examples("*/solutions/*/solution.json"):
        validator("solution").validate(json.loads(path.read_text()))
    for path in sorted((ROOT / "problems").glob("*/config.json")):
        validator("config").validate(json.loads(path.read_text()))


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("definition", "bad_dtype/definition.json"),
        ("definition", "no_run/definition.json"),
        ("config", "bad_config/config.json"),
        ("solution", "bad_solutions/entry_point.json"),
        ("solution", "bad_solutions/language.json"),
        ("solution", "bad_solutions/content.json"),
        ("solution", "bad_solutions/outside.json"),
    ],
)
def test_rejects_what_the_readers_reject(name: str, file: str) -> None:
    assert not validator(name).is_valid(json.loads((DATA / file).read_text()))


def test_accepts_what_the_readers_accept() -> None:
    validator("definition").validate(json.loads((DATA / "unknown_key/definition.json").read_text()))
    validator("solution").validate(json.loads((DATA / "good/solutions/right/solution.json").read_text()))
    validator("config").validate({"warmup_runs": 3, "iterations": 10, "seed": None, "unknown": 1})


@pytest.mark.parametrize(
    "change",
    [
        {"axes": {"n": -1}},
        {"axes": {"n": 1.5}},
        {"uuid": ""},
        {"inputs": {"x": {"type": "scalar"}}},
        {"inputs": {"x": {"type": "safetensors", "path": "a"}}},
        {"inputs": {"x": {"type": "normal"}}},
        {"tolerance": {"required_matched_ratio": 2}},
        {"tolerance": {"max_atol": -1}},
    ],
    ids=json.dumps,
)
def test_workload_rejects(change: dict[str, Any]) -> None:
    workload = json.loads((DATA / "good/workload.jsonl").read_text().splitlines()[0])
    validator("workload").validate(workload)
    assert not validator("workload").is_valid({**workload, **change})


def _trace() -> dict[str, Any]:
    state = dict.fromkeys(("sm_clock_hz", "memory_clock_hz", "temperature_c", "power_w", "throttle_reasons"))
    ulp = dict.fromkeys(("0", "1", "2", "3-4", "5-16", "17-256", "257-65536", "more"), 0)
    output = {"name": "out", "elements": 64, "matched": 64, "matched_ratio_min": 1.0, "max_absolute_error": 0.0}
    output |= {"max_relative_error": 0.0, "worst": {"index": "[0]", "got": 1.0, "expected": 1.0}, "nan": 0, "inf": 0}
    machine = {"device": "cpu", "name": "x", "driver": "", "compute_capability": 0, "multiprocessors": 2}
    solmark = {
        "t_ns": 10.0,
        "t_ci_ns": [9.0, 11.0],
        "mode": "live",
        "t_sol_ns": None,
        "level": None,
        "limiter": None,
        "sol_score": None,
        "baseline": None,
        "batches": [{"batch_ns": 20.0, "empty_ns": 10.0, "call_ns": 10.0, "state": state}],
        "batches_left_out": [],
        "slots": 1,
        "slots_exceed_cache": False,
        "cache": "cold",
        "input_sets": 14,
        "ci_coverage": 0.97,
        "scaled_mad_ns": 0.5,
        "outputs": [output | {"ulp": ulp}],
        "findings": [],
        "machine": machine | {"memory_bytes": 1, "last_level_cache_bytes": 1},
        "seed": 1,
        "spent": {"measure_s": 0.1},
    }
    return {
        "definition": "affine",
        "workload": {"uuid": "u", "axes": {"n": 64}},
        "solution": "right",
        "evaluation": {
            "status": "PASSED",
            "environment": {"hardware": "x", "libs": {"torch": "2"}},
            "timestamp": "2030-01-01T00:00:00",
            "log": "",
            "correctness": {"max_relative_error": 0.0, "max_absolute_error": 0.0, "has_nan": False, "has_inf": False, "extra": None},
            "performance": {"latency_ms": 1e-5, "reference_latency_ms": 0.0, "speedup_factor": 0.0},
            "solmark": solmark,
        },
    }


def test_trace_accepts() -> None:
    validator("trace").validate(_trace())
    check_execbench_rules(_trace())


BROKEN = {
    "passed_without_performance": ("performance", None),
    "passed_without_correctness": ("correctness", None),
    "failed_with_performance": ("status", "INCORRECT_NUMERICAL"),
    "crashed_with_correctness": ("status", "RUNTIME_ERROR"),
    "unknown_status": ("status", "FINE"),
    "zone_in_timestamp": ("timestamp", "2030-01-01T00:00:00Z"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_trace_rejects(name: str) -> None:
    key, value = BROKEN[name]
    trace = _trace()
    trace["evaluation"][key] = value
    assert not validator("trace").is_valid(trace)
    with pytest.raises(AssertionError):
        check_execbench_rules(trace)


@pytest.mark.parametrize(
    ("path", "value"),
    [(("unknown",), 1), (("t_ns",), None), (("seed",), -1), (("batches", 0, "state", "unknown"), 1), (("spent", "other"), 1)],
)
def test_solmark_rejects(path: tuple[Any, ...], value: object) -> None:
    trace = copy.deepcopy(_trace())
    place: Any = trace["evaluation"]["solmark"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        validator("trace").validate(trace)


BAD = "tests/cli/data/bad_dtype"


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("arch_list", ["arch", "list"], 0),
        ("arch_show", ["arch", "show", "h200-sxm"], 0),
        ("problems_list", ["problems", "list", "problems"], 0),
        ("problems_list", ["problems", "list", BAD], 0),
        ("problems_show", ["problems", "show", "problems/gqa_paged_decode"], 0),
        ("problems_check", ["problems", "check", "problems/rms_norm", "tests/cli/data/unknown_key"], 0),
        ("problems_check", ["problems", "check", BAD], 3),
        ("doctor", ["doctor"], None),
    ],
)
def test_what_the_verbs_print(name: str, arguments: list[str], code: int | None) -> None:
    done = subprocess.run(
        [os.environ["SOLMARK_BIN"], *arguments, "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert code is None or done.returncode == code, done.stderr
    assert done.stdout
    for line in done.stdout.splitlines():
        validator(name).validate(json.loads(line))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("doctor", {"id": "torch", "ok": "yes", "finding": "", "mend": ""}),
        ("arch_list", {"name": "a", "title": "A", "origin": ""}),
        ("arch_show", {"name": "a", "title": "A"}),
        ("problems_list", {"path": "a"}),
        ("problems_list", {"path": "a", "name": "a", "op_type": "", "workloads": 1, "error": "unreadable"}),
        ("problems_show", {"name": "a", "op_type": "", "description": "", "inputs": [{}], "outputs": [], "workloads": []}),
        ("problems_check", {"problem": "a", "ok": False, "warnings": []}),
        ("problems_check", {"problem": "a", "ok": True, "warnings": [], "error": "unreadable"}),
    ],
)
def test_no_other_lines(name: str, line: dict[str, Any]) -> None:
    assert not validator(name).is_valid(line)
