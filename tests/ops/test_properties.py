"""The properties of a tensor: reading, writing and deleting each, on every kind of tensor, as PyTorch does."""

from __future__ import annotations

import warnings

import pytest

import dualtape as dt
from tests.blocks import blocks
from tests.same_program import needs_torch, same

KINDS = {
    "leaf": "x = torch.ones(2, 2, requires_grad=True)",
    "result": "x = torch.ones(2, 2, requires_grad=True) * 2",
    "plain": "x = torch.ones(2, 2)",
    "integer": "x = torch.ones(2, 2, dtype=torch.int64)",
    "complex": "x = torch.ones(2, 2, dtype=torch.complex64, requires_grad=True)",
    "vector": "x = torch.ones(2, requires_grad=True)",
    "view": "b = torch.ones(2, 2, requires_grad=True) * 2; x = b[:]",
}
READ_ONLY = (
    "grad_fn",
    "is_leaf",
    "output_nr",
    "dtype",
    "device",
    "layout",
    "shape",
    "ndim",
    "itemsize",
    "nbytes",
    "T",
    "H",
    "mT",
    "mH",
    "is_sparse",
    "is_sparse_csr",
    "is_quantized",
    "is_meta",
    "is_cuda",
    "is_cpu",
    "is_mps",
    "is_xpu",
    "is_mkldnn",
    "is_nested",
    "is_vulkan",
    "is_mtia",
    "is_ipu",
    "is_xla",
    "is_maia",
    "name",
    "_version",
    "_base",
    "retains_grad",
    "__cuda_array_interface__",
    "_has_symbolic_sizes_strides",
)
WRITABLE = ("data", "grad", "requires_grad", "real", "imag", "grad_dtype", "volatile", "_grad_fn")
VALUES = (
    "None",
    "True",
    "0",
    "torch.ones(2)",
    "torch.ones(2, 2)",
    "torch.ones(2, 2, dtype=torch.float64)",
    "torch.ones(2, 2, dtype=torch.int64)",
    "'a'",
    "torch.float64",
    "()",
    "x",
    "{}",
)
CRASHES = ("real", "imag", "grad_dtype")  # deleting one of these ends PyTorch's process
SHOW = """
def show(value):
    if hasattr(value, "next_functions"):
        return value.name()
    return str(value).rpartition(".")[2] if "layout" in type(value).__name__ else value
"""


@needs_torch
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*READ_ONLY, *WRITABLE])
def test_reading(name, kind):
    """Reading a property gives PyTorch's value or PyTorch's error."""
    same(f"{SHOW}{KINDS[kind]}\nshow(x.{name})")


@needs_torch
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", READ_ONLY)
def test_what_cannot_be_written_or_deleted(name, kind):
    """Writing and deleting a read-only property raise as in PyTorch."""
    for value in ("None", "True", "x"):
        same(f"{KINDS[kind]}\nx.{name} = {value}")
    same(f"{KINDS[kind]}\ndel x.{name}")


@needs_torch
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WRITABLE)
def test_writing(name, kind):
    """Writing a property changes what it changes in PyTorch, or raises the same error."""
    for value in VALUES:
        same(f"{SHOW}{KINDS[kind]}\nx.{name} = {value}\nshow(x.{name}), x.requires_grad, x.dtype, x.shape, x._version")


@needs_torch
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WRITABLE)
def test_deleting(name, kind):
    """Deleting a property does what it does in PyTorch."""
    if name not in CRASHES:
        same(f"{SHOW}{KINDS[kind]}\ndel x.{name}\nshow(x.{name})")


