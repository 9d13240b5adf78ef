"""Tensors are printed as PyTorch prints them: a table of known texts, and PyTorch itself if installed."""

import math
import threading

import numpy as np
import pytest

import dualtape as dt
from dualtape._tensor.printing import get_printoptions, printoptions, set_printoptions, tensor_repr, tensor_str

TABLE = [
    pytest.param(np.float32(3), {}, "tensor(3.)", id="a scalar"),
    pytest.param(np.float64(0.1), {}, "tensor(0.1000)", id="a fractional scalar"),
    pytest.param(np.int64(-7), {}, "tensor(-7)", id="an integer scalar"),
    pytest.param(np.bool_(True), {}, "tensor(True)", id="a boolean scalar"),
    pytest.param(np.complex64(1.5 - 2j), {}, "tensor(1.5000-2.j)", id="a complex scalar"),
    pytest.param(np.zeros(0), {}, "tensor([])", id="an empty vector"),
    pytest.param(np.zeros((0, 3)), {}, "tensor([])", id="an empty matrix"),
    pytest.param(np.array([1.0, 2.0, 3.0]), {}, "tensor([1., 2., 3.])", id="whole numbers"),
    pytest.param(np.array([1.0, 2.5, -3.25]), {}, "tensor([ 1.0000,  2.5000, -3.2500])", id="fractions"),
    pytest.param(np.array([0.1, 0.7], np.float32), {}, "tensor([0.1000, 0.7000])", id="float32 rounding"),
    pytest.param(np.array([1, -20, 300]), {}, "tensor([  1, -20, 300])", id="integers aligned"),
    pytest.param(np.array([True, False]), {}, "tensor([ True, False])", id="booleans aligned"),
    pytest.param(np.array([0.0, -0.0]), {}, "tensor([0., -0.])", id="negative zero"),
    pytest.param(
        np.array([1.0, np.nan, np.inf, -np.inf]),
        {},
        "tensor([1., nan, inf, -inf])",
        id="whole numbers among non-finite ones",
    ),
    pytest.param(
        np.array([1.5, np.nan, np.inf, -np.inf]),
        {},
        "tensor([1.5000,    nan,    inf,   -inf])",
        id="fractions among non-finite ones",
    ),
    pytest.param(np.array([np.nan, -np.inf]), {}, "tensor([nan, -inf])", id="only non-finite numbers"),
    pytest.param(np.array([1e-3, 1.5, 10.0]), {}, "tensor([1.0000e-03, 1.5000e+00, 1.0000e+01])", id="a wide range"),
    pytest.param(np.array([1.0, 2000.0]), {}, "tensor([1.0000e+00, 2.0000e+03])", id="whole numbers of a wide range"),
    pytest.param(np.array([1.0, 1000.0]), {}, "tensor([   1., 1000.])", id="a ratio of exactly a thousand"),
    pytest.param(np.array([1.5e8, 2e8]), {}, "tensor([1.5000e+08, 2.0000e+08])", id="a large number"),
    pytest.param(np.array([1e8]), {}, "tensor([100000000.])", id="exactly the largest fixed number"),
    pytest.param(np.array([1e-5, 2e-5]), {}, "tensor([1.0000e-05, 2.0000e-05])", id="small numbers"),
    pytest.param(np.array([1e-4]), {}, "tensor([0.0001])", id="exactly the smallest fixed number"),
    pytest.param(np.array([1e300, -1e-300]), {}, "tensor([ 1.0000e+300, -1.0000e-300])", id="huge numbers"),
    pytest.param(np.array([5e-324, 0.0]), {}, "tensor([4.9407e-324,  0.0000e+00])", id="subnormal numbers"),
    pytest.param(
        np.array([1 + 2j, -3.5 - 1j, 0j]),
        {},
        "tensor([ 1.0000+2.j, -3.5000-1.j,  0.0000+0.j])",
        id="complex numbers",
    ),
    pytest.param(
        np.array([complex(np.nan, -0.0), complex(1.5, -np.inf)]),
        {},
        "tensor([   nan-0.j, 1.5000-infj])",
        id="complex numbers, not finite",
    ),
    pytest.param(
        np.array([1e-6 + 1j, 1.0 + 2.5j]),
        {},
        "tensor([1.0000e-06+1.0000j, 1.0000e+00+2.5000j])",
        id="complex numbers of a wide range",
    ),
    pytest.param(np.arange(6.0).reshape(2, 3), {}, ("tensor([[0., 1., 2.],\n        [3., 4., 5.]])"), id="a matrix"),
    pytest.param(np.arange(3.0).reshape(3, 1), {}, ("tensor([[0.],\n        [1.],\n        [2.]])"), id="a column"),
    pytest.param(
        np.arange(8).reshape(2, 2, 2),
        {},
        ("tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])"),
        id="three dimensions",
    ),
    pytest.param(
        np.arange(4).reshape(2, 1, 2, 1),
        {},
        ("tensor([[[[0],\n          [1]]],\n\n\n        [[[2],\n          [3]]]])"),
        id="four dimensions",
    ),
    pytest.param(
        np.arange(40) / 8,
        {},
        (
            "tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000,\n"
            "        1.1250, 1.2500, 1.3750, 1.5000, 1.6250, 1.7500, 1.8750, 2.0000, 2.1250,\n"
            "        2.2500, 2.3750, 2.5000, 2.6250, 2.7500, 2.8750, 3.0000, 3.1250, 3.2500,\n"
            "        3.3750, 3.5000, 3.6250, 3.7500, 3.8750, 4.0000, 4.1250, 4.2500, 4.3750,\n"
            "        4.5000, 4.6250, 4.7500, 4.8750])"
        ),
        id="a wrapped row",
    ),
    pytest.param(
        np.arange(9) * (1.25 - 0.5j),
        {},
        (
            "tensor([ 0.0000+0.0000j,  1.2500-0.5000j,  2.5000-1.0000j,  3.7500-1.5000j,\n"
            "         5.0000-2.0000j,  6.2500-2.5000j,  7.5000-3.0000j,  8.7500-3.5000j,\n"
            "        10.0000-4.0000j])"
        ),
        id="a wrapped row of complex numbers",
    ),
    pytest.param(
        (np.arange(24) / 8).reshape(2, 12),
        {},
        (
            "tensor([[0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000,\n"
            "         1.1250, 1.2500, 1.3750],\n"
            "        [1.5000, 1.6250, 1.7500, 1.8750, 2.0000, 2.1250, 2.2500, 2.3750, 2.5000,\n"
            "         2.6250, 2.7500, 2.8750]])"
        ),
        id="a wrapped matrix",
    ),
    pytest.param(np.arange(1001), {}, "tensor([   0,    1,    2,  ...,  998,  999, 1000])", id="a summarised vector"),
    pytest.param(np.arange(7), {"threshold": 7}, "tensor([0, 1, 2, 3, 4, 5, 6])", id="not yet a summarised vector"),
    pytest.param(
        np.arange(1100.0).reshape(11, 100),
        {},
        (
            "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.7000e+01, 9.8000e+01,\n"
            "         9.9000e+01],\n"
            "        [1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.9700e+02, 1.9800e+02,\n"
            "         1.9900e+02],\n"
            "        [2.0000e+02, 2.0100e+02, 2.0200e+02,  ..., 2.9700e+02, 2.9800e+02,\n"
            "         2.9900e+02],\n"
            "        ...,\n"
            "        [8.0000e+02, 8.0100e+02, 8.0200e+02,  ..., 8.9700e+02, 8.9800e+02,\n"
            "         8.9900e+02],\n"
            "        [9.0000e+02, 9.0100e+02, 9.0200e+02,  ..., 9.9700e+02, 9.9800e+02,\n"
            "         9.9900e+02],\n"
            "        [1.0000e+03, 1.0010e+03, 1.0020e+03,  ..., 1.0970e+03, 1.0980e+03,\n"
            "         1.0990e+03]])"
        ),
        id="a summarised matrix",
    ),
    pytest.param(
        np.arange(1400.0).reshape(2, 7, 100),
        {"edgeitems": 1},
        (
            "tensor([[[   0.,  ...,   99.],\n"
            "         ...,\n"
            "         [ 600.,  ...,  699.]],\n"
            "\n"
            "        [[ 700.,  ...,  799.],\n"
            "         ...,\n"
            "         [1300.,  ..., 1399.]]])"
        ),
        id="one summarised dimension",
    ),
    pytest.param(
        np.where(np.arange(1001) == 500, 0.5, 1.0),
        {},
        "tensor([1., 1., 1.,  ..., 1., 1., 1.])",
        id="a summary that hides the odd one",
    ),
    pytest.param(np.arange(8.0), {"edgeitems": 0, "threshold": 4}, "tensor([...])", id="no edge items"),
    pytest.param(np.array([np.pi, np.e]), {"precision": 8}, "tensor([3.14159265, 2.71828183])", id="precision"),
    pytest.param(np.array([1.5, 2.5]), {"precision": 0}, "tensor([2, 2])", id="no precision"),
    pytest.param(np.array([1.0, 2.0]), {"sci_mode": True}, "tensor([1.0000e+00, 2.0000e+00])", id="always scientific"),
    pytest.param(
        np.array([0.0, np.nan]),
        {"sci_mode": True},
        "tensor([0., nan])",
        id="always scientific, but nothing to decide",
    ),
    pytest.param(
        np.array([1e-9, 1e5]),
        {"sci_mode": False},
        "tensor([     0.0000, 100000.0000])",
        id="never scientific",
    ),
    pytest.param(
        np.arange(5.0) / 4,
        {"linewidth": 20},
        ("tensor([0.0000,\n        0.2500,\n        0.5000,\n        0.7500,\n        1.0000])"),
        id="narrow lines",
    ),
    pytest.param(
        np.arange(3.0),
        {"linewidth": 1},
        ("tensor([0.,\n        1.,\n        2.])"),
        id="lines too narrow for anything",
    ),
    pytest.param(
        np.arange(2000.0) / 8,
        {"profile": "short"},
        "tensor([0.00e+00, 1.25e-01,  ..., 2.50e+02, 2.50e+02])",
        id="the short profile",
    ),
    pytest.param(
        np.array([np.pi]),
        {"profile": "short", "precision": 6},
        "tensor([3.141593])",
        id="a profile with an exception",
    ),
]


