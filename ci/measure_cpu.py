#!/usr/bin/env python3
"""Evaluates an example on the CPU device and prints how long that took and what host memory it took beyond tensors.

    ci/measure_cpu.py --bin build/quick/bin/solmark [--problem problems/rms_norm --language cpp] [--repeat 3]

Memory is the proportional set size of each process (what it shares counts once, split among the sharers), sampled
ten times a second. Tensors lie in shared memory files and count apart, as do the files that are mapped in (PyTorch's
libraries); "own" is what remains: heaps, stacks and private data.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path

MIB = 1 << 20


def children(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                found += children(int(child))
        except OSError:
            continue
    return found


def role(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    for name in ("oracle", "worker", "replayer"):
        if any(name in word for word in words[:4]):
            return name
    return Path(words[0]).name or "?"


def memory(pid: int) -> dict[str, int]:
    """Bytes of one process by kind."""
    out: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        words = line.split()
        if words[0].startswith("Pss_"):
            out[words[0][4:-1]] = int(words[1]) * 1024
    return out


def evaluate(command: list[str]) -> tuple[float, dict[str, dict[str, int]]]:
    """Seconds, and for each role the largest bytes of each kind seen."""
    peak: dict[str, dict[str, int]] = {}
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        now: dict[str, dict[str, int]] = {}
        for pid in children(process.pid):
            try:
                kinds = memory(pid)
                kept = now.setdefault(role(pid), {})
            except OSError:
                continue
            for kind, count in kinds.items():
                kept[kind] = kept.get(kind, 0) + count
        total = {kind: sum(kinds.get(kind, 0) for kinds in now.values()) for kind in ("Anon", "File", "Shmem")}
        now["all"] = total
        for name, kinds in now.items():
            for kind, count in kinds.items():
                kept = peak.setdefault(name, {})
                kept[kind] = max(kept.get(kind, 0), count)
        time.sleep(0.1)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} exited with {process.returncode}")
    return time.monotonic() - start, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/quick/bin/solmark")
    parser.add_argument("--problem", default="problems/rms_norm")
    parser.add_argument("--language", default="cpp")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    solution = f"{args.problem}/solutions/{args.language}/solution.json"
    command = [args.bin, "eval", args.problem, "--solution", solution, "--device", "cpu", "-q"]
    print("| run | time (s) | process | own (MiB) | mapped files (MiB) | tensors (MiB) |")
    print("|---|---|---|---|---|---|")
    for run in range(args.repeat):
        seconds, peak = evaluate(command)
        for name, kinds in sorted(peak.items()):
            cells = " | ".join(f"{kinds.get(kind, 0) / MIB:.0f}" for kind in ("Anon", "File", "Shmem"))
            print(f"| {run + 1} | {seconds:.1f} | {name} | {cells} |")


if __name__ == "__main__":
    main()