PROGRAMS = """
# deleting a gradient
x = torch.ones(2, requires_grad=True)
x.sum().backward()
del x.grad
x.grad

# gradients in another dtype
x = torch.ones(2, requires_grad=True)
x.grad_dtype = torch.float64
(x * 2).sum().backward()
x.grad, torch.autograd.grad((x * 2).sum(), x)[0]

# grad_dtype after the graph was made
x = torch.ones(2, requires_grad=True)
y = x * 2
x.grad_dtype = torch.float64
y.sum().backward()
x.grad

# grad_dtype None takes any
class Wide(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, g):
        return g.double()
x = torch.ones(2, requires_grad=True)
x.grad_dtype = None
Wide.apply(x).sum().backward()
x.grad, x.grad_dtype

# grad_dtype of a leaf that is differentiated itself
x = torch.ones(2, requires_grad=True)
x.grad_dtype = torch.float64
x.backward(torch.ones(2))
x.grad, torch.autograd.grad(x, x, torch.ones(2))[0]

# grad_dtype None of a leaf that is differentiated itself
x = torch.ones(1, requires_grad=True)
x.grad_dtype = None
one, = torch.autograd.grad(x, x)
x.backward(torch.ones(1, dtype=torch.float64))
x.grad, one

# grad_dtype and assignment of gradients
x = torch.ones(2, requires_grad=True)
x.grad_dtype = torch.float64
x.grad = torch.ones(2)

# grad_dtype while there is another gradient
x = torch.ones(2, requires_grad=True)
x.grad = torch.ones(2)
x.grad_dtype = torch.float64

# hooks as a dictionary
x = torch.ones(2, requires_grad=True)
before = x._backward_hooks
handle = x.register_hook(lambda g: g * 2)
count = len(x._backward_hooks)
x._backward_hooks = {1: lambda g: g * 5}
x.sum().backward()
before, count, x.grad

# hooks read back as they were set
from collections import OrderedDict
x = torch.ones(2, requires_grad=True)
y, n = x * 1, torch.ones(2)
found = []
for t in (x, y, n):
    hooks = t._backward_hooks = OrderedDict()
    found.append(t._backward_hooks is hooks)
x._backward_hooks[5] = lambda g: g * 7
y.sum().backward()
found, x.grad

# hooks of a result as a dictionary
x = torch.ones(2, requires_grad=True)
y = x * 1
y.register_hook(lambda g: g * 3)
y.sum().backward()
len(y._backward_hooks), x.grad

# taking all hooks away
x = torch.ones(2, requires_grad=True)
x.register_hook(lambda g: g * 2)
x._backward_hooks = None
x.sum().backward()
x.grad, x._backward_hooks

# hooks after accumulation, as a dictionary
x = torch.ones(2, requires_grad=True)
seen = []
x.register_post_accumulate_grad_hook(lambda p: seen.append(1))
x.sum().backward()
seen, len(x._post_accumulate_grad_hooks), torch.ones(2)._post_accumulate_grad_hooks

# deleting hooks
x = torch.ones(2, requires_grad=True)
del x._backward_hooks

# deleting hooks after accumulation
x = torch.ones(2, requires_grad=True)
del x._post_accumulate_grad_hooks

# forgetting the history by _grad_fn
x = torch.ones(2, requires_grad=True)
y = x * 2
y._grad_fn = None
y.is_leaf, y.requires_grad

# writing the real and the imaginary part
x = torch.zeros(2, dtype=torch.complex64)
x.real = torch.ones(2)
x.imag = 3
x, x._version

# writing the real part of a real tensor
x = torch.zeros(2)
x.real = torch.ones(2)
x

# the data of a tensor is replaced
x = torch.ones(2, requires_grad=True)
x.data = torch.zeros(3)
y = (x * 2).sum()
y.backward()
x, x.grad, x._version

# data has a counter of its own
x = torch.ones(2, requires_grad=True)
x.data.add_(1)
x, x._version, x.data.requires_grad

# attributes of the user's own
x = torch.ones(2)
x.colour = "red"
x.colour, hasattr(x, "size_of_nothing")

# attributes that do not exist
torch.ones(2).size_of_nothing

# transposes of matrices and batches
x = torch.arange(6.).reshape(2, 3)
b = torch.arange(12.).reshape(2, 2, 3)
x.T, x.H, x.mT, x.mH, b.mT, b.mH

# transposes of a vector
torch.ones(2).mT

# H of a batch
torch.ones(2, 2, 2).H

# H of complex numbers
torch.tensor([[1 + 2j, 3j]]).H

# the view that T gives
x = torch.ones(2, 3, requires_grad=True)
y = x.T
y._base is x, y.grad_fn.name(), x.mT.grad_fn.name()

# deep copies
x = torch.ones(2, requires_grad=True)
x.grad = torch.zeros(2)
x.colour = ["red"]
y = copy.deepcopy(x)
y.grad, y.colour, y.colour is x.colour, y.requires_grad

# a deep copy of a result
copy.deepcopy(torch.ones(2, requires_grad=True) * 2)

# output numbers
x = torch.ones(3, requires_grad=True)
[p.output_nr for p in x.unbind()]

# sizes in bytes
[(torch.ones(2, 3, dtype=d).itemsize, torch.ones(2, 3, dtype=d).nbytes) for d in (torch.float32, torch.float64, torch.bool, torch.complex64)]
"""


@needs_torch
@pytest.mark.parametrize("program", blocks(PROGRAMS))
def test_as_pytorch(program):
    """What properties do together."""
    same(program)


def test_volatile_warns():
    """It was removed, and says so."""
    x = dt.ones(2)
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert x.volatile is False
    with pytest.warns(UserWarning, match="no effect"):
        x.volatile = True


def test_hooks_must_be_a_dictionary():
    """PyTorch takes anything, and fails in backward."""
    x = dt.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="dictionary"):
        x._backward_hooks = True


def test_reading_properties_warns_of_nothing():
    """No property but volatile, and grad of a result, has anything to say."""
    x = dt.ones(2, 2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in (*READ_ONLY, *WRITABLE):
            if name not in ("volatile", "__cuda_array_interface__", "imag"):
                getattr(x, name)


def test_a_parameter_class_may_have_arguments_of_its_own():
    """Its ``__new__`` takes them; nothing else asks for them."""

    class Scaled(dt.nn.Parameter):
        def __new__(cls, data, scale, *, name="none"):
            new = super().__new__(cls, data * scale)
            new.name_of = name
            return new

    p = Scaled(dt.ones(2), 3.0, name="weight")
    assert p.tolist() == [3.0, 3.0] and p.name_of == "weight" and p.requires_grad and type(p) is Scaled