@pytest.mark.parametrize(("array", "options", "text"), TABLE)
def test_values_have_a_known_text(array, options, text):
    with printoptions(**options):
        assert tensor_str(np.asarray(array)) == text


def test_the_full_profile_prints_every_element():
    with printoptions(profile="full"):
        text = tensor_str(np.arange(5000))
    assert "..." not in text
    assert [int(number) for number in text[len("tensor([") : -len("])")].split(",")] == list(range(5000))


def test_an_infinite_line_width_never_wraps():
    with printoptions(linewidth=math.inf):
        assert "\n" not in tensor_str(np.arange(900.0) / 8, suffixes=["grad_fn=<DivBackward0>"])


def test_rows_align_after_a_longer_prefix():
    assert tensor_str(np.eye(2), prefix="Named(") == "Named([[1., 0.],\n       [0., 1.]])"


def test_suffixes_move_to_a_new_line_where_the_line_would_become_too_long():
    row = np.arange(18) / 8
    assert tensor_str(row, suffixes=["dtype=dualtape.float64", "grad_fn=<DivBackward0>"]).splitlines() == [
        "tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000,",
        "        1.1250, 1.2500, 1.3750, 1.5000, 1.6250, 1.7500, 1.8750, 2.0000, 2.1250],",
        "       dtype=dualtape.float64, grad_fn=<DivBackward0>)",
    ]


