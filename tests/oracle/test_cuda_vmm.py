"""The window's bookkeeping against a driver that only writes down what it is asked."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from solmark.oracle.cuda_vmm import Driver, Window
from solmark.oracle.errors import OracleError

BASE = 0x700000000000
GRANULE = 2 << 20


def plain(argument: Any) -> Any:
    return argument.value if hasattr(argument, "value") else argument


class FakeLibrary:
    def __init__(self, base: int = BASE, fail: str = "") -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.base = base
        self.fail = fail

    def __getattr__(self, name: str) -> Any:
        def function(*arguments: Any) -> int:
            if name == "cuGetErrorString":
                arguments[1]._obj.value = b"made to fail"
                return 0
            self.calls.append((name, *arguments))
            if name == self.fail:
                return 999
            if name == "cuMemAddressReserve":
                arguments[0]._obj.value = self.base
            if name == "cuMemGetAllocationGranularity":
                assert arguments[1]._obj.requested_handle_types == 1  # memory that travels as a descriptor
                arguments[0]._obj.value = GRANULE
            if name == "cuMemImportFromShareableHandle":
                arguments[0]._obj.value = 77
            return 0

        return function

    def asked(self, name: str) -> list[list[Any]]:
        return [[plain(a) for a in call[1:]] for call in self.calls if call[0] == name]


def driver(library: FakeLibrary) -> Driver:
    made = Driver.__new__(Driver)
    made._library = library
    return made


def test_a_region_is_mapped_at_its_address_and_its_handle_released() -> None:
    library = FakeLibrary()
    window = Window(driver(library), 0, BASE, 1 << 30)
    assert library.asked("cuMemAddressReserve")[0][1:] == [1 << 30, 0, BASE, 0]
    mapped = window.map(5, BASE + GRANULE, GRANULE + 1, writable=True)
    assert mapped == 2 * GRANULE  # whole granules, as they were allocated
    assert library.asked("cuMemImportFromShareableHandle")[0][1:] == [5, 1]
    assert library.asked("cuMemMap") == [[BASE + GRANULE, 2 * GRANULE, 0, 77, 0]]
    assert library.asked("cuMemRelease") == [[77]]
    access = library.calls[-1]
    assert access[0] == "cuMemSetAccess" and access[3]._obj.flags == 3
    window.unmap(BASE + GRANULE, mapped)
    assert library.asked("cuMemUnmap") == [[BASE + GRANULE, 2 * GRANULE]]


def test_read_only_regions() -> None:
    library = FakeLibrary()
    Window(driver(library), 0, BASE, 1 << 30).map(5, BASE, 1, writable=False)
    assert library.calls[-1][3]._obj.flags == 1


@pytest.mark.parametrize("address", [BASE - GRANULE, BASE + (1 << 30), BASE + (1 << 30) - GRANULE + 1])
def test_addresses_outside_the_window_are_refused(address: int) -> None:
    library = FakeLibrary()
    window = Window(driver(library), 0, BASE, 1 << 30)
    with pytest.raises(OracleError) as raised:
        window.map(5, address, GRANULE, writable=True)
    assert raised.value.kind == "request" and not library.asked("cuMemMap")


def test_a_window_elsewhere_is_given_back() -> None:
    library = FakeLibrary(base=BASE + (1 << 40))
    with pytest.raises(OracleError) as raised:
        Window(driver(library), 0, BASE, 1 << 30)
    assert raised.value.kind == "machine" and len(library.asked("cuMemAddressFree")) == 1


def test_failures_leave_nothing_mapped() -> None:
    library = FakeLibrary(fail="cuMemSetAccess")
    window = Window(driver(library), 0, BASE, 1 << 30)
    with pytest.raises(OracleError, match="cuMemSetAccess: made to fail"):
        window.map(5, BASE, GRANULE, writable=True)
    assert len(library.asked("cuMemUnmap")) == 1 and len(library.asked("cuMemRelease")) == 1
    library = FakeLibrary(fail="cuMemMap")
    window = Window(driver(library), 0, BASE, 1 << 30)
    with pytest.raises(OracleError, match="cuMemMap"):
        window.map(5, BASE, GRANULE, writable=True)
    assert len(library.asked("cuMemRelease")) == 1


def test_structures_have_the_drivers_sizes() -> None:
    from solmark.oracle import cuda_vmm

    assert ctypes.sizeof(cuda_vmm._AccessDescription) == 12
    assert ctypes.sizeof(cuda_vmm._AllocationProperties) == 32
