#!/usr/bin/env python3
"""Evaluates the examples on a GPU and writes a Markdown table: status, mode, the judge's time against CUPTI's for the
same graph, and the spread of repeated evaluations in new processes.

    ci/measure_gpu.py --bin build/cuda/bin/solmark --out out/gpu [--repeat 5] [--only rms_norm/cuda …]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LANGUAGES = ("cuda", "cublas", "torch_cuda", "triton", "pytorch")
STUDENT_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36}


def evaluate(
    binary: str, problem: Path, solution: Path, out: Path, workloads: int
) -> tuple[list[dict[str, Any]], float]:
    command = [binary, "eval", str(problem), "-s", str(solution), "-d", "cuda", "--profile", "--compare-live"]
    command += ["-o", str(out), "--json", "-q"]
    if workloads:
        lines = (problem / "workload.jsonl").read_text().splitlines()
        spread = [lines[i * (len(lines) - 1) // (workloads - 1)] for i in range(workloads)] if workloads > 1 else lines[:1]
        for line in spread:
            command += ["--workload", json.loads(line)["uuid"]]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    seconds = time.monotonic() - start
    out.with_suffix(".err").write_text(done.stderr)
    lines = out.read_text().splitlines() if out.exists() else []
    return [json.loads(line) for line in lines], seconds


def beyond(pairs: list[tuple[float, float]], share: float, ns: float) -> tuple[int, str]:
    """How many of (time, reference time) differ by more than `share` and more than `ns`, and the worst in words."""
    outside = [(a, b) for a, b in pairs if abs(a - b) > ns and abs(a - b) > share * b]
    if not pairs:
        return 0, "-"
    a, b = max(pairs, key=lambda p: min(abs(p[0] - p[1]) / ns if ns else 1e9, abs(p[0] - p[1]) / (share * p[1])))
    return len(outside), f"{(a - b) / 1000:+.2f} µs ({100 * (a - b) / b:+.1f} %)"


def summary(name: str, traces: list[dict[str, Any]], seconds: float) -> str:
    records = [t["evaluation"]["solmark"] for t in traces]
    passed = sum(t["evaluation"]["status"] == "PASSED" for t in traces)
    sealed = sum(r["mode"] == "sealed" for r in records)
    timed = [r for r in records if r["t_ns"] is not None]
    widths = [(r["t_ci_ns"][1] - r["t_ci_ns"][0]) / 2 / r["t_ns"] for r in timed]
    profiles = [r["profile"] for r in timed if "profile" in r]
    graph = beyond([(r["t_ns"], r["profile"]["graph_ns_per_call"]) for r in timed if "graph_ns_per_call" in r.get("profile", {})], 0.02, 250)
    nodes = beyond([(r["t_ns"], r["profile"]["span_ns_per_call"]) for r in timed if "profile" in r], 0.02, 250)
    live = beyond([(r["t_ns"], r["live_graph_ns"]) for r in timed if "live_graph_ns" in r], 0.01, 50)
    kernels = max((len(p["kernels"]) for p in profiles), default=0)
    return (
        f"| {name} | {passed}/{len(traces)} | {sealed}/{len(traces)} | {kernels} | {graph[0]} | {graph[1]} | {nodes[0]} | {nodes[1]} "
        f"| {live[0]} | {live[1]} | ±{100 * max(widths, default=0):.2f} % | {seconds:.1f} |"
    )


def spread(runs: list[list[dict[str, Any]]]) -> float:
    """The widest 95 % interval of the mean over repeated evaluations, as a share of the mean (half width)."""
    worst = 0.0
    for traces in zip(*runs, strict=True):
        times = [t["evaluation"]["solmark"]["t_ns"] for t in traces]
        if None in times:
            return float("nan")
        half = STUDENT_95[len(times)] * statistics.stdev(times) / len(times) ** 0.5
        worst = max(worst, half / statistics.mean(times))
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--workloads", type=int, default=0, help="so many of each problem, first to last; 0: all")
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    # The judge's time against CUPTI's record of the whole graph, CUPTI's records of its nodes, and the worker's own graph.
    print(
        "| example | passed | sealed | kernels | judge−graph beyond | worst | judge−nodes beyond | worst | judge−live beyond "
        "| worst | 95 % interval | wall s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    spreads: list[str] = []
    for problem in sorted(Path("problems").iterdir()):
        for language in LANGUAGES:
            solution = problem / "solutions" / language / "solution.json"
            name = f"{problem.name}/{language}"
            if not solution.exists() or (options.only and name not in options.only):
                continue
            runs = []
            for i in range(options.repeat):
                traces, seconds = evaluate(options.bin, problem, solution, options.out / f"{problem.name}.{language}.{i}.jsonl", options.workloads)
                runs.append(traces)
                if i == 0:
                    print(summary(name, traces, seconds), flush=True)
                    for t in traces:
                        if t["evaluation"]["status"] != "PASSED" or t["evaluation"]["solmark"].get("why_live"):
                            why = t["evaluation"]["log"] or t["evaluation"]["solmark"].get("why_live")
                            print(f"{name} {t['workload']['uuid'][:8]}: {why[:300]}", file=sys.stderr, flush=True)
            if options.repeat > 1:
                spreads.append(f"{name}: ±{100 * spread(runs):.2f} % over {options.repeat} evaluations")
    print("\n".join(["", *spreads]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
