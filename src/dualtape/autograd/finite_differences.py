"""Compare derivatives of a function at a point with finite differences, and check the rules that every derivative
keeps.

Each input is perturbed in place, so that tensors that share its memory change with it, and the change of the outputs is
compared with the derivatives of reverse mode (and, on request, forward mode): entry by entry in slow mode, along one
random direction in fast mode. This module knows no ops and does not choose the checks.

Complex numbers are treated as pairs of reals. An input ``a + ib`` is perturbed along ``a`` and along ``b``, and for a
real ``L`` its gradient is ``dL/da + i dL/db``; a complex output is two real ones, selected by the output gradients
``1`` and ``1j``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

# While the package is being imported this name is still being filled; it is only read when a check runs.
import dualtape as dt

from .._progress import steps
from ..arrays import Absent
from ..errors import warn

if TYPE_CHECKING:
    from .._typing import Tensors, Tree
    from ..distributed.device_mesh import DeviceMesh

Tensor = Any  # whatever the public API calls a tensor


class GradcheckError(RuntimeError):
    """Raised if a derivative disagrees with finite differences or breaks a rule of derivatives."""

    __module__ = "dualtape.autograd.gradcheck"  # where users find it, and tracebacks show it


class _Probe:
    """The directions in which one tensor is perturbed or read: all entries, or one random direction."""

    def __init__(self, tensor: Tensor, rng: np.random.Generator | None) -> None:
        self.shape = tuple(tensor.shape)
        self.units: list[complex] = [1.0, 1.0j] if tensor.is_complex() else [1.0]
        self.random = None
        self.size, self.scale = tensor.numel(), 1.0
        if rng is not None:
            direction = rng.random(self.shape)
            self.random = direction / max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
            self.size, self.scale = 1, float(self.random.sum())

    def directions(self, unit: complex) -> Iterator[np.ndarray]:
        if self.random is not None:
            yield unit * self.random
            return
        for index in np.ndindex(*self.shape):
            direction = np.zeros(self.shape, dtype=type(unit))
            direction[index] = unit
            yield direction

    def read(self, values: np.ndarray) -> np.ndarray:
        """Return the components of ``values`` along the directions."""
        return values.ravel() if self.random is None else np.vdot(self.random, values).reshape(1)


class _Check:
    """A function at a point: its differentiable inputs and outputs, and the checks on them."""

    def __init__(
        self,
        func: Callable[..., Any],
        inputs: Tensors,
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
        check_dtypes: bool,
        fast: bool,
        mesh: DeviceMesh | None = None,
    ) -> None:
        self.func, self.args = func, _as_tuple(inputs)
        self.progress: bool | None = False
        self.eps, self.atol, self.rtol = eps, atol, rtol
        self.nondet_tol, self.check_dtypes = nondet_tol, check_dtypes
        self.mesh = mesh
        named = list(_named_inputs(self.args))
        _check_inputs(named)
        self.names = [name for name, _ in named]
        self.inputs = [tensor for _, tensor in named]
        results = _tensors(func(*self.args))
        self.kinds = _kinds(results)
        self.positions = [k for k, result in enumerate(results) if result.requires_grad]
        self.outputs = [results[k] for k in self.positions]
        self.probe(np.random.default_rng(0) if fast else None)

    def probe(self, rng: np.random.Generator | None) -> None:
        """Choose the directions and discard results for earlier ones."""
        self.fast = rng is not None
        self.input_probes = [_Probe(tensor, rng) for tensor in self.inputs]
        self.output_probes = [_Probe(output, rng) for output in self.outputs]
        self.found: dict[Any, list] = {}
        self.complaints: dict[int, str] = {}

    # -- values and first derivatives against finite differences -----------------------------------

    def jacobians(self, mode: str) -> None:
        """Compare each Jacobian (input directions x output directions) with the numerical one."""
        compare = self.reverse if mode == "reverse mode" else self.forward
        for j, moved in enumerate(self.input_probes):
            for i, read in enumerate(self.output_probes):
                atol = self.atol * moved.scale * read.scale
                for part, numerical, analytical in compare(i, j):
                    if not np.allclose(analytical, numerical, self.rtol, atol):
                        self.mismatch(mode, i, j, part, numerical, analytical)
            # What else was noticed about these gradients comes second: a wrong value says more.
            if j in self.complaints:
                raise GradcheckError(self.complaints[j])

    def each(self, compute: Callable[[int, np.ndarray], Any], probe: _Probe, unit: complex, name: str = "") -> list:
        """Return the results of ``compute`` for each direction of a probe, computed by this process or by all ranks of
        the mesh; with a ``name``, progress is shown.
        """
        directions = probe.directions(unit)
        if self.mesh is None:
            if name:
                directions = iter(steps(directions, f"gradcheck: {name}", self.progress, probe.size))
            return [compute(k, direction) for k, direction in enumerate(directions)]
        pairs = self.mesh._divided(lambda k, d: (compute(k, d), self.complaints), directions, probe.size)
        for _, complaints in pairs:
            self.complaints = {**complaints, **self.complaints}
        return [found for found, _ in pairs]

    def numerical(self, i: int, j: int, unit: complex) -> np.ndarray:
        key = ("numerical", j, unit)
        if key not in self.found:
            probe, tensor = self.input_probes[j], self.inputs[j]
            difference = lambda k, d: _central_difference(self.values, tensor, d, self.eps)
            moves = self.each(difference, probe, unit, self.names[j])
            self.found[key] = [
                _matrix([read.read(move[k]) for move in moves], probe.size, read.size)
                for k, read in enumerate(self.output_probes)
            ]
        return self.found[key][i]

    def values(self) -> list[np.ndarray]:
        """Return the differentiable outputs at the current inputs."""
        results = self.perturbed()
        return [_numpy(results[k]) for k in self.positions]

    def perturbed(self) -> tuple[Tensor, ...]:
        """Return all outputs at the current inputs; raise if their number, shapes or dtypes changed."""
        results = _tensors(self.func(*self.args))
        for what, before, now in zip(("number", "shapes", "dtypes"), self.kinds, _kinds(results), strict=True):
            if now != before:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what.rstrip('s')} when inputs are perturbed by"
                    f" {self.eps}, but got: {what} {before} and {now}. A function whose outputs change their form with"
                    " the values of its inputs is not differentiable: gradcheck it where they do not"
                )
        return results

    def reverse(self, i: int, j: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """Return numerical and analytical gradients, separately for the real and imaginary parts of a complex
        output.
        """
        output, moved = self.output_probes[i], self.input_probes[j]
        slopes = [self.numerical(i, j, unit) for unit in moved.units]
        for unit in output.units:
            parts = [slope.imag if unit == 1j else slope.real for slope in slopes]
            numerical = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
            rows = [found[j] for found in self.gradients(i, unit)]
            analytical = _matrix([moved.read(row) for row in rows], output.size, moved.size).T
            yield _part(output, unit, "output"), numerical, analytical

    def gradients(self, i: int, unit: complex) -> list[list[np.ndarray]]:
        """Return the gradients of all inputs for each output gradient; each is computed twice, to check that it
        repeats.
        """

        def compute(k: int, direction: np.ndarray) -> list[np.ndarray]:
            given = _tensor_like(self.outputs[i], direction)
            first = self.backward(self.outputs[i], given)
            second = self.backward(self.outputs[i], given)
            return [self.inspected(i, j, *both) for j, both in enumerate(zip(first, second, strict=True))]

        key = ("reverse", i, unit)
        if key not in self.found:
            self.found[key] = self.each(compute, self.output_probes[i], unit)
        return self.found[key]

    def backward(self, outputs: Tensors, given: Tensors, **options: bool) -> Sequence[Tensor | None]:
        return dt.autograd.grad(outputs, self.inputs, given, retain_graph=True, allow_unused=True, **options)

    def inspected(self, i: int, j: int, first: Tensor | None, second: Tensor | None) -> np.ndarray:
        tensor, where = self.inputs[j], f"of {self.names[j]} for output {self.positions[i]}"
        values = []
        for gradient in (first, second):
            values.append(np.zeros(tuple(tensor.shape)) if gradient is None else _numpy(gradient))
            if values[-1].shape != tuple(tensor.shape):
                raise GradcheckError(
                    f"The gradient {where} has shape {values[-1].shape}, the input {tuple(tensor.shape)}."
                )
            if self.check_dtypes and gradient is not None and gradient.dtype != tensor.dtype:
                self.complaints.setdefault(
                    j,
                    f"The gradient {where} has dtype {gradient.dtype}, the input {tensor.dtype}: "
                    "a backward has to return gradients in the dtype of the inputs.",
                )
        if not np.allclose(values[1], values[0], 0.0, self.nondet_tol, equal_nan=True):
            self.complaints.setdefault(
                j,
                f"Backward is not reentrant: two backward passes over the same graph gave gradients {where} "
                f"that differ by {np.abs(values[1] - values[0]).max()}; nondet_tol allows {self.nondet_tol}. "
                "Look for random numbers, for state that backward changes, for saved values it overwrites.",
            )
        return values[0]

    def forward(self, i: int, j: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """Return numerical derivatives and tangents, separately for the real and imaginary axes of a complex input."""
        output, moved = self.output_probes[i], self.input_probes[j]
        for unit in moved.units:
            rows = [found[i] for found in self.tangents(j, unit)]
            analytical = _matrix([output.read(row) for row in rows], moved.size, output.size)
            yield _part(moved, unit, "input"), self.numerical(i, j, unit), analytical

    def tangents(self, j: int, unit: complex) -> list[list[np.ndarray]]:
        """Return the tangents of all outputs for each direction of an input."""

        def compute(k: int, direction: np.ndarray) -> list[np.ndarray]:
            # The others get a tangent of zero rather than none: what none means is a check of its own.
            tangents = {id(tensor): dt.zeros_like(tensor) for tensor in self.inputs}
            tangents[id(self.inputs[j])] = _tensor_like(self.inputs[j], direction)
            return [_numpy(tangent) for tangent in self.push_forward(tangents)]

        key = ("forward", j, unit)
        if key not in self.found:
            self.found[key] = self.each(compute, self.input_probes[j], unit)
        return self.found[key]

    def push_forward(self, tangents: dict[int, Tensor]) -> list[Tensor]:
        """Return the tangents of the outputs, given tangents of some inputs by ``id``."""
        forward_ad = dt.autograd.forward_ad
        with forward_ad.dual_level():
            duals = {}
            for tensor in self.inputs:
                primal, tangent = tensor.detach().requires_grad_(), tangents.get(id(tensor))
                duals[id(tensor)] = primal if tangent is None else forward_ad.make_dual(primal, tangent)
            results = _tensors(self.func(*_replaced(self.args, duals)))
            found = [forward_ad.unpack_dual(results[k]) for k in self.positions]
            return [dt.zeros_like(dual.primal) if dual.tangent is None else dual.tangent for dual in found]

    def mismatch(self, mode: str, i: int, j: int, part: str, numerical: np.ndarray, analytical: np.ndarray) -> None:
        computed = "computed with forward mode " if mode.startswith("forward") else ""
        place = f"for output {self.positions[i]} with respect to {self.names[j]}"
        what = f"Jacobian {computed}mismatch {place} ({mode}{part})"
        if self.fast:
            self.probe(None)
            self.jacobians(mode)  # raises with the entries at fault, if it sees any
            raise GradcheckError(
                f"{what}: along random directions the derivative is {numerical.item()} numerically and "
                f"{analytical.item()} analytically, although entry by entry the Jacobians agree. Look for a "
                "derivative that is not linear in the gradient or tangent it gets, or loosen the tolerances."
            )
        with np.errstate(invalid="ignore"):
            excess = np.abs(analytical - numerical) - self.atol - self.rtol * np.abs(numerical)
        excess[np.isnan(excess)] = np.inf
        row, column = np.unravel_index(int(np.argmax(excess)), excess.shape)
        raise GradcheckError(
            f"{what}.\nWorst of the {int((excess > 0).sum())} wrong entries among {excess.size}: "
            f"d output{_index(column, self.outputs[i])} / d input{_index(row, self.inputs[j])} is "
            f"{numerical[row, column]} numerically and {analytical[row, column]} analytically; they may "
            f"differ by {self.atol} + {self.rtol} * abs(numerical).\n"
            f"Rows: entries of the input; columns: entries of the output.\n"
            f"numerical:\n{numerical}\nanalytical:\n{analytical}\n{_hint(numerical, analytical)}"
        )

    # -- rules that hold for any derivative --------------------------------------------------------

    def constancy(self) -> None:
        """Check that a function without differentiable outputs does not change with its inputs."""

        def values() -> list[np.ndarray]:
            return [_numpy(result) for result in self.perturbed()]

        for name, tensor, probe in zip(self.names, self.inputs, self.input_probes, strict=True):
            for direction in (d for unit in probe.units for d in probe.directions(unit)):
                for k, slope in enumerate(_central_difference(values, tensor, direction, self.eps)):
                    if slope.any():
                        raise GradcheckError(
                            "Numerical gradient for function expected to be zero: no output requires grad, "
                            f"yet output {k} changes with {name}. Look for .detach(), .data, .numpy() or "
                            "no_grad() on the way, or return an output that is meant to be differentiable."
                        )

    def zero_gradients(self) -> None:
        """Check that output gradients of zero give input gradients of zero."""
        what = "backward not multiplied by grad_output: for output gradients of zero, the gradient of"
        self.expect_zero(self.outputs, what, "")

    def undefined_gradients(self) -> None:
        """Check that undefined output gradients count as zeros, all at once and one at a time."""
        everywhere = range(len(self.outputs))
        for undefined in [everywhere] + [range(k, k + 1) for k in everywhere if len(everywhere) > 1]:
            results = _tensors(self.func(*self.args))
            outputs = [results[k] for k in self.positions]
            for k in undefined:
                outputs[k] = _without_gradient(outputs[k])
            where = "undefined output gradients (output " + ", ".join(str(self.positions[k]) for k in undefined) + ")"
            advice = (
                "Backward has to take an undefined output gradient (None, if they are not materialised) for "
                "zeros; check_undefined_grad=False leaves this check out."
            )
            try:
                self.expect_zero(outputs, f"For {where}, the gradient of", advice)
            except GradcheckError:
                raise
            except RuntimeError as error:
                raise GradcheckError(f"Backward failed for {where}: {error}. {advice}") from error

    def expect_zero(self, outputs: list[Tensor], what: str, advice: str) -> None:
        gradients = self.backward(outputs, [dt.zeros_like(output) for output in outputs])
        for name, gradient in zip(self.names, gradients, strict=True):
            if gradient is not None and _numpy(gradient).any():
                raise GradcheckError(f"{what} {name} is {gradient.detach()} and not zero. {advice}")

    def undefined_tangents(self) -> None:
        """Check that an input without a tangent counts as one with a tangent of zero."""
        rng = np.random.default_rng(0)
        for name, tensor in zip(self.names, self.inputs, strict=True):
            tangents = {id(other): _random_like(other, rng).detach() for other in self.inputs if other is not tensor}
            if tangents:
                undefined = self.push_forward(tangents)
                defined = self.push_forward({**tangents, id(tensor): dt.zeros_like(tensor)})
                what = f"If {name} has no tangent, forward mode gives"
                self.expect_same(what, undefined, "if it has a tangent of zero", defined)

    def batched_gradients(self) -> None:
        """Check a batch of output gradients against a loop over them."""
        rng = np.random.default_rng(0)
        for k, output in zip(self.positions, self.outputs, strict=True):
            rows = [_random_like(output, rng).detach() for _ in range(2)]
            try:
                batched = self.backward(output, dt.stack(rows), is_grads_batched=True)
            except RuntimeError as error:
                raise GradcheckError(f"Batched gradients of output {k} failed: {error}") from error
            for b, row in enumerate(rows):
                found = [None if gradient is None else gradient[b] for gradient in batched]
                what = f"Row {b} of a batch of gradients of output {k} gives"
                self.expect_same(what, found, "alone", self.backward(output, row))

    def batched_tangents(self) -> None:
        """Check ``vmap`` over forward mode against a loop."""
        rng = np.random.default_rng(0)
        for name, tensor in zip(self.names, self.inputs, strict=True):
            rows = [_random_like(tensor, rng).detach() for _ in range(2)]

            def outputs(primal: Tensor, replaced: int = id(tensor)) -> tuple[Tensor, ...]:
                results = _tensors(self.func(*_replaced(self.args, {replaced: primal})))
                return tuple(results[k] for k in self.positions)

            def push(tangent: Tensor, primal: Tensor = tensor) -> tuple[Tensor, ...]:
                return dt.func.jvp(outputs, (primal,), (tangent,))[1]

            try:
                batched = dt.func.vmap(push)(dt.stack(rows))
            except RuntimeError as error:
                raise GradcheckError(f"Batched tangents of {name} failed: {error}") from error
            for b, row in enumerate(rows):
                what = f"Row {b} of a batch of tangents of {name} gives"
                self.expect_same(
                    what, [tangent[b] for tangent in batched], "alone", self.push_forward({id(tensor): row})
                )

    def expect_same(
        self, what: str, found: Sequence[Tensor | None], otherwise: str, expected: Sequence[Tensor | None]
    ) -> None:
        for k, (one, other) in enumerate(zip(found, expected, strict=True)):
            a = np.zeros(()) if one is None else _numpy(one)
            b = np.zeros(()) if other is None else _numpy(other)
            if not np.allclose(a, b, self.rtol, self.atol):
                raise GradcheckError(f"{what} {a} (result {k}), but {otherwise} it gives {b}.")


# -- numbers ---------------------------------------------------------------------------------------


def _central_difference(
    values: Callable[[], list[np.ndarray]], tensor: Tensor, direction: np.ndarray, eps: float
) -> list[np.ndarray]:
    # The alias shares the memory but not the version: graphs that saved the input stay valid.
    data = tensor.data
    origin = _numpy(tensor)
    before = _tensor_like(tensor, origin)
    array, original, absent = data._array, before._array, isinstance(data._array, Absent)
    try:
        data.copy_(_tensor_like(tensor, origin + eps * direction))
        ahead = values()
        data.copy_(_tensor_like(tensor, origin - eps * direction))
        behind = values()
    finally:
        if absent:  # the class of the tensor has the memory
            data.copy_(before)
        else:
            array[...] = original  # without a call, after which an interrupt may come
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite will not compare as close
        return [(plus - minus) / (2 * eps) for plus, minus in zip(ahead, behind, strict=True)]


def _matrix(rows: list[np.ndarray], height: int, width: int) -> np.ndarray:
    return np.array(rows).reshape(height, width)  # the sizes matter where one of them is zero


def _part(probe: _Probe, unit: complex, what: str) -> str:
    if len(probe.units) == 1:
        return ""
    return f", {'imaginary' if unit == 1j else 'real'} part of the {what}"


def _index(flat: Any, tensor: Tensor) -> str:
    position = np.unravel_index(int(flat), tuple(tensor.shape)) if tensor.shape else ()
    return str([int(k) for k in position]) if position else ""


def _hint(numerical: np.ndarray, analytical: np.ndarray) -> str:
    if not np.isfinite(numerical).all():
        return "The function is not finite around this point: move the inputs away from the edge of its domain."
    if not analytical.any():
        return "The derivative is zero throughout: look for .detach(), .data or .numpy() on the way."
    if np.iscomplexobj(numerical) and np.allclose(analytical, numerical.conj(), 1e-3, 1e-5):
        return "The derivative is the conjugate of the right one: backward multiplies by conj(derivative)."
    largest = np.unravel_index(int(np.argmax(np.abs(numerical))), numerical.shape)
    factor = analytical[largest] / numerical[largest] if numerical[largest] else 1.0
    if not np.isclose(factor, 1.0, 1e-3) and np.allclose(analytical, factor * numerical, 1e-3, 1e-5):
        return f"The derivative is {factor:.4g} times the right one throughout: look for a factor."
    return (
        "Look at the formula for this input. If the two nearly agree, look at the precision of the inputs "
        "(float64 is needed) and for kinks of the function within eps of this point."
    )


# -- tensors in and out ----------------------------------------------------------------------------


def _as_tuple(values: Tree) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _tensors(results: Tree) -> tuple[Tensor, ...]:
    """Return the result of a function as a tuple of tensors."""
    results = _as_tuple(results)
    for k, result in enumerate(results):
        if not isinstance(result, dt.Tensor):
            raise TypeError(
                f"gradcheck expects a function that returns tensors, but output {k} is of type "
                f"{type(result).__name__}. Wrap the function to return a tensor or a tuple of tensors."
            )
    return results


def _kinds(results: Sequence[Tensor]) -> tuple:
    """Return the number of outputs, their shapes and their dtypes."""
    return len(results), [list(one.shape) for one in results], [one.dtype for one in results]


def _requiring_grad(results: Tree) -> list[Tensor]:
    return [result for result in _tensors(results) if result.requires_grad]


def _named_inputs(args: Sequence[Any], outer: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors that require grad in nested tuples and lists, with names such as ``input 1[0]``."""
    for k, arg in enumerate(args):
        name = f"{outer}[{k}]" if outer else f"input {k}"
        if isinstance(arg, (tuple, list)):
            yield from _named_inputs(arg, name)
        elif isinstance(arg, dt.Tensor) and arg.requires_grad:
            yield name, arg


