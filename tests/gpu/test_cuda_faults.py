"""Faults of CUDA candidates: one record a workload, the right status, and the next workload still gets its verdict."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from judging import Judge, write_problem

CUDA = ["--device", "cuda"]

HEAD = """
#include <cstdlib>
#include <cuda_runtime.h>
#include <solmark/call.h>
__global__ void affine(const float* x, const float* y, float* out, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.0f * x[i] + y[i];
}
__global__ void spoil(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void endless(volatile float* out) { while (out[0] != 12345.0f) {} }
static int honest(const DLTensor* const* in, DLTensor* const* out, const solmark_call* call) {
  long n = out[0]->shape[0];
  affine<<<(n + 255) / 256, 256, 0, (cudaStream_t)call->stream>>>(
      (const float*)in[0]->data, (const float*)in[1]->data, (float*)out[0]->data, n);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
extern "C" int run(const DLTensor* const* in, DLTensor* const* out, const solmark_call* call) {
"""


def cuda_solution(folder: Path, body: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "solution.json"
    path.write_text(
        json.dumps(
            {
                "name": folder.name,
                "definition": "affine",
                "author": "tests",
                "spec": {
                    "languages": ["cuda_cpp"],
                    "target_hardware": ["LOCAL"],
                    "entry_point": "kernel.cu::run",
                    "binding": "dlpack",
                },
                "sources": [{"path": "kernel.cu", "content": HEAD + body + "\n}\n"}],
            }
        )
    )
    return path


# body of the call, options, statuses of the three workloads (n = 64, 128, 192), a word of the second one's log
FAULTS = {
    "honest": ("return honest(in, out, call);", [], ["PASSED"] * 3, ""),
    "illegal_address": (
        "if (out[0]->shape[0] == 128) { spoil<<<1, 64, 0, (cudaStream_t)call->stream>>>((float*)8); return 0; }"
        "return honest(in, out, call);",
        [],
        ["PASSED", "RUNTIME_ERROR", "PASSED"],
        "illegal",
    ),
    "writes_an_input": (
        "if (out[0]->shape[0] == 128) spoil<<<1, 64, 0, (cudaStream_t)call->stream>>>((float*)in[0]->data);"
        "return honest(in, out, call);",
        [],
        ["PASSED", "RUNTIME_ERROR", "PASSED"],
        "",
    ),
    "endless_kernel": (
        "if (out[0]->shape[0] == 128) { endless<<<1, 1, 0, (cudaStream_t)call->stream>>>((float*)out[0]->data); return 0; }"
        "return honest(in, out, call);",
        ["--first-call-timeout", "5"],
        ["PASSED", "TIMEOUT", "PASSED"],
        "time limit",
    ),
    "leaves_the_process": (
        "if (out[0]->shape[0] == 128) { _Exit(0); } return honest(in, out, call);",
        [],
        ["PASSED", "RUNTIME_ERROR", "PASSED"],
        "exited with code 0",
    ),
    "no_work": ("return 0;", [], ["INCORRECT_NUMERICAL"] * 3, "never written"),
    "only_the_first_call": (
        "static long done = 0; if (done == out[0]->shape[0]) return 0; done = out[0]->shape[0]; return honest(in, out, call);",
        [],
        ["INCORRECT_NUMERICAL"] * 3,
        "",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_cuda_fault(name: str, tmp_path: Path) -> None:
    body, options, statuses, word = FAULTS[name]
    problem = write_problem(tmp_path / "problem", workloads=3)
    solution = cuda_solution(tmp_path / name, body)
    run = Judge(tmp_path).run(problem, solution, *CUDA, *options, limit=240)
    assert run.statuses == statuses, run.log(2) + run.stderr
    assert word in run.log(2)
    assert run.exit_code == (0 if set(statuses) == {"PASSED"} else 1)


def test_passing_calls_are_sealed(tmp_path: Path) -> None:
    problem = write_problem(tmp_path / "problem", workloads=2)
    run = Judge(tmp_path).run(problem, cuda_solution(tmp_path / "honest", "return honest(in, out, call);"), *CUDA)
    assert [t["evaluation"]["solmark"]["mode"] for t in run.traces] == ["sealed", "sealed"]


SYNCHRONISES = "if (cudaStreamSynchronize((cudaStream_t)call->stream) != cudaSuccess) return 7; return honest(in, out, call);"


def test_what_synchronises_runs_live_and_says_why(tmp_path: Path) -> None:
    problem = write_problem(tmp_path / "problem", workloads=1)
    run = Judge(tmp_path).run(problem, cuda_solution(tmp_path / "synchronises", SYNCHRONISES), *CUDA)
    assert run.statuses == ["PASSED"], run.log(1)
    record = run.traces[0]["evaluation"]["solmark"]
    assert record["mode"] == "live" and record["why_live"]


def test_a_seal_file_is_judged_without_candidate_or_compiler(tmp_path: Path) -> None:
    problem = write_problem(tmp_path / "problem", workloads=2)
    solution = cuda_solution(tmp_path / "honest", "return honest(in, out, call);")
    seal = tmp_path / "honest.seal"
    binary = os.environ["SOLMARK_BIN"]
    made = subprocess.run([binary, "seal", str(problem), "-s", str(solution), "-o", str(seal)], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    solution.unlink()
    judged = subprocess.run(
        [binary, "eval", str(problem), "--seal", str(seal), "--device", "cuda", "--json"], capture_output=True, text=True
    )
    traces = [json.loads(line) for line in judged.stdout.splitlines()]
    assert [t["evaluation"]["status"] for t in traces] == ["PASSED", "PASSED"], judged.stdout + judged.stderr
    assert {t["evaluation"]["solmark"]["mode"] for t in traces} == {"sealed"}
