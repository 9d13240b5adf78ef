"""What ``gradcheck`` accepts, and above all what it catches: each wrong derivative here must be found out."""

import itertools
import warnings

import numpy as np
import pytest

import dualtape as dt
from dualtape.autograd import gradcheck, gradgradcheck
from dualtape.autograd.gradcheck import GradcheckError
from same_program import needs_torch, same

MODES = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])


def real(*shape, seed=0, requires_grad=True):
    values = np.random.default_rng(seed).uniform(0.5, 1.5, shape)
    return dt.tensor(values, dtype=dt.float64, requires_grad=requires_grad)


def cplx(*shape, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.5, 1.5, shape) + 1j * rng.uniform(0.5, 1.5, shape)
    return dt.tensor(values, dtype=dt.complex128, requires_grad=True)


def function(forward, backward, **extra):
    """A custom function of the inputs, with a backward that also gets the saved inputs."""

    def run(ctx, *inputs):
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(extra.get("materialize", True))
        return forward(*inputs)

    def run_backward(ctx, *gradients):
        return backward(*gradients, *ctx.saved_tensors)

    members = {"forward": staticmethod(run), "backward": staticmethod(run_backward)}
    if "jvp" in extra:
        members["jvp"] = staticmethod(lambda ctx, *tangents: extra["jvp"](*tangents))
    return type("Custom", (dt.autograd.Function,), members).apply


@MODES
class TestAccepts:
    def test_a_right_gradient(self, fast_mode):
        assert gradcheck(lambda x: (x * x).sum(), (real(3),), fast_mode=fast_mode) is True

    def test_a_single_tensor_or_a_list_for_the_inputs(self, fast_mode):
        assert gradcheck(lambda x: x * 2, real(3), fast_mode=fast_mode)
        assert gradcheck(lambda x, y: x * y, [real(3), real(3, seed=1)], fast_mode=fast_mode)

    def test_a_list_of_outputs(self, fast_mode):
        assert gradcheck(lambda x: [x * x, x.sum()], (real(2, 3),), fast_mode=fast_mode)

    def test_scalars_and_empty_tensors(self, fast_mode):
        assert gradcheck(lambda x: x * x, (real(),), fast_mode=fast_mode)
        assert gradcheck(lambda x: x * x, (real(0),), fast_mode=fast_mode)
        assert gradcheck(lambda x: (x.sum(), x * 2), (real(0, 3),), fast_mode=fast_mode)

    def test_arguments_that_are_not_differentiated(self, fast_mode):
        constant = real(3, requires_grad=False)
        assert gradcheck(
            lambda x, n, c, none, k: x**n * c * k["factor"],
            (real(3), 3, constant, None, {"factor": 2}),
            fast_mode=fast_mode,
        )

    def test_outputs_that_are_not_differentiable(self, fast_mode):
        assert gradcheck(lambda x: (x * 2, x.argmax(), x.detach() * 3), (real(3),), fast_mode=fast_mode)

    def test_a_function_that_is_constant_where_no_output_requires_grad(self, fast_mode):
        assert gradcheck(lambda x: x.argmax(), (real(3),), fast_mode=fast_mode)
        assert gradcheck(lambda x: (), (real(3),), fast_mode=fast_mode)

    def test_an_input_that_is_not_used(self, fast_mode):
        assert gradcheck(lambda x, y: x * 2, (real(3), real(2)), fast_mode=fast_mode)

    def test_an_input_that_is_returned(self, fast_mode):
        assert gradcheck(lambda x: x, (real(3),), fast_mode=fast_mode)

    def test_views_of_an_input(self, fast_mode):
        assert gradcheck(lambda x: (x[0], x.reshape(6), x.t()), (real(2, 3),), fast_mode=fast_mode)

    def test_the_same_tensor_twice(self, fast_mode):
        x = real(3)
        assert gradcheck(lambda x, y: x * y * y, (x, x), fast_mode=fast_mode)

    def test_an_input_that_the_function_also_knows_from_outside(self, fast_mode):
        x = real(3)
        assert gradcheck(lambda y: x * y, (x,), fast_mode=fast_mode)

    def test_an_input_that_is_a_result_itself(self, fast_mode):
        assert gradcheck(lambda x: x * x, (real(3) * 2,), fast_mode=fast_mode)

    def test_inputs_that_are_not_contiguous(self, fast_mode):
        x = real(3, 2, requires_grad=False).t().requires_grad_()
        y = real(4, requires_grad=False)[::2].requires_grad_()
        assert gradcheck(lambda x, y: x.sum(1) * y, (x, y), fast_mode=fast_mode)

    def test_a_function_that_writes_in_place_to_a_copy(self, fast_mode):
        assert gradcheck(lambda x: x.clone().mul_(2), (real(3),), fast_mode=fast_mode)

    @pytest.mark.parametrize(
        "func",
        [
            pytest.param(lambda z: z * z, id="holomorphic"),
            pytest.param(lambda z: z.conj() * (2 - 1j), id="antiholomorphic"),
            pytest.param(lambda z: z * z * z.conj(), id="neither"),
            pytest.param(lambda z: z.real * z.imag, id="complex to real"),
            pytest.param(lambda z: (z.abs(), z * 1j), id="mixed outputs"),
        ],
    )
    def test_complex_functions(self, func, fast_mode):
        assert gradcheck(func, (cplx(3),), fast_mode=fast_mode)

    def test_a_real_input_with_a_complex_output(self, fast_mode):
        assert gradcheck(lambda x: x * (1 + 2j), (real(3),), fast_mode=fast_mode)

    def test_real_and_complex_inputs_together(self, fast_mode):
        assert gradcheck(lambda x, z: x * z, (real(3), cplx(3)), fast_mode=fast_mode)

    def test_tensors_in_nested_tuples(self, fast_mode):
        assert gradcheck(
            lambda pair, z: pair[0] * pair[1][0] * z,
            ((real(3), [real(3, seed=1)]), real(3)),
            fast_mode=fast_mode,
        )


