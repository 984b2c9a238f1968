"""The judge's regions seen as torch tensors."""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import torch

from . import dtypes
from .cuda_vmm import Window
from .errors import OracleError


class _CudaBytes:
    """Device memory for torch.as_tensor, by the CUDA array interface."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "strides": None,
            "version": 3,
        }


class MappedRegions:
    """Regions that stay mapped until close(); tensors made from them die with them."""

    def __init__(
        self,
        regions: list[dict[str, Any]],
        descriptors: list[int],
        device: torch.device,
        window: Window | None,
    ) -> None:
        self._device = device
        self._window = window
        self._bytes: list[torch.Tensor] = []
        self._mapped: list[tuple[int, int]] = []
        try:
            for number, region in enumerate(regions):
                self._bytes.append(self._map(number, region, descriptors))
        except BaseException:
            self.close()
            raise

    def _map(self, number: int, region: dict[str, Any], descriptors: list[int]) -> torch.Tensor:
        index, size = int(region["fd"]), int(region["bytes"])
        if not 0 <= index < len(descriptors):
            raise OracleError("request", f"region {number} names descriptor {index}, which was not sent")
        fd = descriptors[index]
        writable = region.get("access", "rw") == "rw"
        if size == 0:
            return torch.empty(0, dtype=torch.uint8, device=self._device)
        if self._window is None:
            protection = mmap.PROT_READ | mmap.PROT_WRITE if writable else mmap.PROT_READ
            try:
                mapping = mmap.mmap(fd, size, mmap.MAP_SHARED, protection)
            except (OSError, ValueError) as error:
                raise OracleError("request", f"region {number} cannot be mapped: {error}") from error
            if not writable:
                return torch.frombuffer(bytearray(mapping), dtype=torch.uint8)
            return torch.frombuffer(mapping, dtype=torch.uint8)
        address = int(region["address"])
        self._mapped.append((address, self._window.map(fd, address, size, writable)))
        return torch.as_tensor(_CudaBytes(address, size), device=self._device)

    def finish(self) -> None:
        """Waits until everything written to the regions is there for other processes to see."""
        if self._window is not None:
            with contextlib.suppress(RuntimeError):  # told already by whoever caused it
                torch.cuda.synchronize(self._device)

    def close(self) -> None:
        self.finish()
        self._bytes.clear()
        for address, mapped in self._mapped:
            assert self._window is not None
            self._window.unmap(address, mapped)
        self._mapped.clear()

    def tensor(self, placement: dict[str, Any]) -> torch.Tensor:
        """The tensor that a placement describes (its own offset: slots are the judge's affair)."""
        name, shape = placement["name"], [int(size) for size in placement["shape"]]
        dtype = dtypes.from_name(placement["dtype"])
        if 0 in shape:
            return torch.empty(shape, dtype=dtype, device=self._device)
        number, offset = int(placement["region"]), int(placement["offset"])
        if not 0 <= number < len(self._bytes):
            raise OracleError("request", f"tensor {name} names region {number}, which was not sent")
        count = 1
        for size in shape:
            count *= size
        end = offset + count * dtype.itemsize
        if offset < 0 or end > self._bytes[number].numel():
            raise OracleError("request", f"tensor {name} ends at byte {end}, outside its region")
        return self._bytes[number][offset:end].view(dtype).reshape(shape)
