"""CUDA virtual memory by ctypes: maps the judge's exported memory at its address in the window.

The window is reserved once in this process; pieces of it are mapped and unmapped as requests come.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .errors import OracleError

_POSIX_FILE_DESCRIPTOR = 1
_LOCATION_DEVICE = 1
_ACCESS_READ = 1
_ACCESS_READ_WRITE = 3
_ALLOCATION_PINNED = 1
_GRANULARITY_MINIMUM = 0


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _AccessDescription(ctypes.Structure):
    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


class _AllocationFlags(ctypes.Structure):
    _fields_ = [
        ("compression_type", ctypes.c_ubyte),
        ("gpu_direct_rdma_capable", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 4),
    ]


class _AllocationProperties(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("requested_handle_types", ctypes.c_int),
        ("location", _Location),
        ("win32_handle_meta_data", ctypes.c_void_p),
        ("alloc_flags", _AllocationFlags),
    ]


class Driver:
    """libcuda with its calls checked."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise OracleError("machine", f"the CUDA driver cannot be opened: {error}") from error

    def call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(code, ctypes.byref(text))
            why = text.value.decode() if text.value else f"error {code}"
            raise OracleError("machine", f"{name}: {why}")

    def device_names(self) -> list[str]:
        """Names of the visible devices; needs no context. Empty when the driver finds none."""
        if self._library.cuInit(0) != 0:
            return []
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        names = []
        for index in range(count.value):
            buffer = ctypes.create_string_buffer(256)
            self.call("cuDeviceGetName", buffer, len(buffer), ctypes.c_int(index))
            names.append(buffer.value.decode(errors="replace"))
        return names


class Window:
    """The reserved range of addresses, and what is mapped in it. The device's context must be current."""

    def __init__(self, driver: Driver, device_index: int, base: int, size: int) -> None:
        self._driver = driver
        self._device = device_index
        self.base = base
        self.size = size
        got = ctypes.c_uint64()
        driver.call(
            "cuMemAddressReserve",
            ctypes.byref(got),
            ctypes.c_size_t(size),
            ctypes.c_size_t(0),
            ctypes.c_uint64(base),
            ctypes.c_uint64(0),
        )
        if got.value != base:
            driver.call("cuMemAddressFree", got, ctypes.c_size_t(size))
            raise OracleError(
                "machine", f"the address window at {base:#x} is taken in the oracle (got {got.value:#x})"
            )
        self._granularity = self._allocation_granularity()

    def _allocation_granularity(self) -> int:
        properties = _AllocationProperties()
        properties.type = _ALLOCATION_PINNED
        properties.requested_handle_types = _POSIX_FILE_DESCRIPTOR
        properties.location = _Location(_LOCATION_DEVICE, self._device)
        out = ctypes.c_size_t()
        self._driver.call(
            "cuMemGetAllocationGranularity", ctypes.byref(out), ctypes.byref(properties), _GRANULARITY_MINIMUM
        )
        return out.value

    def map(self, fd: int, address: int, size: int, writable: bool) -> int:
        """Maps an exported allocation; returns the mapped size, for unmap()."""
        mapped = -(-size // self._granularity) * self._granularity
        if address < self.base or address + mapped > self.base + self.size:
            raise OracleError("request", f"region at {address:#x} lies outside the address window")
        handle = ctypes.c_uint64()
        self._driver.call(
            "cuMemImportFromShareableHandle",
            ctypes.byref(handle),
            ctypes.c_void_p(fd),
            ctypes.c_int(_POSIX_FILE_DESCRIPTOR),
        )
        try:
            self._driver.call(
                "cuMemMap",
                ctypes.c_uint64(address),
                ctypes.c_size_t(mapped),
                ctypes.c_size_t(0),
                handle,
                ctypes.c_uint64(0),
            )
        finally:
            # The mapping keeps the memory; the handle is not needed any more.
            self._driver.call("cuMemRelease", handle)
        access = _AccessDescription(
            _Location(_LOCATION_DEVICE, self._device), _ACCESS_READ_WRITE if writable else _ACCESS_READ
        )
        try:
            self._driver.call(
                "cuMemSetAccess",
                ctypes.c_uint64(address),
                ctypes.c_size_t(mapped),
                ctypes.byref(access),
                ctypes.c_size_t(1),
            )
        except OracleError:
            self.unmap(address, mapped)
            raise
        return mapped

    def unmap(self, address: int, mapped: int) -> None:
        self._driver.call("cuMemUnmap", ctypes.c_uint64(address), ctypes.c_size_t(mapped))
