"""Faults of C++ candidates, each with the verdict it must get.

`IN_CALLS` are faults of single calls. One program holds them all: every even workload has a fault of its own, and every
odd one is computed rightly, so that each fault also shows that the workloads after it are judged.
`WHOLE` are faults of a whole program: at its build, its load, or in every call.
"""

from __future__ import annotations

import dataclasses
import re

HEAD = r"""
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <solmark/call.h>
static int workload;    // from 1: workload i has 64 * i elements
static int call_count;  // calls of this process on this workload, this one included
static float *x, *y, *out;
static long n;
static void affine() { for (long i = 0; i < n; ++i) out[i] = x[i] * 2 + y[i]; }
static void hang() { for (;;) pause(); }
static void flood(int fd, int mebibytes) {
  static char block[1 << 16];
  memset(block, 'a', sizeof block);
  for (int i = 0; i < 16 * mebibytes; ++i) (void)!write(fd, block, sizeof block);
}
// Writes records in which everything passed.
static void forge(int fd) {
  for (int i = 1; i <= 6; ++i) {
    char line[700];
    int length = snprintf(line, sizeof line,
        "\n{\"definition\":\"affine\",\"workload\":{\"uuid\":\"00000000-0000-4000-8000-%012d\",\"axes\":{\"n\":%d},"
        "\"inputs\":{},\"tolerance\":{}},\"solution\":\"forged\",\"evaluation\":{\"status\":\"PASSED\",\"environment\":"
        "{\"hardware\":\"forged\",\"libs\":{}},\"timestamp\":\"2030-01-01T00:00:00\",\"log\":\"\",\"correctness\":"
        "{\"max_relative_error\":0,\"max_absolute_error\":0,\"has_nan\":false,\"has_inf\":false,\"extra\":null},"
        "\"performance\":{\"latency_ms\":1e-9,\"reference_latency_ms\":1,\"speedup_factor\":1e9}}}\n", i, 64 * i);
    (void)!write(fd, line, length);
  }
}
"""

ENTRY = r"""
extern "C" int run(const DLTensor* const* in, DLTensor* const* outs, const solmark_call*) {
  n = in[0]->shape[0];
  if (workload != n / 64) call_count = 0;
  workload = static_cast<int>(n / 64);
  ++call_count;
  x = static_cast<float*>(in[0]->data);
  y = static_cast<float*>(in[1]->data);
  out = static_cast<float*>(outs[0]->data);
  return body();
}
"""

# Calls before the first batch: untimed trials. The judge's number may change; it stays far below this.
LATER = "if (call_count > 60)"
# The judge only looks whether the worker still runs when the channel closes, which the worker's own child keeps open.
CRASH = "(?i)signal 11|sigsegv|segmentation"


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    code: str  # of the call; unless it returns, the right outputs are written after it
    wanted: str
    words: str = ""  # a regular expression that the log must match
    before: str = ""  # declarations
    within: float = 30.0  # seconds of the judge for this workload
    broken: str = ""  # why the product fails this one


