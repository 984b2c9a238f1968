"""Python candidates: every way to return results, and every way not to."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from judging import Judge, Run, write_problem, write_solution
from native_candidates import matches
from python_candidates import DESTINATION, OUTPUTS, REFERENCE, RETURNS, gauntlet

LIMITS = ("--load-timeout", "90", "--first-call-timeout", "6", "--call-timeout", "6", "--batch-timeout", "6")


@pytest.fixture(scope="module")
def run_of_all(session_judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("python")
    problem = write_problem(
        folder / "problem", reference=REFERENCE, outputs=OUTPUTS, workloads=2 * len(RETURNS) + 1, atol=1e-3
    )
    solution = write_solution(folder / "gauntlet", "python", gauntlet(), style="return")
    return session_judge.run(problem, solution, *LIMITS, limit=560)


@pytest.mark.parametrize("index", range(len(RETURNS)), ids=[f.name for f in RETURNS])
def test_return(index: int, run_of_all: Run) -> None:
    fault = RETURNS[index]
    number = 2 * index + 2
    log = run_of_all.log(number)
    assert matches(fault.wanted, run_of_all.status(number)), log
    assert re.search(fault.words, log), log
    assert run_of_all.status(number - 1) == "PASSED", run_of_all.log(number - 1)
    assert run_of_all.status(number + 1) == "PASSED", run_of_all.log(number + 1)


def test_destination(judge: Judge, tmp_path: Path) -> None:
    problem = write_problem(tmp_path / "problem", workloads=9)
    run = judge.run(problem, write_solution(tmp_path / "destination", "python", DESTINATION), *LIMITS, limit=300)
    assert run.statuses[::2] == ["PASSED"] * 5
    assert run.statuses[1::2] == ["RUNTIME_ERROR", "INCORRECT_NUMERICAL", "INCORRECT_NUMERICAL", "RUNTIME_ERROR"]
    assert "no tile" in run.log(2)
    assert "never written" in run.log(4) and "never written" in run.log(6)


LOADS = {
    "exits_at_import": ("import sys\nsys.exit(0)\n", "RUNTIME_ERROR", "load of the candidate"),
    "exits_at_once_at_import": ("import os\nos._exit(0)\n", "RUNTIME_ERROR", "exited with code 0"),
    "raises_at_import": ("raise RuntimeError('needs another GPU')\n", "RUNTIME_ERROR", "needs another GPU"),
    "is_no_python": ("def run(x, y\n", "RUNTIME_ERROR|COMPILE_ERROR", "(?i)syntax|never closed"),
    "has_no_entry_point": ("def walk(x, y):\n    return x\n", "RUNTIME_ERROR|COMPILE_ERROR", "run"),
}


@pytest.mark.parametrize("name", LOADS)
def test_load(name: str, judge: Judge, tmp_path: Path) -> None:
    source, wanted, words = LOADS[name]
    problem = write_problem(tmp_path / "problem", workloads=2)
    run = judge.run(problem, write_solution(tmp_path / name, "python", source, style="return"))
    for number in (1, 2):
        assert matches(wanted, run.status(number)), run.log(number)
        assert re.search(words, run.log(number)), run.log(number)


def test_one_bare_tensor_and_a_hang_at_import(judge: Judge, tmp_path: Path) -> None:
    """The file hangs when it is imported for the second time: the first process dies in workload 2."""
    mark = tmp_path / "was_here"
    source = f"""
import os, time
if os.path.exists({str(mark)!r}):
    time.sleep(1000)
open({str(mark)!r}, "w").close()


def run(x, y):
    if x.shape[0] == 128:
        os._exit(1)
    return x * 2 + y
"""
    problem = write_problem(tmp_path / "problem", workloads=3)
    solution = write_solution(tmp_path / "hangs", "python", source, style="return")
    run = judge.run(problem, solution, "--load-timeout", "25")
    assert run.statuses == ["PASSED", "RUNTIME_ERROR", "TIMEOUT"]
    assert "load of the candidate" in run.log(3)


CLAMP = "import torch\n\n\ndef run(x, y, low, high):\n    return torch.clamp(x * 2 + y, low, high)\n"
CLAMP_CPP = """
#include <solmark/call.h>

