"""Transforms of random variables, constraints, and the way from one to the other, beside PyTorch's."""

from __future__ import annotations

import copy
import gc
import pickle
import sys

import pytest

import dualtape as dt
from same_program import needs_torch, programs, same


@pytest.fixture(autouse=True)
def checks() -> None:
    """PyTorch's compiler, where another test has used it, has switched checks off for the whole process."""
    library = sys.modules.get("torch")
    if library is not None:
        library.distributions.Distribution.set_default_validate_args(True)


D, C = dt.distributions, dt.distributions.constraints
HEAD = """D = torch.distributions
C, t, u = D.constraints, D.transforms, D.utils
def T(x): return torch.tensor(x, dtype=torch.float64)
def plain(x): return repr(x).replace('dualtape.', '').replace('torch.', '').replace('tensor', 'T')
"""
VECTOR, MATRIX = "T([[0.3, -1.2, 2.0], [0.0, 30.0, -30.0]])", "T([[[0.3, -1.2], [2.0, 0.7]]])"
# how it is made, arguments
TRANSFORMS = {
    "t.ExpTransform()": VECTOR,
    "t.PowerTransform(T([2.0, 0.5, -1.0]))": "T([0.3, 1.0, 7.0])",
    "t.SigmoidTransform()": VECTOR,
    "t.SoftplusTransform()": VECTOR,
    "t.TanhTransform()": VECTOR,
    "t.AbsTransform()": VECTOR,
    "t.AffineTransform(1.0, -2.0)": VECTOR,
    "t.AffineTransform(T([1.0, 2.0, 3.0]), T([1.0, -2.0, 3.0]), event_dim=1)": VECTOR,
    "t.CumulativeDistributionTransform(D.Normal(T(0.5), T(1.5)))": "T([0.3, -1.2, 2.0])",
    "t.SoftmaxTransform()": VECTOR,
    "t.StickBreakingTransform()": "T([[0.3, -1.2, 2.0], [0.0, 3.0, -3.0]])",
    "t.CorrCholeskyTransform()": "T([[0.3, -1.2, 2.0], [0.0, 3.0, -3.0]])",
    "t.LowerCholeskyTransform()": MATRIX,
    "t.PositiveDefiniteTransform()": MATRIX,
    "t.ReshapeTransform((2, 2), (4,))": MATRIX,
    "t.ReshapeTransform((), (1, 1))": "T([0.3, 1.0])",
    "t.IndependentTransform(t.ExpTransform(), 1)": VECTOR,
    "t.IndependentTransform(t.ExpTransform(), 2, cache_size=1)": VECTOR,
    "t.ComposeTransform([t.AffineTransform(1.0, 2.0), t.ExpTransform()])": VECTOR,
    "t.ComposeTransform([t.AffineTransform(0.0, -0.1), t.StickBreakingTransform()], cache_size=1)": VECTOR,
    "t.ComposeTransform([t.ReshapeTransform((3,), (3, 1)), t.ExpTransform()])": VECTOR,
    "t.ComposeTransform([])": VECTOR,
    "t.CatTransform([t.ExpTransform(), t.AffineTransform(0.0, 2.0)], -1, [1, 2])": VECTOR,
    "t.CatTransform([t.ExpTransform(), t.identity_transform], 0)": VECTOR,
    "t.CatTransform([t.StickBreakingTransform(), t.StickBreakingTransform()], 0)": "T([[0.3, -1.2, 2.0], [0.0, 3.0, -3.0]])",
    "t.StackTransform([t.ExpTransform(), t.AffineTransform(0.0, 2.0), t.TanhTransform()], -1)": "T([[0.3, -1.2, 1.0], [0.0, 3.0, -1.0]])",
    "t.StackTransform([t.ExpTransform(), t.TanhTransform()], 0, cache_size=1)": VECTOR,
    "t.ExpTransform().inv": "T([0.3, 1.0, 7.0])",
    "t.StickBreakingTransform().inv": "T([0.3, 0.2, 0.5])",
}
FACTS = [
    "bijective",
    "sign",
    "domain",
    "codomain",
    "event_dim",
    "domain.event_dim",
    "codomain.event_dim",
    "inv",
    "with_cache(1)",
]


