"""Records the reference's OpGraph: at PyTorch's dispatcher, so that forward, backward and in-place work alike.

First on fake tensors (shapes only: any size costs nothing); where values decide shapes or control flow, on the
generated inputs.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map_only

from . import dtypes, light_dynamo, triton_calls
from .errors import OracleError, is_out_of_memory
from .graph import GraphBuilder, is_fake
from .inputs import InputSet, make_arguments, seed_everything
from .problem import Scalar, Workload
from .reference import Reference

_ATTENTION = "aten.scaled_dot_product_attention.default"
_ATTENTION_DEFAULTS = (None, 0.0, False)  # attn_mask, dropout_p, is_causal


@functools.cache
def _is_composite(func: torch._ops.OpOverload) -> bool:
    """True for an operation that exists only as others: in inference mode they arrive whole, elsewhere PyTorch has
    taken them apart already."""
    if str(func) == _ATTENTION:
        return False
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return has_kernel(func.name(), "CompositeImplicitAutograd") and not any(
        has_kernel(func.name(), key) for key in ("CPU", "CUDA")
    )


class Recorder(TorchDispatchMode):
    """Writes every dispatched operation into a GraphBuilder."""

    supports_higher_order_operators = True

    def __init__(self, graph: GraphBuilder, fake: FakeTensorMode | None = None) -> None:
        super().__init__()
        self.graph = graph
        self._fake = fake
        self.suspended = 0
        self._values_left: list[Any] = (
            []
        )  # encoded tensors whose values Python has read: item(), tolist(), numpy()

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """What is dispatched within is part of a composite that is recorded as one operation."""
        self.suspended += 1
        try:
            yield
        finally:
            self.suspended -= 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.suspended:
            return func(*args, **kwargs)
        if not isinstance(func, torch._ops.OpOverload):
            return self._higher_order(func, args, kwargs)
        if func.namespace == "prim":  # prim.device and the like: fake tensors asked about themselves
            return func(*args, **kwargs)
        if _is_composite(func):
            with self:
                return func.decompose(*args, **kwargs)
        return self._operation(func, args, kwargs)

    def _operation(self, func: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = str(func)
        if name in ("aten.lift_fresh.default", "aten.lift_fresh_copy.default") and not kwargs:
            result = func(*args)
            self._literal(args[0], result)
            return result
        if self._fake is not None:
            args, kwargs = tree_map_only(torch.Tensor, self._as_fake, (args, kwargs))
        positional, keywords, mutated = self._arguments(func, args, kwargs)
        given = {id(leaf) for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)}
        result = func(*args, **kwargs)
        self.append(name, positional, keywords, mutated, result, given)
        if name == "aten._local_scalar_dense.default":
            self.values_leave(args[0])
        return result

    def _as_fake(self, tensor: torch.Tensor) -> torch.Tensor:
        """A real tensor among fake ones is a constant: the same fake one each time, on the same storage of the graph,
        so that its views are seen to be views."""
        if is_fake(tensor):
            return tensor
        assert self._fake is not None
        fake = self._fake.from_tensor(tensor)
        self.graph.same_memory(tensor, fake)
        return fake

    def _literal(self, made: torch.Tensor, result: torch.Tensor) -> None:
        """torch.tensor([...]) and the like: `made` holds the values, `result` is what the program goes on with."""
        source = (
            made if not isinstance(made, torch._subclasses.FakeTensor) else getattr(made, "constant", None)
        )
        if self._values_left:  # it may have been made from those values
            self.graph.unseen(result, self._values_left)
        else:
            self.graph.constant(result, source)

    def values_leave(self, tensor: torch.Tensor) -> None:
        """Python reads the tensor's values: what is made from Python values later may depend on it. (Fake tensors
        have values only where they are constants.)"""
        encoded = self.graph.encode(tensor)
        if not is_fake(tensor) and encoded not in self._values_left:
            self._values_left.append(encoded)

    def _arguments(
        self, func: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any], list[int]]:
        """Encoded positional arguments (defaults filled in), keyword ones, and ids of those that are written."""
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        mutated: list[int] = []
        for index, parameter in enumerate(func._schema.arguments):
            if index < len(args):
                value = args[index]
            elif parameter.name in kwargs:
                value = kwargs[parameter.name]
            elif parameter.kwarg_only:
                continue
            else:
                value = parameter.default_value
            encoded = self.graph.encode(value)
            if parameter.kwarg_only:
                keywords[parameter.name] = encoded
            else:
                positional.append(encoded)
            if parameter.alias_info is not None and parameter.alias_info.is_write:
                mutated.extend(
                    self.graph.writes(t) for t in tree_leaves(value) if isinstance(t, torch.Tensor)
                )
        return positional, keywords, mutated

    def append(
        self,
        name: str,
        positional: list[Any],
        keywords: dict[str, Any],
        mutated: list[int],
        result: Any,
        given: set[int],
    ) -> None:
        leaves, _ = tree_flatten(result)
        outputs: list[int | None] = []
        value: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                outputs.append(self.graph.made(leaf, given))
            elif leaf is None:
                outputs.append(None)
            else:
                value.append(self.graph.encode(leaf))
        entry: dict[str, Any] = {"op": name, "args": positional}
        if keywords:
            entry["kwargs"] = keywords
        entry["outputs"] = outputs
        entry["mutates"] = mutated
        if value:
            entry["value"] = value[0] if len(value) == 1 else value
        self.graph.ops.append(entry)

    def _higher_order(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """flex_attention, cond, scan …: by their eager definition, whose operations are then recorded; if there is
        none, as one operation with its arguments and results."""
        eager = func.py_kernels.get(torch._C.DispatchKey.CompositeExplicitAutograd)
        if eager is not None:
            with self:
                return eager(*args, **kwargs)
        positional = [self.graph.encode(a) for a in args]
        keywords = {key: self.graph.encode(value) for key, value in kwargs.items()}
        given = {id(leaf) for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)}
        result = func(*args, **kwargs)
        self.append(f"higher_order.{func}", positional, keywords, [], result, given)
        return result


_READERS = (torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.tolist, torch.Tensor.data_ptr)


class _CallWatcher(TorchFunctionMode):
    """What is seen better at PyTorch's Python surface. Keeps scaled_dot_product_attention whole where no gradient is
    taken: what it decomposes into depends on the device, and its flags (is_causal, enable_gqa) say more than the
    pieces. And notices values that leave without being dispatched."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _READERS and not self._recorder.suspended:
            self._recorder.values_leave(args[0])
        if func is not torch.nn.functional.scaled_dot_product_attention or self._recorder.suspended:
            return func(*args, **kwargs)
        return self._attention(func, args, kwargs)

    def _attention(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
        given = dict(zip(names, args, strict=False)) | kwargs
        tensors = [v for v in given.values() if isinstance(v, torch.Tensor)]
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            return func(*args, **kwargs)
        graph = self._recorder.graph
        values = [given.pop(n) for n in names[:3]]
        values += [given.pop(n, default) for n, default in zip(names[3:], _ATTENTION_DEFAULTS, strict=True)]
        positional = [graph.encode(v) for v in values]
        keywords = {key: graph.encode(value) for key, value in given.items()}
        with self._recorder.pause():
            result = func(*args, **kwargs)
        self._recorder.append(_ATTENTION, positional, keywords, [], result, {id(t) for t in tensors})
        return result


# Tensors that were there when this was last looked for; gc.freeze() then took them out of gc.get_objects(), which
# would otherwise go through all of PyTorch for each workload.
_known_tensors: list[weakref.ref[torch.Tensor]] = []


def _existing_storages() -> dict[int, StorageWeakRef]:
    """Storages of all tensors that Python can reach now: constants, if the run uses them. The weak references keep
    the addresses from being used again."""
    alive = [known for known in _known_tensors if known() is not None]
    alive += [weakref.ref(item) for item in gc.get_objects() if issubclass(type(item), torch.Tensor)]
    _known_tensors[:] = alive
    gc.freeze()
    found = {}
    for known in alive:
        item = known()
        if item is None or item.layout != torch.strided:
            continue
        with contextlib.suppress(Exception):  # functorch wrappers and the like have no storage of their own
            storage = item.untyped_storage()
            found[storage._cdata] = StorageWeakRef(storage)
    return found


def _trace(
    reference: Reference,
    workload: Workload,
    arguments: list[Any],
    graph: GraphBuilder,
    fake: FakeTensorMode | None,
) -> None:
    for bound, value in zip(workload.inputs, arguments, strict=True):
        if isinstance(value, torch.Tensor):
            graph.add_input(bound.spec.name, value)
        else:
            graph.add_scalar_input(bound.spec.name, value)
    graph.before_run = _existing_storages()
    recorder = Recorder(graph, fake)
    with contextlib.ExitStack() as stack:
        # torch.compile'd parts run as plain PyTorch, whose operations can be seen.
        if not light_dynamo.active():
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.enter_context(triton_calls.intercept(recorder, launch=fake is None))
        if fake is not None:
            stack.enter_context(fake)
        stack.enter_context(_CallWatcher(recorder))
        stack.enter_context(recorder)
        result = reference.run(*arguments)
        values = reference.named_results(result)
        for value, output in zip(values, workload.outputs, strict=True):
            name, dtype = output.spec.name, output.spec.dtype
            if not isinstance(value, torch.Tensor):
                graph.outputs.append({"name": name, "scalar": graph.encode(value)})
                continue
            if tuple(value.shape) != output.shape:
                raise OracleError(
                    "shape",
                    f"output {name} has shape {list(value.shape)}, but {list(output.shape)} is declared",
                )
            if value.dtype != dtype and dtypes.FP4 not in (value.dtype, dtype):
                value = (value.detach() if value.requires_grad else value).to(dtype)
            graph.outputs.append({"name": name, "tensor": graph.use(value)})


def _fake_arguments(workload: Workload, device: torch.device, scalars: dict[str, Scalar]) -> list[Any]:
    """Within a FakeTensorMode: inputs of the declared shapes without memory."""
    arguments: list[Any] = []
    for bound in workload.inputs:
        if bound.shape is None:
            arguments.append(scalars[bound.spec.name])
        else:
            arguments.append(torch.empty(bound.shape, dtype=bound.spec.dtype, device=device))
    return arguments


def record(
    reference: Reference,
    workload: Workload,
    flags_watch: Callable[[str], Any],
    values_allowed: bool = True,
) -> dict[str, Any]:
    """The graph of one run on this workload. With `values_allowed`, a run that needs values gets them."""
    warnings: list[str] = []
    device = reference.problem.device
    seed = workload.last_seed if workload.last_seed is not None else 0
    scalars = _scalars(reference, workload, seed, values_allowed)
    reason = ""
    try:
        graph = _record_fake(reference, workload, scalars, seed, flags_watch)
        mode = "fake"
    except (
        Exception
    ) as error:  # noqa: BLE001 - whatever stops a run without values, the run with values decides
        if isinstance(error, OracleError) and error.kind in ("shape", "flags"):
            raise
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        if not values_allowed:
            raise OracleError("values", f"recording needs values: {reason}") from error
        graph = GraphBuilder(device)
        arguments = make_arguments(reference, workload, seed, warnings, keep=False)
        seed_everything(seed)
        with flags_watch("recording the reference"):
            _trace_real(reference, workload, arguments, graph)
        mode = "real"
    for text in warnings:
        graph.warn(text)
    head: dict[str, Any] = {"format": "solmark.opgraph", "version": 1, "definition": reference.problem.name}
    head |= {"axes": workload.axes, "mode": mode}
    if reason:
        head["mode_reason"] = reason
    return head | graph.finish()


def _record_fake(
    reference: Reference,
    workload: Workload,
    scalars: dict[str, Scalar],
    seed: int,
    flags_watch: Callable[[str], Any],
) -> GraphBuilder:
    """On fake tensors; once more with the real torch._dynamo where its stand-in may have made a difference."""
    stand_in = light_dynamo.active()
    try:
        seed_everything(seed)
        graph = GraphBuilder(reference.problem.device)
        fake = FakeTensorMode(allow_non_fake_inputs=True)
        with fake:
            arguments = _fake_arguments(workload, reference.problem.device, scalars)
        with flags_watch("recording the reference"):
            _trace(reference, workload, arguments, graph, fake)
        if not stand_in or not light_dynamo.touched():
            return graph
    except Exception:
        if not stand_in:
            raise
    light_dynamo.bring_in()
    return _record_fake(reference, workload, scalars, seed, flags_watch)


def _trace_real(reference: Reference, workload: Workload, arguments: list[Any], graph: GraphBuilder) -> None:
    from .errors import describe_exception

    try:
        _trace(reference, workload, arguments, graph, None)
    except OracleError:
        raise
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            raise OracleError("memory", f"recording needs more memory than there is: {error}") from error
        raise OracleError("reference", f"run failed: {describe_exception(error, reference.file)}") from error


def _scalars(
    reference: Reference, workload: Workload, seed: int, values_allowed: bool
) -> dict[str, Scalar]:
    """Values of the scalar inputs: those of the workload's sets if there were any."""
    if workload.drawn_scalars is not None:
        return workload.drawn_scalars
    if not any(i.shape is None for i in workload.inputs):
        return {}
    if all(i.source == "scalar" for i in workload.inputs if i.shape is None):
        return {i.spec.name: i.value for i in workload.inputs if i.value is not None}
    if not values_allowed:
        raise OracleError("values", "recording needs scalars that have not been drawn")
    return InputSet(reference, workload, seed, []).scalars()
