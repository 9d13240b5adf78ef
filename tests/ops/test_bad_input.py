"""Bad input: whatever is wrong with the arguments of a function, the error names the function or what was expected, in
the library's words, and nothing has changed.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from blocks import blocks
from dualtape import fft, linalg, special
from dualtape.nn import functional
from dualtape.ops import load_all
from same_program import Refused, needs_torch, outcome, programs, same, torch

RAW = re.compile(
    "has no attribute|object is not|object cannot be|not supported between|unsupported operand|must be real"
)
WORDED = re.compile(r"\w\(\)|\w: |argument|must|expect", re.IGNORECASE)
NO_FUNCTIONS = {"set_printoptions", "manual_seed", "seed", "set_rng_state", "call_inplace", "load_all"}
WRONG: list[tuple] = [(3,), (3, 3), ("a",), ("a", "b"), (None,), (None, None), ([],), (object(),)]
SHAPES = ((), (0,), (2, 0), (0, 2), (2, 3), (1, 1, 2, 2))
ARGUMENTS: list[tuple] = [
    (),
    ("a",),
    (object(),),
    (None, None),
    (0,),
    (0, 0),
    (-5,),
    (100,),
    (1.5,),
    ([9, 9],),
    ((0, 1, 2),),
    (2, 0),
    (-1, -1),
    (3, 3, 3),
    ({},),
]


@pytest.fixture(autouse=True)
def autocast_dtype() -> Iterator[None]:
    """Functions that set it are called with whatever they take."""
    before = dt.get_autocast_dtype("cpu")
    yield
    dt.set_autocast_dtype("cpu", before)


# They are on Tensor once dualtape.distributed.tensor is imported, and other tensors have no such attribute.
OF_SHARDED_TENSORS = {"full_tensor", "redistribute", "to_local"}


def functions() -> Iterator[tuple[str, Callable]]:
    load_all()
    for module in (dt, functional, linalg, special, fft):
        for name in sorted({*dir(module), *getattr(module, "__all__", ())} - NO_FUNCTIONS):
            value = getattr(module, name, None)
            if not name.startswith("_") and callable(value) and not isinstance(value, type):
                yield f"{module.__name__.rpartition('.')[2]}.{name}", value
    for name in dir(dt.Tensor):
        value = getattr(dt.Tensor, name, None)  # some are NumPy's, and say what to use
        if not name.startswith("_") and callable(value) and name not in OF_SHARDED_TENSORS:
            yield f"Tensor.{name}", value


def calls(name: str) -> Iterator[tuple]:
    if not name.startswith("Tensor."):
        yield from WRONG
    for shape in SHAPES:
        for rest in ARGUMENTS:
            yield (dt.ones(shape), *rest)
        for other in SHAPES:
            yield (dt.ones(shape), dt.ones(other))


FUNCTIONS = list(functions())


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_an_error_is_in_words_of_the_library_and_leaves_all_as_it_was(
    name: str, function: Callable, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name.endswith((".save", ".from_file")):  # which may make files
        monkeypatch.chdir(tmp_path_factory.mktemp("files"))
    for args in calls(name):
        before = [(a, a.clone(), a._version) for a in args if isinstance(a, dt.Tensor)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(*args)
        except Exception as error:
            text = f"{type(error).__name__}: {error} for {args}"
            assert not isinstance(error, (AttributeError, ZeroDivisionError, AssertionError, UnboundLocalError)), text
            assert not RAW.search(str(error)) or WORDED.search(str(error)), text
            assert str(error) not in ("tuple index out of range", "list index out of range"), text
            for tensor, old, version in before:
                assert tensor._version == version and dt.equal(tensor, old), text


REFUSED = programs(
    r"""
    torch.unbind(torch.tensor(1.0))
    torch.diag_embed(torch.tensor(1.0))
    torch.nn.functional.pixel_shuffle(torch.ones(1, 4, 2, 2), 0)
    torch.nn.functional.cross_entropy(torch.ones(2, 0), torch.tensor([0, 0]))
    torch.diag(3)
    torch.sum(torch.ones(2), "a")
    torch.ones(2).view_as(3)
    torch.ones(2).size("a")
    torch.rand_like(3)
    """
)


@needs_torch
@pytest.mark.parametrize("line", REFUSED)
def test_what_is_refused_is_refused_with_pytorchs_type(line: str) -> None:
    same(line)


def test_a_list_that_holds_itself_is_refused() -> None:
    data: list = []
    data.append(data)
    with pytest.raises(ValueError, match="too many dimensions 'list'"):
        dt.tensor(data)


def test_printing_costs_what_is_shown() -> None:
    assert repr(dt.zeros(1).expand(10**12)) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"
    assert repr(dt.zeros(1).expand(2, 10**12)).count("...") == 2


@pytest.mark.parametrize(
    "write", [lambda x: x.zero_(), lambda x: x.fill_(1), lambda x: x.add_(1), lambda x: x.__setitem__(0, 1.0)]
)
def test_a_write_to_read_only_memory_says_so(write: Callable[[Any], Any]) -> None:
    array = np.ones(3)
    array.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        write(dt.from_numpy(array))


WORDS = """
ag = torch.autograd
F = ag.Function
def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)
def made(forward, backward=lambda ctx, *g: g[0], **more):
    return type("Mine", (F,), dict(forward=staticmethod(forward), backward=staticmethod(backward), **{k: staticmethod(v) for k, v in more.items()}))
