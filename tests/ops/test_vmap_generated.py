"""vmap of every op in the table, with every sample: values, gradients and second derivatives against a loop over
the batch.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.arrays.batched.array import DynamicShape, NotBatchable
from dualtape.func.vmap import vmap
from dualtape.ops.samples import Array, Sample
from duck_array import asarray as duck
from op_cases import cases, converted, leaves, mapped

COUNT = 3
# the shape of what they give depends on the values of this argument
DYNAMIC = {
    "nonzero": 0,
    "argwhere": 0,
    "masked_select": 1,
    "repeat_interleave": 1,
    "unique": 0,
    "unique_consecutive": 0,
}
NUMBERS = {"allclose", "equal"}  # they give Python numbers
ONCE = {"scale_grad_by_freq"}  # arguments that allow no second derivative
CASES = list(cases())
ids = [c[0] for c in CASES]


def every_case(keep: Any = lambda row, sample, first: True) -> Any:
    seen: set[str] = set()
    chosen = []
    for name, row, sample in CASES:
        if keep(row, sample, row.name not in seen):
            chosen.append(pytest.param(row, sample, id=name))
        seen.add(row.name)
    return pytest.mark.parametrize(("row", "sample"), chosen)


def variants(sample: Sample, dtype: Any, count: int, everything: bool) -> tuple[tuple, dict, list[list[np.ndarray]]]:
    """The sample's arguments, and several of its kind for each array among them that is differentiable (or for
    each).
    """
    rows: list[list[np.ndarray]] = []
    first: Any = None
    for seed in range(count):
        rng = np.random.default_rng(20240 + seed)
        result: list[np.ndarray] = []

        def make(described: Array, rng: Any = rng, result: list = result) -> np.ndarray:
            array = described.make(rng, dtype)
            if described.differentiable or everything:
                result.append(array)
            return array

        arguments = tuple(mapped(a, make) for a in sample.args), {k: mapped(v, make) for k, v in sample.kwargs.items()}
        first = arguments if first is None else first
        rows.append(result)
    return (*first, [list(column) for column in zip(*rows, strict=True)])


def as_function(row: Any, args: tuple, kwargs: dict, columns: list) -> Any:
    """The op as a function of tensors in the place of the first of each column; its results a tuple of tensors."""
    places = {id(column[0]): k for k, column in enumerate(columns)}

    def function(*tensors: Any) -> tuple:
        convert = lambda a: tensors[places[id(a)]] if id(a) in places else dt.from_numpy(a)
        return tuple(
            leaves(
                row.function(
                    *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
                )
            )
        )

    return function


def smooth(outs: Any, lead: int = 0) -> Any:
    """A smooth number of the differentiable results, with different weights; ``lead`` dimensions in front are
    summed.
    """
    total: Any = None
    for k, o in enumerate(outs):
        if isinstance(o, dt.Tensor) and o.requires_grad:
            shape = tuple(o.shape[lead:])
            weights = dt.from_numpy(np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape))
            term = (((o * o.conj()).real if o.is_complex() else o * o) * weights).sum() * (k + 1)
            total = term if total is None else total + term
    return total


def square(grads: Any) -> Any:
    terms = [
        ((g * g.conj()).real if g.is_complex() else g * g).sum() for g in grads if g is not None and g.requires_grad
    ]
    return sum(terms[1:], terms[0]) if terms else None


def same(ours: Any, expected: Any, what: str) -> None:
    if expected is None or ours is None:
        assert all(t is None or not t.detach().numpy().any() for t in (ours, expected)), what
        return
    a, b = ours.detach().numpy(), expected.detach().numpy()
    assert (a.shape, a.dtype) == (b.shape, b.dtype), what
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8, equal_nan=True, err_msg=what)


def gathered(parts: list, batched: bool) -> Any:
    if any(p is None for p in parts):
        return None
    return dt.stack(parts) if batched else sum(parts[1:], parts[0])


def compare(
    row: Any, sample: Sample, dtype: Any, chosen: Any = None, everything: bool = False, second: bool = True
) -> None:
    """Compare vmap over the arrays at the indices ``chosen`` (None: all) with a loop."""
    if row.name in NUMBERS:
        return
    args, kwargs, columns = variants(sample, dtype, COUNT, everything)
    if not columns:
        return
    function = as_function(row, args, kwargs, columns)
    over = [chosen is None or k in chosen for k in range(len(columns))]
    dims = tuple(0 if b else None for b in over)
    leaf = lambda a: dt.tensor(a, requires_grad=a.dtype.kind in "fc")
    stacks = [leaf(np.stack(c) if b else c[0]) for c, b in zip(columns, over, strict=True)]
    singles = [[leaf(c[i] if b else c[0]) for c, b in zip(columns, over, strict=True)] for i in range(COUNT)]
    at = DYNAMIC.get(row.name)
    if at is not None and at < len(columns) and over[at]:
        with pytest.raises(DynamicShape, match="dynamic shape"):
            vmap(function, dims)(*stacks)
        return
    loop = [function(*single) for single in singles]
    outs = vmap(function, dims, randomness="same")(*stacks)
    for k, out in enumerate(outs):
        same(out, dt.stack([result[k] for result in loop]), "forward")
    losses = [smooth(result) for result in loop]
    floats = [k for k, s in enumerate(stacks) if s.requires_grad]
    if losses[0] is None:
        return
    pick = lambda tensors: [tensors[k] for k in floats]
    expected = [
        dt.autograd.grad(loss, pick(single), create_graph=True, allow_unused=True)
        for loss, single in zip(losses, singles, strict=True)
    ]
    grads = dt.autograd.grad(smooth(outs, 1), pick(stacks), retain_graph=True, allow_unused=True)
    for i, k in enumerate(floats):
        same(grads[i], gathered([g[i] for g in expected], over[k]), "gradient")

    def inner(*tensors: Any) -> tuple:
        found = dt.autograd.grad(smooth(function(*tensors)), pick(tensors), allow_unused=True)
        return tuple(g for g in found if g is not None)

    per_sample = iter(vmap(inner, dims, randomness="same")(*stacks))
    for i in range(len(floats)):
        if expected[0][i] is not None:
            same(next(per_sample), dt.stack([g[i] for g in expected]), "gradient inside")
    if not second or ONCE & set(sample.kwargs):
        return
    recorded = dt.autograd.grad(smooth(outs, 1), pick(stacks), create_graph=True, allow_unused=True)
    if all(over) and square(recorded) is not None:
        again = dt.autograd.grad(square(recorded), pick(stacks), allow_unused=True)
        twice = [
            dt.autograd.grad(square(g), pick(s), allow_unused=True) for g, s in zip(expected, singles, strict=True)
        ]
        for i in range(len(floats)):
            same(again[i], gathered([h[i] for h in twice], True), "second derivative")


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "vmap: there is a performance drop")
        yield


@every_case()
def test_over_a_batch_an_op_gives_what_a_loop_gives(row: Any, sample: Sample) -> None:
    compare(row, sample, "complex128" if row.complex == "only" else "float64")


@every_case(lambda row, sample, first: row.complex is True and first)
def test_complex_batches(row: Any, sample: Sample) -> None:
    compare(row, sample, "complex128")


def several(row: Any, sample: Sample, first: bool) -> bool:
    return len(variants(sample, "float64", 1, True)[2]) > 1


@every_case(several)
def test_one_argument_in_a_batch_and_the_others_the_same_for_all(row: Any, sample: Sample) -> None:
    dtype = "complex128" if row.complex == "only" else "float64"
    for k in range(len(variants(sample, dtype, 1, True)[2])):
        compare(row, sample, dtype, {k}, everything=True, second=False)


@every_case(lambda row, sample, first: row.complex != "only" and row.name not in NUMBERS and row.name not in DYNAMIC)
def test_one_gradient_for_all_samples_of_what_was_computed_in_the_batch(row: Any, sample: Sample) -> None:
    args, kwargs, columns = variants(sample, "float64", 1, False)
    function = as_function(row, args, kwargs, columns)

    def gradients(factor: dt.Tensor, place: int, create_graph: bool) -> tuple:
        made = [dt.tensor(c[0]) * (factor if k == place else 1) for k, c in enumerate(columns)]
        made = [t.requires_grad_() if t.is_floating_point() else t for t in made]
        outs = [o for o in function(*made) if isinstance(o, dt.Tensor) and o.requires_grad and not o.is_complex()]
        asked = [t for t in made if t.requires_grad]
        starts = [dt.from_numpy(np.linspace(0.5, 1.5, o.numel()).reshape(tuple(o.shape))) for o in outs]
        found = dt.autograd.grad(outs, asked, starts, allow_unused=True, create_graph=create_graph) if outs else ()
        return tuple(g.detach() for g in found if g is not None)

    factors = dt.tensor([1.0, 0.75], dtype=dt.float64)
    for place in range(len(columns)):
        for create_graph in (False, True):
            loop = [gradients(factor, place, create_graph) for factor in factors]
            found = vmap(partial(gradients, place=place, create_graph=create_graph), randomness="same")(factors)
            for k, g in enumerate(found):
                same(g, dt.stack([one[k] for one in loop]), f"gradient {k}, recorded: {create_graph}")


def indexed(row: Any, sample: Sample, first: bool) -> bool:
    return len(variants(sample, "float64", 1, True)[2]) > len(variants(sample, "float64", 1, False)[2])


@every_case(indexed)
def test_indices_and_masks_that_differ_from_sample_to_sample(row: Any, sample: Sample) -> None:
    compare(row, sample, "complex128" if row.complex == "only" else "float64", everything=True)


@every_case(lambda row, sample, first: first and row.name not in NUMBERS and DYNAMIC.get(row.name) != 0)
def test_a_batch_of_batches(row: Any, sample: Sample) -> None:
    args, kwargs, columns = variants(sample, "complex128" if row.complex == "only" else "float64", 4, False)
    if not columns:
        pytest.skip("nothing can be mapped over")
    function = as_function(row, args, kwargs, columns)
    leaf = lambda a: dt.tensor(a, requires_grad=True)
    # the outer batch is dimension 1
    square_of = [leaf(np.stack([np.stack(c[:2]), np.stack(c[2:])], 1)) for c in columns]
    singles = [[leaf(c[i]) for c in columns] for i in range(4)]
    outs = vmap(vmap(function, randomness="same"), 1, randomness="same")(*square_of)
    loop = [function(*single) for single in singles]
    for k, out in enumerate(outs):
        same(out, dt.stack([dt.stack([loop[i + j][k] for j in range(2)]) for i in (0, 2)]), "forward")
    if smooth(outs, 2) is None:
        pytest.skip("no result is smooth")
    grads = dt.autograd.grad(smooth(outs, 2), square_of, allow_unused=True)
    expected = [
        dt.autograd.grad(smooth(result), single, allow_unused=True)
        for result, single in zip(loop, singles, strict=True)
    ]
    for k, grad in enumerate(grads):
        if grad is not None:
            same(grad, dt.stack([dt.stack([expected[i + j][k] for i in (0, 2)]) for j in range(2)]), "gradient")


@every_case(lambda row, sample, first: first and row.name not in NUMBERS and row.name not in DYNAMIC)
def test_batches_over_other_arrays(row: Any, sample: Sample) -> None:
    args, kwargs, columns = variants(sample, "complex128" if row.complex == "only" else "float64", 2, True)
    if not columns or any(isinstance(a, np.ndarray) for a in sample.args):
        pytest.skip("nothing can be mapped over")
    function = as_function(row, args, kwargs, columns)

    def run(place: Any) -> list:
        stacks = [dt.as_tensor(place(np.stack(c))) for c in columns]
        floats = [s.requires_grad_() for s in stacks if s._array.dtype.kind in "fc"]
        outs = vmap(function, randomness="same")(*stacks)
        total = square(outs)
        grads = () if total is None else dt.autograd.grad(total, floats, allow_unused=True)
        return [t.detach().cpu() for t in (*outs, *grads) if t is not None]

    for ours, expected in zip(run(duck), run(np.asarray), strict=True):
        same(ours, expected, "over other arrays")


def test_what_reads_values_says_so() -> None:
    x = dt.ones(3, 2)
    with pytest.raises(NotBatchable, match="data-dependent control flow"):
        vmap(lambda a: dt.allclose(a, a))(x)


# Ops that run once for each sample if all of their arguments are batched, and why.
SAMPLE_BY_SAMPLE = {
    "bincount": "how many bins there are is a value of the sample",
    "ctc_loss": "the recursion is over targets of different lengths",
    "embedding_renorm_": "rows are written in the order of the indices",
    "histc": "the bins of a sample depend on its values",
    "histogram": "the bins of a sample depend on its values",
    "histogramdd": "the bins of a sample depend on its values",
    "inverse_anyway": "LAPACK's routine takes one matrix",
    "masked_scatter": "which entry goes where is a value of the sample",
    "median_all": "of empty samples alone",
    "nanmedian_all": "of empty samples alone",
    "nn_embedding_bag": "the bags of a sample have lengths of their own",
    "nonzero_static": "which entries are not zero is a value of the sample",
    "one_hot": "without a number of classes alone",
    "repeat_interleave": "how often an entry is repeated is a value of the sample",
    "searchsorted": "NumPy's function takes one sequence",
    "segment_reduce": "the segments of a sample have lengths of their own",
}


def test_ops_that_run_sample_by_sample_are_listed_with_their_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dualtape.arrays.batched.array._warned", set())  # each is warned of once
    slow = set()
    for _, row, sample in CASES:
        args, kwargs, columns = variants(sample, np.float64, 2, True)
        if not columns:
            continue
        function = as_function(row, args, kwargs, columns)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                vmap(function)(*[dt.from_numpy(np.stack(column)) for column in columns])
            except Exception:  # of what batches refuse there are tests of their own
                continue
        if any("performance drop" in str(warning.message) for warning in found):
            slow.add(row.name)
    assert slow == set(SAMPLE_BY_SAMPLE)


def test_a_classifiers_gradients_of_each_sample_have_rules_for_batches() -> None:
    rng = np.random.default_rng(0)
    logits, targets = dt.from_numpy(rng.standard_normal((6, 4, 3))), dt.from_numpy(rng.integers(0, 3, (6, 4)))
    weight = dt.tensor([0.5, 1.0, 2.0], dtype=dt.float64)
    for options in ({}, {"weight": weight}, {"ignore_index": 1}, {"reduction": "sum"}, {"label_smoothing": 0.1}):
        loss = partial(dt.nn.functional.cross_entropy, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gradients, values = vmap(dt.func.grad_and_value(loss))(logits, targets)
            squares = vmap(dt.func.grad(lambda x, t, f=loss: dt.func.grad(f)(x, t).square().sum()))(logits, targets)
        for k in range(6):
            gradient, value = dt.func.grad_and_value(loss)(logits[k], targets[k])
            assert dt.allclose(values[k], value) and dt.allclose(gradients[k], gradient)
            expected = dt.func.grad(lambda x, t, f=loss: dt.func.grad(f)(x, t).square().sum())(logits[k], targets[k])
            assert dt.allclose(squares[k], expected)


def test_a_sample_whose_targets_are_all_ignored_has_no_mean() -> None:
    logits = dt.zeros(2, 2, 3)
    losses = vmap(dt.nn.functional.cross_entropy)(logits, dt.tensor([[-100, -100], [0, -100]]))
    assert losses[0].isnan() and not losses[1].isnan()


def test_a_batched_target_out_of_range_is_refused() -> None:
    with pytest.raises(IndexError, match="Target 3 is out of bounds for 3 classes"):
        vmap(dt.nn.functional.cross_entropy)(dt.zeros(2, 2, 3), dt.tensor([[0, 1], [2, 3]]))
