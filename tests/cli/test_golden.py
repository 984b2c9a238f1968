"""Commands and what they print, as files: every *.test holds commands, exit codes and output with placeholders.

    # a comment
    # needs torch                     the file is skipped without PyTorch
    # broken: reason                  the product fails this file; it is reported when it no longer does
    $ solmark problems check data/good
    exit 0
    --- stdout
    ok    data/good
    --- stderr

Placeholders stand within a line: %int %float %uuid %time (a duration with its unit) %path %any. A line `%lines` stands for
any number of lines. `pytest tests/cli --update` writes what came out into the files and keeps every line that fits.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SOLMARK = os.environ.get("SOLMARK_BIN", "")
PATTERNS = {
    "int": r"-?\d+",
    "float": r"-?\d+(\.\d+)?(e[-+]?\d+)?",
    "uuid": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "time": r"\d+(\.\d+)? (s|ms|µs|ns)",
    "path": r"[^\s:]+",
    "any": r".*",
}


@dataclasses.dataclass
class Command:
    line: str
    exit_code: int
    stdout: list[str]
    stderr: list[str]
    head: list[str]  # comments before it


def read_commands(path: Path) -> list[Command]:
    commands: list[Command] = []
    head: list[str] = []
    into: list[str] | None = None
    for line in path.read_text().splitlines():
        if line.startswith("$ "):
            commands.append(Command(line[2:], 0, [], [], head))
            head, into = [], None
        elif not commands or (into is None and not line.startswith(("exit ", "--- "))):
            head.append(line)
        elif line.startswith("exit ") and into is None:
            commands[-1].exit_code = int(line[5:])
        elif line in ("--- stdout", "--- stderr"):
            into = commands[-1].stdout if line.endswith("out") else commands[-1].stderr
        else:
            into.append(line)
    return commands


def write_commands(path: Path, commands: list[Command]) -> None:
    out: list[str] = []
    for c in commands:
        out += [*c.head, f"$ {c.line}", f"exit {c.exit_code}", "--- stdout", *c.stdout, "--- stderr", *c.stderr]
    path.write_text("\n".join(out) + "\n")


def fits(expected: str, got: str) -> bool:
    parts = re.split("%(" + "|".join(PATTERNS) + ")", expected)
    # Odd parts are names of placeholders.
    pattern = "".join(PATTERNS[part] if i % 2 else re.escape(part) for i, part in enumerate(parts))
    return re.fullmatch(pattern, got) is not None


def lines_fit(expected: list[str], got: list[str]) -> bool:
    if not expected:
        return not got
    if expected[0] == "%lines":
        return any(lines_fit(expected[1:], got[i:]) for i in range(len(got) + 1))
    return bool(got) and fits(expected[0], got[0]) and lines_fit(expected[1:], got[1:])


def updated(expected: list[str], got: list[str]) -> list[str]:
    if lines_fit(expected, got):
        return expected
    kept = list(expected)
    out = []
    for line in got:
        match = next((e for e in kept if e != "%lines" and fits(e, line)), None)
        if match is not None:
            kept = kept[kept.index(match) + 1 :]
        out.append(line if match is None else match)
    return out


FILES = sorted(HERE.glob("*.test"))


def _parameters() -> list[object]:
    out = []
    for path in FILES:
        broken = re.search(r"^# broken: (.*)$", path.read_text(), re.MULTILINE)
        marks = [pytest.mark.xfail(strict=True, reason=broken[1])] if broken else []
        out.append(pytest.param(path, id=path.stem, marks=marks))
    return out


@pytest.mark.parametrize("path", _parameters())
def test_golden(path: Path, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if not os.access(SOLMARK, os.X_OK):
        pytest.skip("SOLMARK_BIN does not name the program")
    commands = read_commands(path)
    assert commands, "no command"
    if any("# needs torch" in c.head for c in commands) and importlib.util.find_spec("torch") is None:
        pytest.skip("this Python has no PyTorch, which the oracle needs")
    environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path / "cache"), TMP=str(tmp_path), OMP_NUM_THREADS="1")
    environment["PATH"] = f"{Path(SOLMARK).parent}:{environment['PATH']}"
    wrong = []
    for c in commands:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", c.line], cwd=HERE, env=environment, capture_output=True, text=True, timeout=300
        )
        stdout, stderr = done.stdout.splitlines(), done.stderr.splitlines()
        if request.config.getoption("--update"):
            c.exit_code, c.stdout, c.stderr = done.returncode, updated(c.stdout, stdout), updated(c.stderr, stderr)
            continue
        if done.returncode != c.exit_code:
            wrong.append(f"$ {c.line}\nexit {done.returncode}, expected {c.exit_code}\n{done.stdout}{done.stderr}")
        for name, expected, got in (("stdout", c.stdout, stdout), ("stderr", c.stderr, stderr)):
            if not lines_fit(expected, got):
                wrong.append(f"$ {c.line}\n--- {name}\n" + "\n".join(got) + "\n--- expected\n" + "\n".join(expected))
    if request.config.getoption("--update"):
        write_commands(path, commands)
    assert not wrong, "\n\n".join(wrong)


def test_placeholders() -> None:
    assert fits("a %int b", "a 12 b") and not fits("a %int b", "a x b")
    assert fits("%float %time", "1.5e-3 12.5 µs") and not fits("%time", "12.5")
    assert fits("(%any) [x]", "(anything at all) [x]") and not fits("(%any) [x]", "() x")
    assert fits("%uuid", "00000000-0000-4000-8000-000000000001") and not fits("%uuid", "00000000")
    assert fits("%path: no", "data/x.json: no") and not fits("%path: no", ": no")
    assert lines_fit(["a", "%lines", "c"], ["a", "b", "b", "c"]) and lines_fit(["a", "%lines"], ["a"])
    assert not lines_fit(["a", "%lines", "c"], ["a", "b"]) and not lines_fit(["a"], ["a", "b"])


def test_update_keeps_lines_that_fit() -> None:
    assert updated(["a %int", "old"], ["a 5", "new"]) == ["a %int", "new"]
    assert updated(["%lines"], ["x"]) == ["%lines"]