x, ones = leaf(1., 2.), torch.ones(2)
double = torch.ones(2, dtype=torch.float64, requires_grad=True)
"""

SAID = blocks(
    """
# directly access saved tensors after they have already been freed
y = x * x; y.sum().backward(); y.sum().backward()
# (or directly access saved tensors after they have already been freed)
y = x.exp(); y.sum().backward(); y.grad_fn._saved_result
# Output 0 of Unbind
a, b = (x * 1).unbind(); a.mul_(2)
# is a view and is being modified inplace. This view is the output of a function that returns multiple views
a, b = (x * 1).split(1); b.mul_(2)
# is a view and its base or another view of its base has been modified inplace. This view is the output of a function
z = x * 1; a, b = z.unbind(); z.mul_(2); a.grad_fn
# is a view and is being modified inplace. This view was created inside a custom Function (or because an input was
made(lambda ctx, x: x.view(2)).apply(x * 1).mul_(2)
# This view was created inside a custom Function
made(lambda ctx, x: x.view(2)).apply(torch.ones(2)).mul_(x)
# A view was created in no_grad mode and its base or another view of its base has been modified inplace with grad mode
z = torch.ones(2); y = made(lambda ctx, x: x.view(2)).apply(z); z.mul_(x); y.grad_fn
# This view was created inside a custom Function (or
made(lambda ctx, x: (v := x.view(2), ctx.mark_non_differentiable(v))[0]).apply(x * 1).mul_(2)
# A view was created in inference mode and its base or another view of its base has been modified inplace in normal mode
z = x * 1
with torch.inference_mode():
    v = z.view(2)
z.mul_(2); v + 1
# A view was created in inference mode and is being modified inplace in normal mode
with torch.inference_mode():
    v = x.view(2)
v.mul_(2)
# A view was created in no_grad mode and is being modified inplace with grad mode enabled
z = x * 1
with torch.no_grad():
    v = z.view(2)
