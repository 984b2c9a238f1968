"""The C seam of the worker (src/worker/host.h) by ctypes: hooks in, the protocol loop out."""

from __future__ import annotations

import ctypes
import json
import traceback
from typing import Any, Protocol

from .. import no_gpu

CALL_OK = 0
CALL_FAILED = 1
CALL_WRONG_SHAPE = 2
CALL_WRONG_DTYPE = 3
CALL_WRONG_DEVICE = 4

_REQUEST_HOOK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t
)
_CALL_HOOK = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_size_t,
)


class _Hooks(ctypes.Structure):
    _fields_ = [
        ("self", ctypes.c_void_p),
        ("load", _REQUEST_HOOK),
        ("bind", _REQUEST_HOOK),
        ("call", _CALL_HOOK),
    ]


class WrongResult(Exception):
    """A result that is not what the definition declares; `code` is one of the CALL_WRONG_* values."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class CandidateError(Exception):
    """A failure whose message says all: no traceback is shown."""


class Host(Protocol):
    def load(self, request: dict[str, Any]) -> None: ...

    def bind(self, request: dict[str, Any]) -> None: ...

    def call(self, slot: int, stream: int | None, copy_out: bool) -> None: ...


def _describe(error: BaseException, limit: int) -> str:
    """The exception with the last lines of its traceback, without our own frames."""
    if isinstance(error, (WrongResult, CandidateError)):
        return str(error)
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_globals.get("__package__") == __package__:
        frame = frame.tb_next
    lines = traceback.format_exception(type(error), error, frame, chain=False)
    text = "".join(lines).strip()
    last = "".join(traceback.format_exception_only(type(error), error)).strip() + no_gpu.mend(error)
    if isinstance(error, SystemExit):
        last = f"the candidate called sys.exit({error.code!r})"
    tail = text[-max(limit - len(last) - 64, 0) :] if len(text) + len(last) + 64 > limit else text
    return last if frame is None else f"{last}\n{tail}"


def _fail(error: BaseException, buffer: int | None, size: int) -> int:
    code = error.code if isinstance(error, WrongResult) else CALL_FAILED
    try:
        text = _describe(error, size).encode("utf-8", "replace")
    except BaseException:  # a hostile __str__
        text = f"{type(error).__name__}, which cannot be printed".encode()
    if buffer and size > 0:
        text = text[: size - 1]
        ctypes.memmove(buffer, text + b"\0", len(text) + 1)
    return code


class WorkerLibrary:
    """libsolmark_worker.so, its symbols made global."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        self._run = self._library.solmark_worker_run
        self._run.argtypes = [ctypes.c_int, ctypes.POINTER(_Hooks)]
        self._run.restype = ctypes.c_int
        self._report = self._library.solmark_worker_report_output
        self._report.argtypes = [ctypes.c_int64, ctypes.c_int32, ctypes.c_uint64]
        self._report.restype = None

    def report_output(self, slot: int, output: int, address: int) -> None:
        self._report(slot, output, address)

    def run(self, channel: int, host: Host) -> int:
        # An exception that left a ctypes callback would be printed and count as success: hooks catch all.
        def request(handle: Any) -> Any:
            def hook(_self: int | None, text: bytes, buffer: int | None, size: int) -> int:
                try:
                    handle(json.loads(text))
                    return CALL_OK
                except BaseException as error:
                    return _fail(error, buffer, size)

            return hook

        def call(
            _self: int | None, slot: int, stream: int | None, copy_out: int, buffer: int | None, size: int
        ) -> int:
            try:
                host.call(slot, stream, copy_out != 0)
                return CALL_OK
            except BaseException as error:
                return _fail(error, buffer, size)

        load, bind = _REQUEST_HOOK(request(host.load)), _REQUEST_HOOK(request(host.bind))
        hooks = _Hooks(None, load, bind, _CALL_HOOK(call))
        return int(self._run(channel, ctypes.byref(hooks)))