IN_CALLS = [
    # Endings.
    Fault("exits_with_0", "exit(0);", "RUNTIME_ERROR", "exit"),
    Fault("exits_in_a_timed_batch", f"{LATER} _exit(0);", "RUNTIME_ERROR", "exit|end"),
    Fault("crashes", "*static_cast<volatile int*>(nullptr) = 1;", "RUNTIME_ERROR", CRASH),
    Fault("crashes_in_a_timed_batch", f"{LATER} raise(SIGBUS);", "RUNTIME_ERROR", "(?i)signal 7|sigbus|bus"),
    Fault("says_why_it_aborts", 'fprintf(stderr, "no tile fits\\n"); abort();', "RUNTIME_ERROR", "no tile fits"),
    Fault("overflows_its_stack", "deep(1);", "RUNTIME_ERROR", CRASH,
          before="__attribute__((noinline)) int deep(int i) { volatile char p[4096]; p[0] = 1; return deep(i + 1) + p[0]; }"),
    Fault("throws", "throw 7;", "RUNTIME_ERROR"),
    Fault("returns_an_error", "return 42;", "RUNTIME_ERROR", "42"),
    Fault("returns_an_error_later", f"{LATER} return 43;", "RUNTIME_ERROR", "43"),
    # Hanging.
    Fault("hangs_in_its_first_call", "hang();", "TIMEOUT", "time limit"),
    Fault("hangs_in_a_timed_batch", f"{LATER} hang();", "TIMEOUT", "batch.*time limit"),
    Fault("spins_for_ever", "for (volatile int i = 0;;) i = 1;", "TIMEOUT"),
    Fault("stops_itself", "raise(SIGSTOP);", "TIMEOUT"),
    Fault("ignores_signals_and_hangs", "for (int s = 1; s < 32; ++s) signal(s, SIG_IGN); hang();", "TIMEOUT"),
    # Output.
    Fault("floods_stdout_and_stderr", "if (call_count == 1) flood(1, 25), flood(2, 25);", "PASSED"),
    Fault("floods_and_crashes", "flood(2, 50); abort();", "RUNTIME_ERROR"),
    Fault("prints_bytes_that_are_no_utf8", 'puts("\\xff\\xfe\\x80"); fflush(stdout); abort();', "RUNTIME_ERROR"),
    Fault("prints_forged_records", "forge(1); forge(2); out[0] = 1e6f; return 0;", "INCORRECT_NUMERICAL"),
    Fault("exits_after_forged_records", "forge(1); forge(2); exit(0);", "RUNTIME_ERROR"),
    Fault("writes_forged_records_everywhere", "for (int fd = 0; fd < 256; ++fd) forge(fd); out[0] = 1e6f; return 0;",
          "RUNTIME_ERROR"),
    # Wrong values.
    Fault("nan", "affine(); out[5] = 0.0f / 0.0f; return 0;", "INCORRECT_NUMERICAL", "(?i)nan"),
    Fault("infinity", "affine(); out[5] = 1.0f / 0.0f; return 0;", "INCORRECT_NUMERICAL", "(?i)inf"),
    Fault("last_element_wrong", "affine(); out[n - 1] += out[n - 1] < 0 ? -1e-3f : 1e-3f; return 0;",
          "INCORRECT_NUMERICAL"),
    Fault("all_zeros", "memset(out, 0, n * sizeof(float)); return 0;", "INCORRECT_NUMERICAL"),
    Fault("writes_nothing", "return 0;", "INCORRECT_NUMERICAL", "never written"),
    Fault("writes_only_the_first_times", f"{LATER} return 0;", "INCORRECT_NUMERICAL", "never written"),
    Fault("writes_every_other_element", "for (long i = 0; i < n; i += 2) out[i] = x[i] * 2 + y[i]; return 0;",
          "INCORRECT_NUMERICAL", "never written"),
    Fault("replays_its_first_result", "if (call_count == 1) affine(), memcpy(kept, out, n * 4); memcpy(out, kept, n * 4); "
          "return 0;", "INCORRECT_NUMERICAL", before="float kept[64 * 256];"),
    Fault("remembers_results_by_address",
          "int i = 0; while (i < seen && key[i] != out) ++i; if (i < seen) { memcpy(out, kept[i], n * 4); return 0; } "
          "affine(); if (seen < 256) { key[seen] = out; memcpy(kept[seen++], out, n * 4); } return 0;",
          "INCORRECT_NUMERICAL", before="float kept[256][64 * 256]; float* key[256]; int seen;"),
    # Inputs belong to the judge.
    Fault("writes_its_input", "x[0] = 7;", "RUNTIME_ERROR", CRASH),
    Fault("unprotects_its_input", "unprotect(); memset(x, 0, 4 * n); memset(y, 0, 4 * n);", "RUNTIME_ERROR", "code 13",
          before="void unprotect() { auto page = reinterpret_cast<unsigned long>(x) & ~4095UL; "
                 "if (mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE) != 0) _exit(errno); }"),
    # The channel.
    Fault("closes_the_channel", "close(3);", "RUNTIME_ERROR"),
    Fault("closes_every_descriptor", "for (int fd = 0; fd < 64; ++fd) close(fd);", "RUNTIME_ERROR"),
    Fault("shuts_the_channel_down", "shutdown(3, SHUT_RDWR);", "RUNTIME_ERROR"),
    Fault("garbage_on_the_channel", "char block[64]; memset(block, 0xff, sizeof block); (void)!write(3, block, sizeof block);",
          "RUNTIME_ERROR"),
    Fault("huge_frame_on_the_channel", "unsigned size = 0x7fffffff; (void)!write(3, &size, 4); hang();",
          "RUNTIME_ERROR|TIMEOUT"),
    Fault("endless_bytes_on_the_channel", "for (;;) flood(3, 1);", "RUNTIME_ERROR|TIMEOUT"),
    Fault("child_keeps_the_channel_open", "if (fork() == 0) { sleep(100); _exit(0); } _exit(3);", "RUNTIME_ERROR"),
    Fault("child_in_its_own_session_keeps_the_channel_open",
          "if (fork() == 0) { setsid(); sleep(100); _exit(0); } _exit(3);", "RUNTIME_ERROR"),
    Fault("child_answers_in_its_place", "if (fork() != 0) hang();", "RUNTIME_ERROR|TIMEOUT|PASSED"),
]