@needs_torch
@pytest.mark.parametrize("made", TRANSFORMS)
def test_a_transform_is_pytorchs(made: str) -> None:
    head = f"{HEAD}f = {made}\nx = {TRANSFORMS[made]}\n"
    same(f"{head}f(x)", 1e-9)
    same(f"{head}f.inv(f(x))", 1e-9)
    same(f"{head}f.log_abs_det_jacobian(x, f(x))", 1e-9)
    same(f"{head}f.inv.log_abs_det_jacobian(f(x), x)", 1e-9)
    same(f"{head}[tuple(f.forward_shape(x.shape)), tuple(f.inverse_shape(f(x).shape))]")
    same(f"{head}f.forward_shape(())")
    for fact in FACTS:
        same(f"{head}plain(f.{fact})")
    same(f"{head}[f == f, f == f.inv, f.inv.inv is f, f.inv is f.inv, f == t.ExpTransform(), f != f, f == {made}]")
    same(f"{head}hash(f)")


@pytest.mark.parametrize(
    "made",
    [m for m in TRANSFORMS if "Softmax" not in m and "Cholesky" not in m and "Positive" not in m and "Abs" not in m],
)
def test_the_logarithm_of_the_determinant_is_that_of_the_jacobian(made: str) -> None:
    scope = {"D": D, "t": D.transforms, "T": lambda x: dt.tensor(x, dtype=dt.float64)}
    f, x = eval(made, scope), eval(TRANSFORMS[made], scope)
    x = x if "-30" not in TRANSFORMS[made] else x / 20
    jacobian = dt.autograd.functional.jacobian(lambda x: f(x).reshape(-1)[: x.numel()], x).reshape(x.numel(), -1)
    if f(x).numel() != x.numel():  # of proportions the last follows from the others
        jacobian = dt.autograd.functional.jacobian((lambda x: f(x)[..., :-1] if f(x).numel() > x.numel() else f(x)), x)
        if f(x).numel() < x.numel():
            return
        jacobian = jacobian.reshape(x.numel(), x.numel())
    dt.testing.assert_close(f.log_abs_det_jacobian(x, f(x)).sum(), dt.linalg.slogdet(jacobian).logabsdet)


def test_a_cache_gives_back_the_very_argument() -> None:
    f = D.TanhTransform(cache_size=1)
    x = dt.tensor(100.0)
    y = f(x)
    assert f(x) is y and f.inv(y) is x and bool(f.inv(y.clone()).isinf())
    x = f.inv(y)
    assert f(x) is y
    g = D.ComposeTransform([D.ExpTransform(), D.TanhTransform()], cache_size=1)
    x = dt.tensor(5.0)
    assert g.inv(g(x)) is x and g.inv.inv is g