@MODES
class TestCatches:
    def test_a_wrong_factor(self, fast_mode):
        wrong = function(lambda x: x * x, lambda g, x: 3 * g * x)
        with pytest.raises(GradcheckError, match="output 0 with respect to input 0"):
            gradcheck(wrong, (real(3),), fast_mode=fast_mode)

    def test_a_single_wrong_entry(self, fast_mode):
        bump = dt.tensor([[0, 0, 0], [0, 1e-2, 0]], dtype=dt.float64)
        wrong = function(lambda x: x * 2, lambda g, x: g * (2 + bump))
        with pytest.raises(GradcheckError):
            gradcheck(wrong, (real(2, 3),), fast_mode=fast_mode)

    def test_which_output_and_which_input(self, fast_mode):
        wrong = function(lambda x: x * 2, lambda g, x: g)
        with pytest.raises(GradcheckError, match="output 2 with respect to input 1"):
            gradcheck(lambda x, y: (x * y, y.argmax(), wrong(y)), (real(3), real(3)), fast_mode=fast_mode)

    def test_a_wrong_gradient_of_a_nested_input(self, fast_mode):
        wrong = function(lambda x: x * 2, lambda g, x: g)
        with pytest.raises(GradcheckError, match=r"input 1\[0\]"):
            gradcheck(lambda x, pair: x * wrong(pair[0]), (real(3), (real(3), 5)), fast_mode=fast_mode)

    def test_a_gradient_that_gets_lost(self, fast_mode):
        with pytest.raises(GradcheckError, match="Jacobian mismatch"):
            gradcheck(lambda x: x * x.detach(), (real(3),), fast_mode=fast_mode)

    def test_all_gradients_lost(self, fast_mode):
        with pytest.raises(GradcheckError, match="expected to be zero"):
            gradcheck(lambda x: x.detach() * 2, (real(3),), fast_mode=fast_mode)

    def test_the_same_under_no_grad(self, fast_mode):
        with dt.no_grad(), pytest.raises(GradcheckError, match="no_grad"):
            gradcheck(lambda x: x * 2, (real(3),), fast_mode=fast_mode)

    def test_a_missing_conjugate(self, fast_mode):
        wrong = function(lambda z: z * z, lambda g, z: 2 * g * z)
        with pytest.raises(GradcheckError, match="conjugate"):
            gradcheck(wrong, (cplx(3),), fast_mode=fast_mode)

    def test_a_conjugate_too_many(self, fast_mode):
        wrong = function(lambda z: z.conj(), lambda g, z: g)
        with pytest.raises(GradcheckError):
            gradcheck(wrong, (cplx(3),), fast_mode=fast_mode)

    def test_a_missing_conjugate_with_a_real_input(self, fast_mode):
        wrong = function(lambda x: x * (1 + 2j), lambda g, x: (g * (1 + 2j)).real)
        with pytest.raises(GradcheckError, match="imaginary part of the output"):
            gradcheck(wrong, (real(3),), fast_mode=fast_mode)

    def test_a_gradient_along_the_real_axis_only(self, fast_mode):
        wrong = function(lambda z: z.real * z.imag, lambda g, z: g * z.imag + 0j)
        with pytest.raises(GradcheckError):
            gradcheck(wrong, (cplx(3),), fast_mode=fast_mode)

    def test_a_backward_that_is_not_deterministic(self, fast_mode):
        rng = np.random.default_rng(0)
        shaky = function(lambda x: x * 2, lambda g, x: g * (2 + 1e-6 * rng.random()))
        with pytest.raises(GradcheckError, match="not reentrant"):
            gradcheck(shaky, (real(3),), fast_mode=fast_mode)
        assert gradcheck(shaky, (real(3),), nondet_tol=1e-5, fast_mode=fast_mode)

    def test_a_function_that_is_not_deterministic(self, fast_mode):
        rng = np.random.default_rng(0)
        with pytest.raises(GradcheckError):
            gradcheck(lambda x: x * rng.random(), (real(3),), fast_mode=fast_mode)

    def test_a_backward_that_fails_on_undefined_gradients(self, fast_mode):
        def backward(g, x):
            if g is None:
                raise RuntimeError("nothing came")
            return g * 2

        fragile = function(lambda x: x * 2, backward, materialize=False)
        with pytest.raises(GradcheckError, match="undefined output gradients.*nothing came"):
            gradcheck(fragile, (real(3),), fast_mode=fast_mode)
        assert gradcheck(fragile, (real(3),), check_undefined_grad=False, fast_mode=fast_mode)

    def test_a_backward_that_invents_gradients_for_undefined_ones(self, fast_mode):
        def backward(g, x):
            return dt.ones_like(x) if g is None else g * 2

        inventive = function(lambda x: x * 2, backward, materialize=False)
        with pytest.raises(GradcheckError, match="undefined output gradients.*not zero"):
            gradcheck(inventive, (real(3),), fast_mode=fast_mode)
        assert gradcheck(inventive, (real(3),), check_undefined_grad=False, fast_mode=fast_mode)

    def test_a_backward_that_is_wrong_for_one_undefined_gradient_among_several(self, fast_mode):
        def backward(g, h, x):
            if g is None and h is None:
                return None
            if h is None and not (g != 0).any():
                return dt.ones_like(x)
            return (0 if g is None else g * 2) + (0 if h is None else h * 3)

        picky = function(lambda x: (x * 2, x * 3), backward, materialize=False)
        with pytest.raises(GradcheckError, match=r"undefined output gradients \(output 1\)"):
            gradcheck(picky, (real(3),), fast_mode=fast_mode)
        assert gradcheck(picky, (real(3),), check_undefined_grad=False, fast_mode=fast_mode)

    def test_a_backward_that_ignores_a_gradient_of_zero(self, fast_mode):
        def backward(g, x):
            return g * 2 if (g != 0).any() else dt.ones_like(x)

        with pytest.raises(GradcheckError, match="not multiplied by grad_output"):
            gradcheck(function(lambda x: x * 2, backward), (real(3),), fast_mode=fast_mode)

    def test_gradients_of_the_wrong_dtype(self, fast_mode, monkeypatch):
        # The engine casts gradients, so only a fault in the engine itself can show here.
        grad = dt.autograd.grad
        monkeypatch.setattr(
            dt.autograd, "grad", lambda *a, **k: [g if g is None else g.to(dt.float32) for g in grad(*a, **k)]
        )
        assert gradcheck(lambda x: x * 2, (real(3),), fast_mode=fast_mode)
        with pytest.raises(GradcheckError, match="float32.*float64"):
            gradcheck(lambda x: x * 2, (real(3),), check_grad_dtypes=True, fast_mode=fast_mode)

    def test_gradients_of_the_wrong_shape(self, fast_mode, monkeypatch):
        grad = dt.autograd.grad
        monkeypatch.setattr(dt.autograd, "grad", lambda *a, **k: [g[:2] for g in grad(*a, **k)])
        with pytest.raises(GradcheckError, match=r"shape \(2,\)"):
            gradcheck(lambda x: x * 2, (real(3),), fast_mode=fast_mode)

    def test_values_that_are_not_numbers(self, fast_mode):
        with pytest.raises(GradcheckError):
            gradcheck(lambda x: x * float("nan"), (real(3),), fast_mode=fast_mode)
        with pytest.raises(GradcheckError):
            gradcheck(lambda x: x * float("inf"), (real(3),), fast_mode=fast_mode)

    def test_a_step_that_is_too_long_for_the_tolerance(self, fast_mode):
        assert gradcheck(lambda x: x * x * x, (real(3),), eps=1e-3, fast_mode=fast_mode)
        assert not gradcheck(lambda x: x * x * x, (real(3),), eps=0.3, raise_exception=False, fast_mode=fast_mode)

    def test_a_deviation_beyond_the_tolerances(self, fast_mode):
        off = function(lambda x: x * 2, lambda g, x: g * 2.001)
        quiet = {"raise_exception": False, "fast_mode": fast_mode}
        assert gradcheck(off, (real(3),), **quiet)
        assert not gradcheck(off, (real(3),), rtol=1e-5, **quiet)
        assert gradcheck(off, (real(3),), rtol=1e-5, atol=1e-2, **quiet)