def test_printing_leaves_the_array_alone_and_raises_no_warning():
    array = np.array([[np.nan, np.inf], [1e300, 5e-324]])
    array.flags.writeable = False
    assert tensor_str(array.T).startswith("tensor([[")


class TestOptions:
    def test_leaving_the_block_restores_every_option(self):
        before = get_printoptions()
        with printoptions(profile="short", sci_mode=True, linewidth=33):
            assert get_printoptions() == {
                "precision": 2,
                "threshold": 1000,
                "edgeitems": 2,
                "linewidth": 33,
                "sci_mode": True,
            }
        assert get_printoptions() == before

    def test_an_error_in_the_block_restores_every_option(self):
        before = get_printoptions()
        with pytest.raises(KeyError), printoptions(precision=1, sci_mode=False):
            raise KeyError
        assert get_printoptions() == before

    def test_blocks_nest(self):
        with printoptions(precision=2):
            with printoptions(sci_mode=True):
                assert tensor_str(np.array([0.5])) == "tensor([5.00e-01])"
            assert tensor_str(np.array([0.5])) == "tensor([0.50])"

    def test_leaving_out_sci_mode_resets_it(self):
        with printoptions(sci_mode=True):
            set_printoptions(precision=1)
            assert tensor_str(np.array([0.5])) == "tensor([0.5])"

    def test_the_options_returned_are_a_copy(self):
        get_printoptions()["precision"] = 9
        assert tensor_str(np.array([0.5])) == "tensor([0.5000])"

    def test_an_unknown_option_is_refused(self):
        with pytest.raises(TypeError, match="colour"), printoptions(colour=True):
            pass

    def test_options_hold_for_all_threads(self):
        found = []
        with printoptions(precision=1):
            thread = threading.Thread(target=lambda: found.append(tensor_str(np.array([0.5]))))
            thread.start()
            thread.join()
        assert found == ["tensor([0.5])"]