def test_a_transform_and_its_inverse_form_no_cycle_and_can_be_copied() -> None:
    gc.collect()
    for f in (D.ExpTransform(cache_size=1), D.ComposeTransform([D.ExpTransform()])):
        inverse = f.inv
        for copied in (copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
            assert copied == f and copied.inv.inv is copied
        for copied in (copy.deepcopy(inverse), pickle.loads(pickle.dumps(inverse))):
            assert copied == inverse
    del f, inverse, copied
    assert gc.collect() == 0


@needs_torch
@pytest.mark.parametrize(
    "program",
    programs("""
    t.Transform(cache_size=2)
    t.Transform()(T(1.0))
    t.Transform().inv(T(1.0))
    t.Transform().log_abs_det_jacobian(T(1.0), T(1.0))
    t.Transform().sign
    t.Transform().domain
    t.Transform.with_cache(t.AffineTransform(0, 1))
    t.AffineTransform(1, 2) == t.AffineTransform(T(1.0), 2), t.AffineTransform(1, 2) == t.AffineTransform(1, 3)
    t.AffineTransform(T([1.0, 2.0]), 2) == t.AffineTransform(T([1.0, 2.0]), 2)
    t.ReshapeTransform((2,), (3,))
    t.ReshapeTransform((2,), (1, 2)).forward_shape((3,))
    t.IndependentTransform(t.ExpTransform(), 1)(T(1.0))
    t.CorrCholeskyTransform().forward_shape((4,))
    t.CorrCholeskyTransform().inverse_shape((4, 3))
    t.CatTransform([t.ExpTransform()], 0, [1, 2])
    t.CatTransform([t.ExpTransform(), 3])
    t.CatTransform([t.ExpTransform()], 0, [2])(T([1.0, 2.0, 3.0]))
    t.CatTransform([t.ExpTransform()], 2, [2])(T([1.0, 2.0]))
    t.StackTransform([t.ExpTransform(), 3])
    t.StackTransform([t.ExpTransform()])(T([1.0, 2.0, 3.0]))
    t.CatTransform([t.ExpTransform(), t.ExpTransform()], 0, [1, 2]).length
    plain(t.CatTransform([t.ExpTransform(), t.ExpTransform()]).domain.cseq)
    D.TransformedDistribution(D.Normal(0.0, 1.0), 3)
    D.TransformedDistribution(D.Normal(0.0, 1.0), [3])
    D.TransformedDistribution(D.Normal(0.0, 1.0), [t.StickBreakingTransform()])
    D.TransformedDistribution(D.Normal(0.0, 1.0), t.AbsTransform()).log_prob(T(1.0))
    D.TransformedDistribution(D.Normal(0.0, 1.0), t.AbsTransform()).cdf(T(1.0))
    D.TransformedDistribution(D.Normal(torch.zeros(2), 1.0), [t.StickBreakingTransform()]).cdf(torch.ones(3) / 3)
    d = D.TransformedDistribution(D.Normal(torch.zeros(2), 1.0), [t.AffineTransform(torch.zeros(3, 1), 1.0)]); [d.batch_shape, plain(d.base_dist)]
    d = D.TransformedDistribution(D.Normal(torch.zeros(4, 2), 1.0), [t.StickBreakingTransform()]); [d.batch_shape, d.event_shape, plain(d.base_dist), plain(d.support), plain(d.expand((3, 4)).base_dist)]
    d = D.TransformedDistribution(D.Normal(torch.zeros(2, 3), 1.0), [t.ReshapeTransform((2, 3), (6,))]); [d.batch_shape, d.event_shape, d.log_prob(torch.ones(5, 6))]
    d = D.TransformedDistribution(D.Dirichlet(torch.ones(2, 3)), [t.ExpTransform()]); [d.batch_shape, d.event_shape, plain(d.support), d.log_prob(T([1.2, 1.4, 2.0]).float())]
    d = D.TransformedDistribution(D.Normal(T([0.0, 1.0]), 1.0), t.AffineTransform(0, T([-1.0, 2.0]))); [d.cdf(T([0.3, 0.5])), d.icdf(T([0.3, 0.5]))]
    D.TransformedDistribution(D.Normal(0.0, 1.0), []).log_prob(T(0.3))
    """),
)
def test_edges_and_refusals_of_transforms_are_pytorchs(program: str) -> None:
    same(HEAD + program)


@needs_torch
@pytest.mark.parametrize(
    "program",
    programs("""
    C.multinomial(3).check(T([[1.0, 2.0], [1.0, 3.0], [1.0, 1.0], [-1.0, 4.0]]))
    C.simplex.check(T([[0.5, 0.5], [0.5, 0.5000005], [0.5, 0.50001], [-0.1, 1.1]]))
    C.independent(C.real, 1).check(T(1.0))
    C.independent(C.real, 0).check(T([1.0, nan]))
    C.independent(C.positive, 1).check(T([[1.0, 2.0], [-1.0, 2.0]]))
    C.independent(C.real, -1)
    C.independent(3, 1)
    C.cat([C.real, C.positive], 0, [1, 2]).check(T([1.0, -2.0, 3.0]))
    C.cat([C.real, C.positive], -1, [1, 1]).check(T([[1.0, -2.0]]))
    C.cat([C.real, 3])
    C.cat([C.real], 2).check(T([1.0]))
    C.cat([C.real], 0, [1, 2])
    C.stack([C.real, C.positive], -1).check(T([[1.0, -2.0], [1.0, 2.0]]))
    [C.stack([C.real, C.real], -1).event_dim, C.stack([C.real_vector] * 2, -1).event_dim, C.stack([C.real_vector] * 2, -2).event_dim]
    [C.cat([C.real, C.real_vector]).event_dim, C.cat([C.real, C.boolean]).is_discrete, C.stack([C.real]).is_discrete]
    [plain(C.cat([C.real])), plain(C.interval(T([0.0, 1.0]), T(2.0))), plain(C.multinomial(3)), plain(C.integer_interval(0, 3)), plain(C.less_than(1.0))]
    [plain(c) for c in (C.real, C.real_vector, C.positive, C.simplex, C.corr_cholesky, C.dependent, C.boolean, C.half_open_interval(0, 1))]
    C.dependent.check(T(1.0))
    C.dependent.event_dim
    C.dependent.is_discrete
    [C.dependent(event_dim=1).event_dim, C.is_dependent(C.dependent(event_dim=1)), C.is_dependent(C.real), C.is_dependent(D.Uniform.support)]
    [D.Uniform.support.event_dim, D.Uniform.support.is_discrete, plain(D.Uniform.support), D.Binomial.support.is_discrete, D.Multinomial.support.event_dim]
    D.Independent.support.event_dim
    C.Constraint().check(T(1.0))
    C.positive_definite.check(torch.ones(2, 3))
    C.positive_definite.check(torch.stack([torch.eye(2), -torch.eye(2), torch.zeros(2, 2)]))
    C.positive_definite.check(T([[[1.0, 0.5], [0.2, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]))
    C.positive_semidefinite.check(torch.stack([torch.eye(2), -torch.eye(2), torch.zeros(2, 2)]))
    C.corr_cholesky.check(torch.stack([torch.eye(2), 2 * torch.eye(2)]))
    [C.square.check(torch.ones(4, 2, 3)), C.square.check(torch.ones(2, 2)), C.symmetric.check(torch.ones(4, 2, 3)), C.symmetric.check(T([[1.0, 2.0], [2.0, 1.0]]))]
    [C.boolean.check(torch.tensor([0, 1, 2])), C.boolean.check(torch.tensor([True]))]
    [C.integer_interval(0, 2).check(torch.tensor([0, 3])), C.integer_interval(0, 2).check(T([0.5, 2.0, -1.0]))]
    [C.nonnegative_integer.check(torch.tensor([0, 1, -1])), C.nonnegative_integer.check(T([0.0, 1.5, -1.0])), C.positive_integer.check(torch.tensor([0, 1]))]
    C.one_hot.check(torch.tensor([[0, 1], [1, 1], [0, 0]]))
    [C.lower_cholesky.check(torch.ones(2, 2)), C.lower_cholesky.check(torch.eye(2)), C.lower_triangular.check(-torch.eye(2))]
    [C.half_open_interval(0, 1).check(T([0.0, 1.0])), C.interval(0, 1).check(T([0.0, 1.0])), C.greater_than(0).check(T([0.0, 1.0])), C.greater_than_eq(0).check(T([0.0, -1.0]))]
    C.MixtureSameFamilyConstraint(C.real_vector).check(torch.ones(5, 2))
    C.MixtureSameFamilyConstraint(C.real_vector).check(T(1.0))
    C.MixtureSameFamilyConstraint(C.interval(T([0.0, 1.0]), T([2.0, 3.0]))).check(T([0.5, 1.5]))
    C.MixtureSameFamilyConstraint(3)
    u.broadcast_all(1, 2.0)
    u.broadcast_all(1, T([1.0, 2.0]))
    u.broadcast_all("a", 1)
    u.broadcast_all([1.0], T([1.0]))
    u.broadcast_all(torch.ones(2), torch.ones(3))
    u.clamp_probs(T([0.0, 0.5, 1.0]))
    u.clamp_probs(torch.tensor([0, 1]))
    [u.probs_to_logits(T([0.0, 0.3, 0.7])), u.probs_to_logits(T([0.0, 0.3, 1.0]), is_binary=True)]
    [u.logits_to_probs(T([0.0, 0.3, 0.7])), u.logits_to_probs(T([0.0, 0.3, 1.0]), is_binary=True)]
    [u.tril_matrix_to_vec(torch.arange(9.0).reshape(3, 3), k) for k in (-2, -1, 0, 1, 2)]
    u.tril_matrix_to_vec(torch.arange(9.0).reshape(3, 3), 4)
    [u.vec_to_tril_matrix(torch.arange(3.0) + 1), u.vec_to_tril_matrix(torch.arange(3.0) + 1, -1), u.vec_to_tril_matrix(torch.arange(12.0).reshape(2, 6))]
    u.vec_to_tril_matrix(torch.arange(4.0))
    """),
)
def test_constraints_and_helpers_are_pytorchs(program: str) -> None:
    same(HEAD + program)


CONSTRAINTS = programs("""
    C.real
    C.positive
    C.nonnegative
    C.greater_than(2.0)
    C.less_than(2.0)
    C.unit_interval
    C.interval(1.0, 3.0)
    C.interval(T(0.0), T([1.0, 2.0, 3.0]))
    C.half_open_interval(0.0, 1.0)
    C.simplex
    C.real_vector
    C.independent(C.positive, 1)
    C.corr_cholesky
    C.lower_cholesky
    C.positive_definite
    C.positive_semidefinite
    C.cat([C.real, C.positive], -1, [1, 2])
    C.stack([C.real, C.positive, C.unit_interval], -1)
    C.boolean
    C.square
    """)


@needs_torch
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_a_constraint_has_pytorchs_transform_onto_it(registry: str, constraint: str) -> None:
    x = "T([[0.3, -1.2], [2.0, 0.5]])" if "definite" in constraint or "lower" in constraint else "T([0.3, -1.2, 2.0])"
    same(f"{HEAD}plain(D.{registry}({constraint}))")
    same(f"{HEAD}f = D.{registry}({constraint}); [f({x}), f.inv(f({x})), ({constraint}).check(f({x}))]", 1e-9)


def test_what_is_no_constraint_has_no_transform() -> None:
    with pytest.raises(NotImplementedError, match="no transform is known onto int"):
        D.biject_to(3)
    for wrong in (3, int):
        with pytest.raises(TypeError, match="expected a Constraint or a class of them"):
            D.transform_to.register(wrong, lambda c: None)


@pytest.mark.parametrize("made", ["softplus", "vec_to_tril"])
def test_helpers_can_be_differentiated(made: str) -> None:
    u = D.utils
    f = {"softplus": u.softplus, "vec_to_tril": lambda x: u.tril_matrix_to_vec(u.vec_to_tril_matrix(x) ** 2)}[made]
    assert dt.autograd.gradcheck(f, dt.tensor([0.0, 1.5, -30.0], dtype=dt.float64, requires_grad=True))


def test_constraints_on_parts_are_for_as_many_elements_as_there_are() -> None:
    for constraint in (C.cat([C.real, C.positive], 0, [1, 2]), C.stack([C.real, C.real, C.positive])):
        for wrong in (2, 4):
            with pytest.raises(ValueError, match=f"has constraints for 3 elements of dim 0, got {wrong}"):
                constraint.check(dt.ones(wrong))


@pytest.mark.parametrize("name", dt.distributions.constraints.__all__)
def test_constraints_are_pickled_and_copied_under_pytorchs_names(name: str) -> None:
    constraints = dt.distributions.constraints
    value = getattr(constraints, name)
    kind = value if isinstance(value, type) else type(value)
    if isinstance(value, constraints.Constraint | type):
        assert getattr(constraints, kind.__name__) is kind
    for made in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert repr(made) == repr(value)


def test_a_constraint_takes_its_bounds_by_place_and_by_name() -> None:
    interval = dt.distributions.constraints.interval
    assert repr(interval(0, upper_bound=1)) == repr(interval(0, 1)) == "Interval(lower_bound=0, upper_bound=1)"
    for wrong in (lambda: interval(0), lambda: interval(0, 1, 2), lambda: interval(0, 1, lower_bound=2)):
        with pytest.raises(TypeError):
            wrong()