@MODES
def test_the_absolute_tolerance_is_per_entry_in_both_modes(fast_mode):
    off = function(lambda x: x.sum() * dt.ones_like(x), lambda g, x: 1.009 * g.sum() * dt.ones_like(x))
    options = {"rtol": 0, "raise_exception": False, "fast_mode": fast_mode}
    assert gradcheck(off, (real(20),), atol=1e-2, **options)
    assert not gradcheck(off, (real(20),), atol=5e-3, **options)


def test_fast_mode_sees_a_backward_that_is_not_linear_and_slow_mode_does_not():
    squared = function(lambda x: x * 2, lambda g, x: 2 * g * g)
    assert gradcheck(squared, (real(3),))
    with pytest.raises(GradcheckError, match="not linear"):
        gradcheck(squared, (real(3),), fast_mode=True)


def test_fast_mode_calls_the_function_a_fixed_number_of_times():
    calls = []

    def count(func, **options):
        calls.clear()
        gradcheck(func, (real(50),), **options)
        return len(calls)

    def square(x):
        calls.append(1)
        return x * x

    assert count(square, fast_mode=True) < 10
    assert count(square) > 100


class TestReport:
    def report(self, func, *inputs, **options):
        with pytest.raises(GradcheckError) as caught:
            gradcheck(func, inputs, **options)
        return str(caught.value)

    def test_it_names_the_worst_entry(self):
        scale = dt.tensor([[2, 2, 2], [2, 7, 2.5]], dtype=dt.float64)
        text = self.report(function(lambda x: x * 2, lambda g, x: g * scale), real(2, 3))
        assert "d output[1, 1] / d input[1, 1]" in text
        assert "7.0 analytically" in text
        assert "Worst of the 2 wrong entries among 36" in text

    def test_it_shows_both_jacobians(self):
        text = self.report(function(lambda x: x * 2, lambda g, x: g * 5), real(1))
        assert "numerical:\n[[2.]]" in text
        assert "analytical:\n[[5.]]" in text

    def test_it_recognises_a_factor(self):
        assert "-2 times" in self.report(function(lambda x: x * x, lambda g, x: -4 * g * x), real(3))

    def test_it_recognises_a_lost_gradient(self):
        assert "detach" in self.report(lambda x: x * 0 + x.detach(), real(3))

    def test_it_recognises_the_edge_of_a_domain(self):
        assert "domain" in self.report(lambda x: x * float("inf"), real(3))

    def test_fast_mode_reports_the_entries_too(self):
        wrong = function(lambda x: x * x, lambda g, x: 3 * g * x)
        assert self.report(wrong, real(3), fast_mode=True) == self.report(wrong, real(3))