def _replaced(args: tuple[Any, ...], replacements: dict[int, Tensor]) -> tuple[Any, ...]:
    """Return the same nested arguments with some tensors replaced."""

    def replaced(arg: Any) -> Any:
        if type(arg) in (tuple, list):
            return type(arg)(replaced(item) for item in arg)
        return replacements.get(id(arg), arg)

    return replaced(args)


def _check_inputs(named: list[tuple[str, Tensor]]) -> None:
    if not named:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them does. "
            "Create the inputs with requires_grad=True."
        )
    for name, tensor in named:
        if tensor.dtype not in (dt.float64, dt.complex128):
            warn(
                f"gradcheck: {name} requires gradient but has dtype {tensor.dtype}. Finite differences need "
                "float64 or complex128; in this precision the check is likely to fail.",
                UserWarning,
            )
        strides = zip(tensor.stride(), tensor.shape, strict=True)
        if tensor.numel() and any(stride == 0 and size > 1 for stride, size in strides):
            raise RuntimeError(
                f"gradcheck: {name} has a dimension with stride 0: its entries share memory and cannot be "
                "moved one at a time. Pass a copy, for instance x.detach().clone().requires_grad_()."
            )


def _numpy(tensor: Tensor) -> np.ndarray:
    """Return a copy of the values in double precision, so that differences are not rounded again."""
    if type(tensor._array) is Absent:  # its class tells them, one by one
        flat = [each.item() for each in tensor.detach().reshape(-1).unbind()]
        values = np.array(flat, tensor._array.dtype).reshape(tensor.shape)
    else:
        values = tensor.numpy(force=True)
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _tensor_like(tensor: Tensor, values: np.ndarray) -> Tensor:
    return dt.as_tensor(values, dtype=tensor.dtype, device=tensor.device)


def _random_like(tensor: Tensor, rng: np.random.Generator, non_contiguous: bool = False) -> Tensor:
    """Return random values between -1 and 1 that require grad, shaped like ``tensor``."""
    values = rng.uniform(-1, 1, (*tensor.shape, 2))
    if tensor.is_complex():
        values = values + 1j * rng.uniform(-1, 1, (*tensor.shape, 2))
    if non_contiguous:
        return _tensor_like(tensor, values)[..., 0].requires_grad_()
    return _tensor_like(tensor, values[..., 0].copy()).requires_grad_()


def _without_gradient(output: Tensor) -> Tensor:
    """Return the same values through a node whose backward gives an undefined gradient."""

    class Undefined(dt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> None:
            return None

    return Undefined.apply(output)
