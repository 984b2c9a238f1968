"""Builds an OpGraph (schemas/opgraph.schema.json): storages, tensors as affine views of them, operations.

A storage is known by a weak reference to torch's storage object, which keeps its address from being used again
without keeping its memory. A tensor is known as a Python object while it lives, else by its view of its storage
(autograd hands out saved tensors as new objects).
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from . import dtypes

MAX_VALUES = 4096
_View = tuple[int, torch.dtype, tuple[int, ...], tuple[int, ...], int]


def encode_number(value: float) -> Any:
    return (
        value
        if math.isfinite(value)
        else {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    )


def is_fake(tensor: torch.Tensor) -> bool:
    from torch._subclasses.fake_tensor import FakeTensor

    return isinstance(tensor, FakeTensor)


class GraphBuilder:
    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.storages: list[dict[str, Any]] = []
        self.tensors: list[dict[str, Any]] = []
        self.ops: list[dict[str, Any]] = []
        self.inputs: list[dict[str, Any]] = []
        self.outputs: list[dict[str, Any]] = []
        self.warnings: list[str] = []
        self._storage_ids: dict[int, int] = {}  # address of torch's storage object -> id
        self._weak_storages: list[StorageWeakRef] = []
        self._by_object: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._by_view: dict[_View, int] = {}
        self.before_run: dict[int, StorageWeakRef] = {}  # storages that existed before the run
        self._dtypes: list[torch.dtype] = []
        self._written: set[int] = set()  # storages that an operation has written

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    # --- tensors -----------------------------------------------------------------------------------------------

    def _known_storage(self, tensor: torch.Tensor) -> int | None:
        return self._storage_ids.get(tensor.untyped_storage()._cdata)

    def _storage_id(self, tensor: torch.Tensor, role: str, name: str | None = None) -> int:
        storage = tensor.untyped_storage()
        known = self._storage_ids.get(storage._cdata)
        if known is not None:
            entry = self.storages[known]  # resize_ and out= can have made it larger
            entry["bytes"] = max(entry["bytes"], int(storage.nbytes()))
            return known
        number = len(self.storages)
        entry = {"id": number, "bytes": int(storage.nbytes()), "role": role}
        if name is not None:
            entry["name"] = name
        if tensor.device.type != self._device.type:
            entry["device"] = tensor.device.type
        self.storages.append(entry)
        self._storage_ids[storage._cdata] = number
        self._weak_storages.append(StorageWeakRef(storage))
        return number

    def _view(self, tensor: torch.Tensor, storage: int) -> _View:
        return (storage, tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())

    def _find(self, tensor: torch.Tensor) -> int | None:
        held = self._by_object.get(id(tensor))
        storage = self._known_storage(tensor)
        if storage is None:
            return None
        view = self._view(tensor, storage)
        # An object can be given another view (resize_, set_, .data =): it is trusted only while it fits.
        if held is not None and held[0]() is tensor and self._described(held[1]) == view:
            return held[1]
        return self._by_view.get(view)

    def _described(self, number: int) -> _View:
        entry = self.tensors[number]
        return (
            entry["storage"],
            self._dtypes[number],
            tuple(entry["shape"]),
            tuple(entry["strides"]),
            entry["offset"],
        )

    def _add(self, tensor: torch.Tensor, storage: int) -> int:
        number = len(self.tensors)
        self.tensors.append(
            {
                "id": number,
                "storage": storage,
                "dtype": dtypes.name_of(tensor.dtype),
                "shape": [int(n) for n in tensor.shape],
                "strides": [int(n) for n in tensor.stride()],
                "offset": int(tensor.storage_offset()),
            }
        )
        self._dtypes.append(tensor.dtype)
        self._by_object[id(tensor)] = (weakref.ref(tensor), number)
        self._by_view[self._view(tensor, storage)] = number
        return number

    def add_input(self, name: str, tensor: torch.Tensor) -> None:
        self.inputs.append(
            {"name": name, "tensor": self._add(tensor, self._storage_id(tensor, "input", name))}
        )

    def add_scalar_input(self, name: str, value: Any) -> None:
        self.inputs.append(
            {"name": name, "scalar": encode_number(value) if isinstance(value, float) else value}
        )

    def use(self, tensor: torch.Tensor) -> int:
        """The id of a tensor that an operation reads, or that is returned."""
        found = self._find(tensor)
        if found is not None:
            return found
        storage = self._known_storage(tensor)
        if storage is not None:  # another view of known memory, made where nothing is dispatched
            number = self._add(tensor, storage)
            if self.storages[storage]["role"] == "constant" and storage not in self._written:
                self._keep_values(number, tensor)
            return number
        constant = not is_fake(tensor) and tensor.untyped_storage()._cdata in self.before_run
        if not constant:
            return self.unseen(tensor, [])
        number = self._add(tensor, self._storage_id(tensor, "constant"))
        self._keep_values(number, tensor)
        return number

    def same_memory(self, known: torch.Tensor, other: torch.Tensor) -> None:
        """Makes `other`, a stand-in for `known`, another name of the same tensor."""
        number = self.use(known)
        storage = other.untyped_storage()
        if storage._cdata not in self._storage_ids:
            self._storage_ids[storage._cdata] = self.tensors[number]["storage"]
            self._weak_storages.append(StorageWeakRef(storage))
        self._by_object[id(other)] = (weakref.ref(other), number)

    def writes(self, tensor: torch.Tensor) -> int:
        """The id of a tensor that an operation writes."""
        number = self.use(tensor)
        self._written.add(self.tensors[number]["storage"])
        return number

    def unseen(self, tensor: torch.Tensor, sources: list[Any]) -> int:
        """A tensor from where nothing is dispatched, perhaps made from the encoded `sources`."""
        number = self._add(tensor, self._storage_id(tensor, "intermediate"))
        self.warn("a tensor was made outside of PyTorch's dispatcher: the operation that made it is unknown")
        self.ops.append({"op": "unknown", "args": list(sources), "outputs": [number], "mutates": []})
        return number

    def constant(self, tensor: torch.Tensor, values: torch.Tensor | None) -> int:
        """A tensor made from Python values; `values` is a real tensor that holds them."""
        found = self._find(tensor)
        if found is not None:
            return found
        number = self._add(tensor, self._storage_id(tensor, "constant"))
        if values is not None:
            self._keep_values(number, values)
        return number

    def made(self, tensor: torch.Tensor, given: set[int]) -> int:
        """The id of a result. A new one, unless it is one of the operation's own arguments (given: ids of objects)."""
        if id(tensor) in given:
            found = self._find(tensor)
            if found is not None:
                return found
        return self._add(tensor, self._storage_id(tensor, "intermediate"))

    def _keep_values(self, number: int, tensor: torch.Tensor) -> None:
        if (
            is_fake(tensor)
            or tensor.numel() > MAX_VALUES
            or tensor.dtype == dtypes.FP4
            or tensor.device.type == "meta"
        ):
            return
        with torch._C._DisableTorchDispatch():
            values = tensor.detach().cpu().reshape(-1)
            if values.dtype in dtypes.FP8:
                values = values.float()
            flat = values.tolist()
        encoded: list[Any] = []
        for value in flat:
            if isinstance(value, complex):
                encoded.append([encode_number(value.real), encode_number(value.imag)])
            else:
                encoded.append(encode_number(value) if isinstance(value, float) else value)
        self.tensors[number]["values"] = encoded

    # --- operations --------------------------------------------------------------------------------------------

    def encode(self, value: Any) -> Any:
        """An argument; tensors by id."""
        if isinstance(value, torch.Tensor):
            return {"t": self.use(value)}
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return encode_number(value)
        if isinstance(value, complex):
            return {"complex": [encode_number(value.real), encode_number(value.imag)]}
        if isinstance(value, (list, tuple)):
            return [self.encode(item) for item in value]
        if isinstance(value, torch.dtype):
            return {"dtype": dtypes.name_of(value)}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, (torch.memory_format, torch.layout)):
            return {"other": str(value).removeprefix("torch.")}
        return {"other": getattr(value, "__name__", type(value).__name__)}

    def finish(self) -> dict[str, Any]:
        graph: dict[str, Any] = {
            "device": self._device.type,
            "torch": torch.__version__,
            "storages": self.storages,
            "tensors": self.tensors,
            "ops": self.ops,
            "inputs": self.inputs,
            "outputs": self.outputs,
        }
        if self.warnings:
            graph["warnings"] = self.warnings
        return graph