class TestArguments:
    def test_some_input_must_require_grad(self):
        for inputs in [(real(3, requires_grad=False),), (), (3,)]:
            with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
                gradcheck(lambda *args: args, inputs, raise_exception=False)

    def test_low_precision_is_warned_about(self):
        x = dt.ones(2, dtype=dt.float32, requires_grad=True)
        with pytest.warns(UserWarning, match=r"input 0 .*float32"):
            gradcheck(lambda x: x * 2, (x,), raise_exception=False)

    def test_double_precision_is_not_warned_about(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gradcheck(lambda x, z: x * z, (real(2), cplx(2)))

    def test_entries_that_share_memory_are_refused(self):
        x = real(1, requires_grad=False).expand(3).requires_grad_()
        with pytest.raises(RuntimeError, match="stride 0"):
            gradcheck(lambda x: x * 2, (x,), raise_exception=False)

    def test_outputs_must_be_tensors(self):
        for output in (None, 3.0, {"a": 1}):
            with pytest.raises(TypeError, match=f"output 0 is of type {type(output).__name__}"):
                gradcheck(lambda x, output=output: output, (real(3),), raise_exception=False)

    @pytest.mark.parametrize(
        "options",
        [
            {"check_backward_ad": False},
            {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
            {"check_batched_forward_grad": True},
        ],
    )
    def test_contradicting_options_are_refused(self, options):
        with pytest.raises(AssertionError, match="requires"):
            gradcheck(lambda x: x * 2, (real(3),), **options)

    def test_a_failure_can_be_returned(self):
        wrong = function(lambda x: x * 2, lambda g, x: g)
        assert gradcheck(wrong, (real(3),), raise_exception=False) is False
        assert gradcheck(wrong, (real(3),), raise_exception=False, fast_mode=True) is False

    def test_an_error_of_the_function_is_not_a_failed_check(self):
        def broken(x):
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            gradcheck(broken, (real(3),), raise_exception=False)

    def test_the_error_is_a_runtime_error(self):
        assert issubclass(GradcheckError, RuntimeError)


class TestLeavesNoTrace:
    @MODES
    def test_values_gradients_and_versions_are_as_before(self, fast_mode):
        x = real(2, 3)
        before, version = x.detach().clone(), x._version
        gradcheck(lambda x: x * x, (x,), fast_mode=fast_mode)
        assert (x == before).all()
        assert x._version == version
        assert x.grad is None

    def test_values_are_as_before_even_if_the_function_raises(self):
        x = real(3)
        before, calls = x.detach().clone(), []

        def fragile(x):
            calls.append(1)
            if len(calls) == 3:
                raise KeyError
            return x * x

        with pytest.raises(KeyError):
            gradcheck(fragile, (x,))
        assert (x == before).all()

    def test_a_graph_made_before_can_still_be_differentiated(self):
        x = real(3)
        y = (x * x).sum()
        gradcheck(lambda x: x * x, (x,))
        y.backward()
        assert (x.grad == 2 * x).all()


class TestSecondDerivatives:
    @MODES
    def test_right_ones_pass(self, fast_mode):
        assert gradgradcheck(lambda x, y: x * x * y, (real(3), real(3, seed=1)), fast_mode=fast_mode) is True

    def test_linear_functions_pass(self):
        assert gradgradcheck(lambda x: x * 2, (real(3),))

    def test_complex_functions_pass(self):
        assert gradgradcheck(lambda z: z * z * z.conj(), (cplx(2),))

    def test_several_outputs_and_other_arguments_pass(self):
        assert gradgradcheck(lambda x, n, y: (x**n, x.argmax(), x * y), (real(3), 3, real(3, seed=1)))

    @MODES
    def test_a_wrong_double_backward_is_caught_though_the_gradient_is_right(self, fast_mode):
        cube = function(lambda x: x * x * x, lambda g, x: 3 * g * x.detach() * x)
        assert gradcheck(cube, (real(3),), fast_mode=fast_mode)
        with pytest.raises(GradcheckError, match="output 0 with respect to input 0"):
            gradgradcheck(cube, (real(3),), fast_mode=fast_mode)
        assert gradgradcheck(cube, (real(3),), fast_mode=fast_mode, raise_exception=False) is False

    def test_a_double_backward_that_loses_the_output_gradient_is_caught(self):
        double = function(lambda x: x * x, lambda g, x: 2 * g.detach() * x)
        assert gradcheck(double, (real(3),))
        with pytest.raises(GradcheckError, match="with respect to input 1"):
            gradgradcheck(double, (real(3),))

    def test_output_gradients_can_be_given(self):
        assert gradgradcheck(lambda x: x * x, (real(3),), real(3, seed=1))
        assert gradgradcheck(lambda x: (x * x, x * 2), (real(3),), [real(3, seed=1), real(3, seed=2)])
        assert gradgradcheck(lambda x: x * x, (real(3),), real(3, seed=1, requires_grad=False))

    def test_output_gradients_of_the_wrong_shape_are_refused(self):
        with pytest.raises(RuntimeError):
            gradgradcheck(lambda x: x * x, (real(3),), real(2))

    def test_random_output_gradients_can_be_non_contiguous(self):
        seen = []

        def backward(g, x):
            seen.append(g.is_contiguous())
            return 2 * g * x

        square = function(lambda x: x * x, backward)
        assert gradgradcheck(square, (real(3, 2),), gen_non_contig_grad_outputs=True)
        assert not seen[0]
        seen.clear()
        assert gradgradcheck(square, (real(3, 2),))
        assert seen[0]

    def test_without_differentiable_outputs_the_function_must_be_constant(self):
        assert gradgradcheck(lambda x: x.argmax(), (real(3),))
        assert gradgradcheck(lambda x: x.detach() * 2, (real(3),), raise_exception=False) is False

    def test_some_input_must_require_grad(self):
        with pytest.raises(ValueError, match="at least one input"):
            gradgradcheck(lambda x: x * 2, (real(3, requires_grad=False),))

    @pytest.mark.parametrize(
        "options",
        [
            {"check_rev_over_rev": False},
            {"check_rev_over_rev": False, "check_fwd_over_rev": True},
            {
                "check_rev_over_rev": False,
                "check_fwd_over_rev": True,
                "check_undefined_grad": False,
                "check_batched_grad": True,
            },
        ],
    )
    def test_contradicting_options_are_refused(self, options):
        with pytest.raises(AssertionError, match="requires"):
            gradgradcheck(lambda x: x * x, (real(3),), **options)


@MODES
class TestForwardMode:
    def test_a_right_tangent_passes(self, fast_mode):
        options = {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": fast_mode}
        assert gradcheck(lambda x, y: (x * y, x.sum()), (real(3), real(3, seed=1)), **options)
        assert gradcheck(lambda z: (z * z.conj(), z.real), (cplx(3),), **options)
        assert gradcheck(lambda pair: pair[0] * pair[1], ((real(3), real(3, seed=1)),), **options)

    def test_a_wrong_tangent_is_caught(self, fast_mode):
        wrong = function(lambda x: x * 3, lambda g, x: g * 3, jvp=lambda t: t * 2)
        assert gradcheck(wrong, (real(3),), fast_mode=fast_mode)
        with pytest.raises(GradcheckError, match="forward mode"):
            gradcheck(wrong, (real(3),), check_forward_ad=True, fast_mode=fast_mode)

    def test_a_missing_conjugate_is_caught(self, fast_mode):
        wrong = function(lambda z: z.conj() * 1j, lambda g, z: (g * -1j).conj(), jvp=lambda t: t * 1j)
        assert gradcheck(wrong, (cplx(3),), fast_mode=fast_mode)
        with pytest.raises(GradcheckError, match="imaginary part of the input"):
            gradcheck(wrong, (cplx(3),), check_forward_ad=True, fast_mode=fast_mode)

    def test_a_tangent_that_depends_on_whether_another_is_defined_is_caught(self, fast_mode):
        def jvp(t, u):
            return t * 5 if u is None else (u if t is None else t + u)

        odd = function(lambda x, y: x + y, lambda g, x, y: (g, g), jvp=jvp, materialize=False)
        options = {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": fast_mode}
        with pytest.raises(GradcheckError, match="input 1 has no tangent"):
            gradcheck(odd, (real(3), real(3)), **options)
        assert gradcheck(odd, (real(3), real(3)), check_undefined_grad=False, **options)

    def test_forward_over_reverse_passes_and_fails(self, fast_mode):
        options = {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False}
        assert gradgradcheck(lambda x: x * x * x, (real(3),), **options, fast_mode=fast_mode)
        wrong = function(lambda x: x * 3, lambda g, x: g * 3, jvp=lambda t: t * 2)
        assert gradgradcheck(lambda x: wrong(x) * x, (real(3),))
        with pytest.raises(GradcheckError, match="forward mode"):
            gradgradcheck(lambda x: wrong(x) * x, (real(3),), **options, fast_mode=fast_mode)


class TestBatched:
    def test_gradients_pass(self):
        assert gradcheck(lambda x, y: (x * y, x.sum()), (real(3), real(3)), check_batched_grad=True)
        assert gradgradcheck(lambda x: x * x, (real(3),), check_batched_grad=True)

    def test_gradients_that_mix_rows_are_caught(self, monkeypatch):
        grad = dt.autograd.grad

        def mixing(*args, is_grads_batched=False, **kwargs):
            found = grad(*args, is_grads_batched=is_grads_batched, **kwargs)
            return [g.flip(0) for g in found] if is_grads_batched else found

        monkeypatch.setattr(dt.autograd, "grad", mixing)
        assert gradcheck(lambda x: x * 2, (real(3),))
        with pytest.raises(GradcheckError, match="Row 0 of a batch of gradients"):
            gradcheck(lambda x: x * 2, (real(3),), check_batched_grad=True)

    def test_gradients_that_cannot_be_batched_are_caught(self, monkeypatch):
        grad = dt.autograd.grad

        def refusing(*args, is_grads_batched=False, **kwargs):
            if is_grads_batched:
                raise RuntimeError("one at a time")
            return grad(*args, **kwargs)

        monkeypatch.setattr(dt.autograd, "grad", refusing)
        with pytest.raises(GradcheckError, match="Batched gradients of output 0 failed: one at a time"):
            gradcheck(lambda x: x * 2, (real(3),), check_batched_grad=True)

    def test_tangents_pass(self):
        assert gradcheck(lambda x, y: x * y, (real(3), real(3)), check_forward_ad=True, check_batched_forward_grad=True)

    def test_tangents_that_mix_rows_are_caught(self, monkeypatch):
        vmap = dt.func.vmap

        def mixing(func):
            return lambda batch: tuple(tangent.flip(0) for tangent in vmap(func)(batch))

        monkeypatch.setattr(dt.func, "vmap", mixing)
        with pytest.raises(GradcheckError, match="Row 0 of a batch of tangents of input 0"):
            gradcheck(lambda x: x * 2, (real(3),), check_forward_ad=True, check_batched_forward_grad=True)

    def test_tangents_of_complex_functions_and_of_several_results_pass(self):
        options = {"check_forward_ad": True, "check_batched_forward_grad": True, "check_batched_grad": True}
        assert gradcheck(lambda z: (z * z.conj(), z.abs()), (cplx(3),), **options)
        assert gradcheck(lambda x, y: (x @ y, x.sort()[0]), (real(2, 3), real(3)), **options)


class TestEveryWay:
    """All the ways to a derivative at once."""

    FIRST = {
        "check_forward_ad": True,
        "check_batched_grad": True,
        "check_batched_forward_grad": True,
        "check_grad_dtypes": True,
    }
    SECOND = {"check_fwd_over_rev": True, "check_rev_over_rev": True, "check_batched_grad": True}

    @MODES
    @pytest.mark.parametrize(
        "func",
        [
            pytest.param(lambda x: x.sin() * x, id="elementwise"),
            pytest.param(lambda x: (x.sum() * x[0], x.prod()), id="reductions"),
            pytest.param(lambda x: x.clone().mul_(x)[1:], id="in place, and a view"),
            pytest.param(lambda x: x[[0, 0, 2]].exp(), id="indexed"),
            pytest.param(lambda x: x.outer(x) @ x, id="products"),
            pytest.param(lambda x: x.logsumexp(0), id="stable"),
        ],
    )
    def test_right_derivatives_pass(self, func, fast_mode):
        assert gradcheck(func, (real(3),), **self.FIRST, fast_mode=fast_mode)
        assert gradgradcheck(func, (real(3),), **self.SECOND, fast_mode=fast_mode)

    def test_a_function_without_jvp_passes(self):
        cube = function(lambda x: x * x * x, lambda g, x: 3 * g * x * x)
        assert gradcheck(cube, (real(3),), check_forward_ad=True)
        assert gradgradcheck(cube, (real(3),), check_fwd_over_rev=True)

    def test_the_derivative_of_a_wrong_backward_is_wrong_forward_too(self):
        wrong = function(lambda x: x * x, lambda g, x: 3 * g * x)
        with pytest.raises(GradcheckError, match="forward mode"):
            gradcheck(wrong, (real(3),), check_forward_ad=True, check_backward_ad=False)

    def test_what_runs_under_no_grad_moves_forward_and_not_in_reverse(self):
        def func(x):
            with dt.no_grad():
                y = x * 2
            return y + x

        assert gradcheck(func, (real(3),), check_forward_ad=True, check_backward_ad=False)
        assert not gradcheck(func, (real(3),), raise_exception=False)

    def test_no_level_is_left_open(self):
        wrong = function(lambda x: x * 3, lambda g, x: g * 3, jvp=lambda t: t * 2)
        gradcheck(wrong, (real(3),), check_forward_ad=True, raise_exception=False)

        def raises(x):
            if dt.modes.current().levels:
                raise KeyError
            return x * 2

        with pytest.raises(KeyError):
            gradcheck(raises, (real(3),), check_forward_ad=True)
        assert not dt.modes.current().levels


GRID = [
    "lambda x, y: (x * y, x.sum())",
    "lambda x, y: x ** 3",
    "lambda x, y: x.detach() * y",
    "lambda x, y: torch.no_grad()(lambda x: x * 2)(x) + y",
    "lambda x, y: (x + y).abs().sqrt()",
]


@needs_torch
@pytest.mark.parametrize("func", GRID)
def test_the_same_is_refused_found_wrong_and_passed_as_by_pytorch(func):
    for check, names in (
        ("gradcheck", ("check_forward_ad", "check_backward_ad", "check_batched_grad", "check_batched_forward_grad")),
        ("gradgradcheck", ("check_fwd_over_rev", "check_rev_over_rev", "check_batched_grad", "check_undefined_grad")),
    ):
        for options in itertools.product([False, True], repeat=len(names)):
            given = ", ".join(f"{name}={option}" for name, option in zip(names, options, strict=True))
            same(f"""
x = torch.tensor([0.5, 1.2], dtype=torch.float64, requires_grad=True)
y = torch.tensor([0.7, 0.3], dtype=torch.float64, requires_grad=True)
torch.autograd.{check}({func}, (x, y), raise_exception=False, fast_mode=True, {given})
""")


@MODES
@pytest.mark.parametrize(
    "func, what",
    [
        (lambda x: x[x > 1e-7], "shape"),
        (lambda x: x.expand(2, 3) if x[1] > 1e-7 else x.expand(1, 3), "shape"),
        (lambda x: x if x[1] > 1e-7 else x.float(), "dtype"),
        (lambda x: x if x[1] > 1e-7 else (x, x), "number"),
    ],
)
def test_outputs_that_change_their_form_are_found_out(func, what, fast_mode):
    x = dt.tensor([1.0, 1e-7, -1.0], dtype=dt.float64, requires_grad=True)
    with pytest.raises(AssertionError, match=f"outputs with the same {what} when inputs are perturbed"):
        gradcheck(func, x, fast_mode=fast_mode, raise_exception=False)
    assert x.tolist() == [1.0, 1e-7, -1.0]