class TestSuffixes:
    def test_the_default_dtypes_are_not_named(self):
        for values in ([1.0], [1], [True], [1j]):
            assert "dtype" not in repr(dt.tensor(values))

    def test_other_dtypes_are_named(self):
        assert repr(dt.tensor([1.0], dtype=dt.float64)) == "tensor([1.], dtype=dualtape.float64)"
        assert repr(dt.tensor([1], dtype=dt.int32)) == "tensor([1], dtype=dualtape.int32)"
        assert repr(dt.tensor([1], dtype=dt.uint8)) == "tensor([1], dtype=dualtape.uint8)"
        assert repr(dt.tensor([1j], dtype=dt.complex128)) == "tensor([0.+1.j], dtype=dualtape.complex128)"

    def test_the_default_dtype_decides_what_is_named(self):
        before = dt.get_default_dtype()
        try:
            dt.set_default_dtype(dt.float64)
            assert repr(dt.tensor([1.0], dtype=dt.float64)) == "tensor([1.])"
            assert repr(dt.tensor([1j], dtype=dt.complex128)) == "tensor([0.+1.j])"
            assert repr(dt.tensor([1.0], dtype=dt.float32)) == "tensor([1.], dtype=dualtape.float32)"
            assert repr(dt.tensor([1j], dtype=dt.complex64)) == "tensor([0.+1.j], dtype=dualtape.complex64)"
        finally:
            dt.set_default_dtype(before)

    def test_an_empty_tensor_tells_its_size_and_its_dtype(self):
        assert repr(dt.zeros(0)) == "tensor([])"
        assert repr(dt.zeros(0, 3)) == "tensor([], size=(0, 3))"
        assert repr(dt.zeros(0, dtype=dt.int64)) == "tensor([], dtype=dualtape.int64)"
        assert repr(dt.zeros(2, 0, dtype=dt.bool)) == "tensor([], size=(2, 0), dtype=dualtape.bool)"

    def test_without_edge_items_the_size_is_told(self):
        with printoptions(edgeitems=0, threshold=2):
            assert repr(dt.zeros(3)) == "tensor([...], size=(3,))"
            assert repr(dt.zeros(())) == "tensor(0., size=())"

    def test_a_leaf_says_that_it_requires_grad(self):
        assert repr(dt.ones(2, requires_grad=True)) == "tensor([1., 1.], requires_grad=True)"

    def test_a_result_names_its_node_instead(self):
        x = dt.ones(2, requires_grad=True)
        assert repr(x * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)"
        assert repr((x * 2).detach()) == "tensor([2., 2.])"

    def test_the_dtype_comes_before_the_node(self):
        x = dt.ones(2, dtype=dt.float64, requires_grad=True)
        assert repr(x * 2) == "tensor([2., 2.], dtype=dualtape.float64, grad_fn=<MulBackward0>)"

    def test_str_is_repr(self):
        x = dt.tensor([[1.0, 2.5]])
        assert str(x) == repr(x) == "tensor([[1.0000, 2.5000]])"

    def test_printing_a_non_contiguous_view_shows_its_own_elements(self):
        assert repr(dt.arange(6).reshape(2, 3).t()) == "tensor([[0, 3],\n        [1, 4],\n        [2, 5]])"

    def test_a_subclass_is_printed_under_its_own_name(self):
        Marked = type("Marked", (dt.Tensor,), {})
        x = Marked([[1.0, 2.0], [3.0, 4.0]])
        assert type(x) is Marked
        assert repr(x) == "Marked([[1., 2.],\n        [3., 4.]])"

    def test_a_device_other_than_the_cpu_comes_first(self, monkeypatch):
        x = dt.ones(2, dtype=dt.float64)
        monkeypatch.setattr(dt.Tensor, "device", property(lambda self: dt.device("cuda", 0)))
        assert repr(x) == "tensor([1., 1.], device='cuda:0', dtype=dualtape.float64)"

    def test_a_history_that_cannot_be_computed_does_not_keep_a_tensor_from_printing(self, monkeypatch):
        def refuse(self):
            raise RuntimeError("this view is no longer valid")

        x = dt.ones(2, requires_grad=True)
        monkeypatch.setattr(dt.Tensor, "grad_fn", property(refuse))
        assert repr(x) == "tensor([1., 1.], grad_fn=<Invalid>)"

    def test_other_contents_can_stand_in_for_the_values(self):
        assert tensor_repr(dt.ones(2, requires_grad=True), tensor_contents="?") == "tensor(?, requires_grad=True)"

    @pytest.mark.skipif(not hasattr(dt.autograd, "forward_ad"), reason="needs autograd.forward_ad")
    def test_a_dual_tensor_shows_its_tangent(self):
        forward_ad = dt.autograd.forward_ad
        with forward_ad.dual_level():
            x = forward_ad.make_dual(dt.ones(2), dt.tensor([3.0, 4.0]))
            assert repr(x) == "tensor([1., 1.], tangent=tensor([3., 4.]))"
            assert repr(x * 2) == "tensor([2., 2.], tangent=tensor([6., 8.]))"
        assert repr(x) == "tensor([1., 1.])"