v.mul_(2)
# which is output 0 of Add
y = x + 1; z = y * y; y.add_(1); z.sum().backward()
# which is output 0 of Exp
y = x.exp(); y.add_(1); y.sum().backward()
# is at version 1; expected version 0 instead
y = x.clone(); z = y.sin(); y.add_(1); z.sum().backward()
# The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior
ag.grad(x.sum(), [x, leaf(1.)])
# attempting to assign a gradient with dtype
x.grad = torch.ones(2, dtype=torch.float64)
# attempting to assign a gradient of size '[3]' to a tensor of size '[2]'
x.grad = torch.ones(3)
# assigned grad expected to be a Tensor or None but got grad of type int
x.grad = 3
# Mismatch in shape: grad_output[0] has a shape of
(x * 2).backward(torch.ones(3))
# Size([3]) and output[0] has a shape of
torch.func.vjp(lambda x: x, ones)[1](torch.ones(3))
# Mismatch in dtype: grad_output[0] has a dtype of
(x * 2).backward(torch.ones(2, dtype=torch.complex64))
# Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.
x.numpy()
# Can't detach views in-place. Use detach() instead
(x * 2)[0].detach_()
# Variable data has to be a tensor, but got int
x.data = 3
# requires_grad_(): argument 'requires_grad' (position 1) must be bool, not str
torch.ones(1).requires_grad_("a")
# Creating a Tensor subclass from a class that does not inherit from Tensor is not possible
x.as_subclass(int)
# a leaf Variable that requires grad is being used in an in-place operation
x.add_(1)
# a leaf Variable that requires grad has been used in an in-place operation
made(lambda ctx, x: (ctx.mark_dirty(x), x.add_(1))[1]).apply(x)
# Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace must all be outputs of the Function
made(lambda ctx, x: (ctx.mark_dirty(x), x * 2)[1]).apply(x * 1)
# mark_dirty can only accept variables, but argument
made(lambda ctx, x: (ctx.mark_dirty(3), x * 1)[1]).apply(x)
# mark_non_differentiable only accepts variable arguments, but
made(lambda ctx, x: (ctx.mark_non_differentiable(3), x * 1)[1]).apply(x)
# save_for_backward can only save variables, but argument 0 is of type int
made(lambda ctx, x: (ctx.save_for_backward(3), x * 2)[1]).apply(x)
# You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD
type("Mine", (F,), dict(forward=staticmethod(lambda ctx, x: x * 2))).apply(x).sum().backward()
# must implement the jvp function
torch.func.jvp(made(lambda x: x * 2, F.backward, setup_context=lambda ctx, i, o: None).apply, (ones,), (ones,))
# got an unexpected keyword argument 'k'
made(lambda x: x * 2, setup_context=lambda ctx, inputs, output: None).apply(x, k=3)
# expected Variable or None (got int)
made(lambda ctx, x: x * 2, lambda ctx, g: 3).apply(x).sum().backward()
# Jacobian computed with forward mode mismatch for output 0 with respect to input 0
ag.gradcheck(made(lambda ctx, x: x * 2, lambda ctx, g: g * 2, jvp=lambda ctx, t: t * 3).apply, (double,), check_forward_ad=True)
# Jacobian mismatch for output 0 with respect to input 0
ag.gradcheck(lambda x: x.detach() * x, (double,))
# vjp(f, *primals): Expected f to be a function that has non-empty output (got output =
torch.func.vjp(lambda x: (), ones)
# jvp(f, primals, tangents): Expected f to be a function that has non-empty output
torch.func.jvp(lambda x: (), (ones,), (ones,))
# Expected f to be a function that has non-empty output
torch.func.jacrev(lambda x: ())(ones)
# Vmap does not currently support same randomness with a batched tensor input
torch.vmap(lambda x: torch.ones(2).bernoulli_(x), randomness="same")(torch.ones(2, 2))
# Cannot ask for different inplace randomness on an unbatched tensor
torch.vmap(lambda x: torch.ones(2).bernoulli_(), randomness="different")(torch.ones(2, 2))
# The outputs must be computed in a differentiable manner from the input when running in strict mode
ag.functional.jacobian(lambda x: torch.ones(2), ones, strict=True)
# v has invalid size: should be
ag.functional.vjp(lambda x: x, ones, torch.ones(3))
# Entry 1 in v has invalid size: should be
ag.functional.vjp(lambda x: (x, x), ones, (ones, torch.ones(3)))
# is independent of the input. This is not allowed in strict mode
ag.functional.hvp(lambda x: x.sum(), ones, ones, strict=True)
# A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified
with ag.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
    x.clone().sin()
