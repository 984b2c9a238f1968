"""Answers the judge's requests, one at a time."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from .. import PROTOCOL_VERSION
from ..channel import Channel, ChannelClosed, Message, ProtocolError
from .errors import OracleError, is_out_of_memory
from .imports import may_import_more


def _package_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _device_name(device: str) -> str:
    """The GPU, or the processor. By the driver alone: importing torch takes seconds."""
    from .cuda_vmm import Driver

    if device != "cpu":
        index = int(device.partition(":")[2] or 0)
        with contextlib.suppress(OracleError):
            names = Driver().device_names()
            if index < len(names):
                return names[index]
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class Server:
    def __init__(self, channel: Channel, recorder: bool = False) -> None:
        self._channel = channel
        self._recorder = recorder
        # Whether this process will record; a GPU's oracle has a recorder beside it.
        self._records = recorder
        self._session: Any = None
        # Importing torch takes seconds; it goes on while the judge does other things.
        self._importing = threading.Thread(target=self._import, daemon=True)
        self._import_error: BaseException | None = None
        self._complete: set[str] = set()  # names of the modules that the thread has finished with
        self._torch_ready = threading.Event()
        self._importing.start()

    def _import(self) -> None:
        try:
            from . import session  # noqa: F401

            if self._recorder:
                from . import light_dynamo

                light_dynamo.install()
        except BaseException as error:  # noqa: BLE001 - told to the judge by the request that needs torch
            self._import_error = error
        self._complete = set(sys.modules)
        self._torch_ready.set()
        # Fake tensors, which recording needs, bring in as much again; what goes wrong shows when they are used.
        if self._records and not self._recorder:
            with contextlib.suppress(Exception):
                import torch._dynamo  # noqa: F401

    def serve(self) -> int:
        while True:
            try:
                message = self._channel.receive()
            except ChannelClosed:
                return 0
            reply = self._reply(message)
            reply["id"] = message.body.get("id", 0)
            message.close()
            try:
                self._channel.send(reply)
            except ChannelClosed:
                return 0
            except (ProtocolError, ValueError) as error:
                self._channel.send(
                    {"type": "error", "id": reply["id"], "kind": "internal", "message": str(error)}
                )
            if message.type == "quit":
                return 0

    def _reply(self, message: Message) -> dict[str, Any]:
        try:
            return {"type": "ok", **self._handle(message)}
        except OracleError as error:
            return {"type": "error", "kind": error.kind, "message": error.message}
        except Exception as error:  # noqa: BLE001 - the judge must get one reply to each request
            traceback.print_exc()
            sys.stderr.flush()
            return {"type": "error", "kind": _kind(error), "message": f"{type(error).__name__}: {error}"}

    def _handle(self, message: Message) -> dict[str, Any]:
        body = message.body
        if message.type == "hello":
            return self._hello(body)
        if message.type == "quit":
            if self._session is not None:
                self._session.close()
            return {}
        if self._session is None:
            self._session = self._open_session()
        if message.type == "ready":  # PyTorch is imported
            return {}
        handlers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "load": self._load,
            "workload": self._session.workload,
            "record": self._record,
        }
        if not self._recorder:
            handlers["set"] = lambda b: self._session.make_set(b, message.descriptors)
            handlers["time"] = self._session.time
        handler = handlers.get(message.type)
        if handler is None:
            raise OracleError("request", f"the oracle knows no request {message.type}")
        return handler(body)

    def _load(self, body: dict[str, Any]) -> dict[str, Any]:
        if may_import_more(str(body.get("reference", "")), self._complete):
            self._importing.join()
        return self._session.load(body)

    def _record(self, body: dict[str, Any]) -> dict[str, Any]:
        self._importing.join()
        return self._session.record(body)

    def _hello(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("version") != PROTOCOL_VERSION:
            raise OracleError(
                "version", f"the oracle speaks protocol {PROTOCOL_VERSION}, the judge {body.get('version')}"
            )
        self._records = self._recorder or body.get("device") == "cpu"
        for package in ("torch", "numpy", "safetensors"):
            if not _package_version(package):
                raise OracleError("missing", package)
        return {
            "version": PROTOCOL_VERSION,
            "torch": _package_version("torch"),
            "numpy": _package_version("numpy"),
            "python": platform.python_version(),
            "triton": _package_version("triton"),
            "device_name": _device_name(str(body.get("device", "cuda:0"))),
        }

    def _open_session(self) -> Any:
        self._torch_ready.wait()
        if self._import_error is not None:
            raise OracleError("machine", f"PyTorch cannot be imported: {self._import_error}")
        from .session import Session

        return Session(self._recorder)


def _kind(error: Exception) -> str:
    if isinstance(error, (KeyError, TypeError)):
        return "request"
    if isinstance(error, MemoryError) or ("torch" in sys.modules and is_out_of_memory(error)):
        return "memory"
    return "internal"