# ---------------------------------------------------------------------------------------------------------
# PyTorch itself
# ---------------------------------------------------------------------------------------------------------

DTYPES = "float16 float32 float64 complex64 complex128 int8 int16 int32 int64 uint8 bool".split()


def random_reals(rng, shape):
    """Numbers of every magnitude and kind, but of one kind at a time: the kind decides the style."""
    values = rng.standard_normal(shape)
    kinds = {
        "whole": lambda: np.round(values * rng.choice([1, 10, 500])),
        "ordinary": lambda: values,
        "huge": lambda: values * 10.0 ** rng.integers(0, 300),
        "small": lambda: values * 10.0 ** -rng.integers(0, 300),
        "mixed": lambda: values * 10.0 ** rng.integers(-8, 8, shape),
        "zeros": lambda: values * 0,
        "large whole": lambda: np.round(values * 10.0 ** rng.integers(0, 12)),
        "subnormal": lambda: values * 5e-324,
        "borders": lambda: rng.choice([1e8, 1e-4, 1000.0, 1.0, 1e5, 1e8 + 1, 1.5, 0.1, 1.0001e-4], shape),
    }
    values = np.array(kinds[rng.choice(list(kinds))](), dtype=np.float64)
    if rng.random() < 0.4:
        for special in (np.nan, np.inf, -np.inf, -0.0, 0.0):
            values[rng.random(shape) < rng.choice([0, 0.1, 0.5])] = special
    return values


def random_array(rng):
    dtype = np.dtype(rng.choice(DTYPES))
    shape = tuple(int(rng.choice([0, 1, 2, 3, 5, 8, 13, 40])) for _ in range(rng.integers(0, 5)))
    shape = shape if math.prod(shape) <= 4000 else shape[:2]
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < rng.choice([0, 0.5, 1]))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = (limits.min, limits.max) if rng.random() < 0.5 else (max(limits.min, -5), 20)
        return np.asarray(rng.integers(low, high, shape, dtype=dtype, endpoint=True))
    with np.errstate(over="ignore", under="ignore"):
        if dtype.kind == "f":
            return random_reals(rng, shape).astype(dtype)
        array = np.empty(shape, dtype)
        array.real, array.imag = random_reals(rng, shape), random_reals(rng, shape)
        return array


def random_options(rng):
    choices = {
        "precision": lambda: int(rng.integers(0, 9)),
        "threshold": lambda: int(rng.choice([0, 1, 5, 20, 100])),
        "edgeitems": lambda: int(rng.integers(0, 5)),
        "linewidth": lambda: int(rng.integers(1, 150)),
        "sci_mode": lambda: [True, False, None][rng.integers(3)],
        "profile": lambda: ["default", "short", "full", "unheard of"][rng.integers(4)],
    }
    return {name: choose() for name, choose in choices.items() if rng.random() < 0.4}


@pytest.mark.parametrize("seed", range(20))
def test_random_tensors_are_printed_as_pytorch_prints_them(seed):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    for _ in range(60):
        array, options = random_array(rng), random_options(rng)
        theirs, ours = torch.tensor(array), dt.tensor(array)
        if array.dtype.kind in "fc" and rng.random() < 0.4:
            theirs.requires_grad_()
            ours.requires_grad_()
            if rng.random() < 0.5:
                theirs, ours = theirs.clone(), ours.clone()
        with torch._tensor_str.printoptions(**options):
            expected = repr(theirs)
        # With dtype names of another length, lines would break at other columns.
        with printoptions(**options), pytest.MonkeyPatch.context() as patch:
            patch.setattr(dt.dtype, "__repr__", lambda self: f"torch.{self.name}")
            assert repr(ours) == expected, (array, options)