# Calling register_hooks on a saved tensor whose hooks have already been set
saved = (x * x).grad_fn._raw_saved_self
saved.register_hooks(lambda t: t, lambda t: t); saved.register_hooks(lambda t: t, lambda t: t)
# expected Variable, but hook returned 'int'
x.register_hook(lambda g: 3); x.sum().backward()
# has changed the size of value
x.register_hook(lambda g: torch.ones(3)); x.sum().backward()
# Multiple dispatch failed for
class Mine(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
torch.sin(ones.as_subclass(Mine))
# The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
ones + torch.ones(3)
# The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1
torch.ones(3) * torch.ones(2, 2)
# must match the size of tensor b (4) at non-singleton dimension 1
torch.maximum(torch.ones(2, 3), torch.ones(2, 4))
# mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)
torch.ones(2, 3) @ torch.ones(2, 3)
# index 5 is out of bounds for dimension 0 with size 2
ones[5]
# select(): index 5 out of range for tensor of size [2] at dimension 0
torch.select(ones, 0, 5)
# must be Tensor, not str
torch.add(ones, "a")
# argument 'input'
torch.sin(3)
# stack expects each tensor to be equal size, but got [1] at entry 0 and [2] at entry 1
torch.stack([torch.ones(1), ones])
# for tensor number 1 in the list
torch.cat([torch.ones(1, 2), torch.ones(2, 1)])
# expected sequence of length 1 at dim 1 (got 2)
torch.tensor([[1], [1, 2]])
"""
)


@pytest.mark.parametrize("program", SAID)
def test_a_refusal_has_the_words_that_people_search_for(program: str, request: pytest.FixtureRequest) -> None:
    kinds = []
    for library in (dt, torch):
        if library is None:
            continue
        found = outcome(WORDS + program, library)
        assert isinstance(found, Refused), f"{library.__name__} computes it"
        assert request.node.callspec.id in str(found.error), f"{library.__name__}: {found.error}"
        kinds.append(next(kind for kind in type(found.error).__mro__ if kind.__module__ == "builtins"))
    assert len(set(kinds)) == 1, kinds


@pytest.mark.parametrize(
    ("lose", "warns"),
    [
        (float, True),
        (complex, True),
        (math.sin, True),
        (lambda x: np.zeros(1).__setitem__(0, x), True),
        (int, False),
        (bool, False),
        (lambda x: x.item(), False),
        (lambda x: f"{x:.1f}", False),
        (lambda x: float(x.detach()), False),
        (dt.no_grad()(lambda x: float(x)), False),
    ],
)
def test_a_number_made_of_a_tensor_with_history_says_what_it_loses(lose: Any, warns: bool) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        lose(dt.ones((), requires_grad=True))
    assert bool(told) == warns
    assert all("Converting a tensor with requires_grad=True to a scalar" in str(each.message) for each in told)
    assert all(each.filename == __file__ for each in told)


def test_each_line_that_loses_history_says_so_once() -> None:
    x = dt.ones((), requires_grad=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            float(x)
        float(x)
    assert len(told) == 2


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: math.sin(x[0]), "lost their history"),
        (lambda x: x[0].item(), "lost their history"),
        (lambda x: np.ones(3).sum(), "lost their history"),
        (lambda x: np.array([x[0]]).sum(), "dualtape.numpy"),
    ],
)
def test_a_function_that_lost_the_history_of_its_arguments_is_told_how(f: Any, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        dt.func.grad(f)(np.ones(2))


@pytest.mark.parametrize(
    ("leaf", "words"), [(2, r"floating-point numbers, 2\.0"), ("a", "argnums"), (object(), "register")]
)
def test_what_cannot_be_differentiated_says_what_to_do(leaf: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dt.func.grad(lambda x: x)(leaf)