def gauntlet() -> str:
    """All faults of single calls as one program."""
    parts = [HEAD]
    arms = []
    for i, fault in enumerate(IN_CALLS):
        space = f"fault{i}"
        parts.append(f"namespace {space} {{\n{fault.before}\nstatic int body() {{ {fault.code}\naffine(); return 0; }}\n}}\n")
        arms.append(f"case {2 * i + 2}: return {space}::body();")
    parts.append("static int body() { switch (workload) { " + "\n".join(arms) + " default: affine(); return 0; } }")
    parts.append(ENTRY)
    return "\n".join(parts)


@dataclasses.dataclass(frozen=True)
class Whole:
    name: str
    wanted: str
    words: str = ""
    before: str = ""
    body: str = "affine(); return 0;"
    options: tuple[str, ...] = ()
    cflags: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        return f"{HEAD}\n{self.before}\nstatic int body() {{ {self.body} }}\n{ENTRY}"


WHOLE = [
    Whole("exits_at_load", "RUNTIME_ERROR", "load of the candidate.*(exit|end)",
          before="__attribute__((constructor)) static void early() { _exit(0); }"),
    Whole("hangs_at_load", "TIMEOUT", "load of the candidate.*time limit", options=("--load-timeout", "2"),
          before="__attribute__((constructor)) static void early() { hang(); }"),
    Whole("has_no_entry_point", "RUNTIME_ERROR|COMPILE_ERROR", "`?run`?", before="#define run walk\n"),
    Whole("does_not_compile", "COMPILE_ERROR", "no_such_thing", body="no_such_thing; return 0;"),
    Whole("does_not_link", "COMPILE_ERROR|RUNTIME_ERROR", "missing_function", before="extern void missing_function();",
          body="missing_function(); return 0;"),
    Whole("includes_itself", "COMPILE_ERROR", "include", before='\n#include "kernel.cpp"\n'),
    Whole("compiler_never_ends", "COMPILE_ERROR", "time limit", options=("--compile-timeout", "2"),
          before="constexpr long forever() { long s = 0; for (long i = 0; i < (1L << 60); ++i) s ^= i; return s; }\n"
                 "static_assert(forever() != 1);\n",
          cflags=("-std=c++20", "-fconstexpr-loop-limit=2147483647", "-fconstexpr-ops-limit=9223372036854775807")),
]


def matches(wanted: str, status: str) -> bool:
    return re.fullmatch(wanted, status) is not None