#include <algorithm>

extern "C" int run(const DLTensor* const* in, DLTensor* const* out, const solmark_call*) {
  auto floats = [](const DLTensor* t) { return static_cast<float*>(t->data); };
  const float low = *floats(in[2]), high = *floats(in[3]);
  for (int64_t i = 0; i < in[0]->shape[0]; ++i) {
    floats(out[0])[i] = std::min(std::max(floats(in[0])[i] * 2 + floats(in[1])[i], low), high);
  }
  return 0;
}
"""


def test_scalars_may_be_infinite(judge: Judge, tmp_path: Path) -> None:
    """`-Infinity` and `Infinity`, as Python's json module writes them, are the scalars they name; a record has null."""
    problem = write_problem(tmp_path / "problem", reference=CLAMP)
    definition = json.loads((problem / "definition.json").read_text())
    definition["inputs"] |= {name: {"shape": None, "dtype": "float32"} for name in ("low", "high")}
    (problem / "definition.json").write_text(json.dumps(definition))
    lines = [json.loads(line) for line in (problem / "workload.jsonl").read_text().splitlines()]
    for line, (low, high) in zip(lines, [(-math.inf, math.inf), (-math.inf, 0.5), (0.5, math.inf)], strict=True):
        line["inputs"] |= {"low": {"type": "scalar", "value": low}, "high": {"type": "scalar", "value": high}}
    (problem / "workload.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for host, source in (("python", CLAMP), ("cpp", CLAMP_CPP)):
        style = "return" if host == "python" else "destination"
        run = judge.run(problem, write_solution(tmp_path / host, host, source, style=style), *LIMITS)
        assert run.statuses == ["PASSED"] * 3, run.traces
        assert run.traces[1]["workload"]["inputs"]["low"]["value"] is None


TYPES = """
def types(*scalars):
    return ", ".join(f"{type(s).__name__} {s}" for s in scalars)


def run(x, y, whole, flag, ratio):
    assert types(whole, flag, ratio) == "int 3, bool True, int 2", types(whole, flag, ratio)
    return x * ratio + y
"""


def test_scalars_are_the_same_to_the_reference_and_the_candidate(judge: Judge, tmp_path: Path) -> None:
    problem = write_problem(tmp_path / "problem", reference=TYPES, workloads=1)
    definition = json.loads((problem / "definition.json").read_text())
    dtypes = {"whole": "int32", "flag": "bool", "ratio": "float32"}
    definition["inputs"] |= {name: {"shape": None, "dtype": dtype} for name, dtype in dtypes.items()}
    (problem / "definition.json").write_text(json.dumps(definition))
    line = json.loads((problem / "workload.jsonl").read_text())
    values = {"whole": 3.0, "flag": 1, "ratio": 2}
    line["inputs"] |= {name: {"type": "scalar", "value": value} for name, value in values.items()}
    (problem / "workload.jsonl").write_text(json.dumps(line) + "\n")
    run = judge.run(problem, write_solution(tmp_path / "types", "python", TYPES, style="return"), *LIMITS)
    assert run.statuses == ["PASSED"], run.log(1)


def test_sources_may_have_names_that_pytorch_imports(judge: Judge, tmp_path: Path) -> None:
    problem = write_problem(tmp_path / "problem", workloads=1)
    entry = "from .random import twice\n\n\ndef run(x, y):\n    return twice(x) + y\n"
    path = write_solution(tmp_path / "names", "python", entry, style="return")
    solution = json.loads(path.read_text())
    content = "def twice(x):\n    return x * 2\n"
    solution["sources"] += [{"path": f"{name}.py", "content": content} for name in ("random", "json", "types", "torch")]
    path.write_text(json.dumps(solution))
    run = judge.run(problem, path, *LIMITS)
    assert run.statuses == ["PASSED"], run.log(1)
