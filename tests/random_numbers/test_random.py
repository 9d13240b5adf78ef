"""Random numbers: seeds and states, distributions within loose bounds, and the rules of in-place fills, which are
PyTorch's.

The numbers themselves are NumPy's: what is compared with PyTorch is shapes, dtypes, errors, versions and gradients.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import dualtape as dt
from same_program import needs_torch, programs, same

DRAWS = programs(
    r"""
    torch.rand(2, 3).shape, torch.rand((2, 3)).shape, torch.rand([2]).shape, torch.rand(()).shape, torch.rand(0).shape
    torch.rand(2).dtype, torch.rand(2, dtype=torch.float64).dtype, torch.rand(2, dtype=torch.float16).dtype, torch.rand(2, dtype=torch.complex64).dtype
    torch.rand(2, dtype=torch.int64)
    torch.randn(2, dtype=torch.int64)
    torch.rand()
    torch.rand(-1)
    torch.rand(2, requires_grad=True).requires_grad
    torch.randn(2, 3).shape, torch.randn(2, dtype=torch.complex128).dtype
    torch.randint(5, (3,)).dtype, torch.randint(2, 5, (3,)).shape, torch.randint(5, (3,), dtype=torch.float32).dtype, torch.randint(5, ()).shape
    torch.randint(high=5, size=(2,)).shape
    torch.randint(low=1, high=5, size=(2,)).shape
    torch.randint(5, 5, (2,))
    torch.randint(5, 3, (2,))
    torch.randint(0, (2,))
    torch.randint(5)
    torch.randint(5, 3)
    torch.randint(0, 300, (2,), dtype=torch.uint8)
    torch.randint(-5, 0, (2,), dtype=torch.uint8)
    torch.randint(0, 256, (2,), dtype=torch.uint8).dtype
    torch.randint(0, 2, (2,), dtype=torch.bool).dtype
    torch.randint(0.5, 2, (2,))
    torch.randint(3, (2,), requires_grad=True)
    torch.randperm(5).sort().values
    torch.randperm(0)
    torch.randperm(-1)
    torch.randperm(3, dtype=torch.float32).dtype
    torch.randperm(3.5)
    torch.randperm(3, dtype=torch.int32).dtype
    torch.normal(0.0, 1.0, (2,)).shape
    torch.normal(torch.zeros(2, 1), torch.ones(3)).shape
    torch.normal(torch.zeros(2)).shape
    torch.normal(0.0, torch.ones(2)).shape
    torch.normal(torch.zeros(2), -1.0)
    torch.normal(0.0, 1.0)
    torch.normal(torch.zeros(2), 0.0)
    torch.normal(torch.arange(3.0), 0.0)
    torch.normal(torch.tensor([1]), 1.0)
    torch.bernoulli(torch.tensor([0.0, 1.0]))
    torch.bernoulli(torch.tensor([0.0, 2.0]))
    torch.bernoulli(torch.tensor([0, 1]))
    torch.bernoulli(torch.zeros(2), 1.0)
    torch.bernoulli(torch.zeros(2), p=2.0)
    torch.multinomial(torch.tensor([0.0, 1.0]), 3, replacement=True)
    torch.multinomial(torch.tensor([0.0, 1.0]), 3)
    torch.multinomial(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), 1)
    torch.multinomial(torch.tensor([0.0, 0.0]), 1)
    torch.multinomial(torch.tensor([-1.0, 1.0]), 1)
    torch.multinomial(torch.tensor([1.0, nan]), 1)
    torch.multinomial(torch.tensor([1, 1]), 1)
    torch.multinomial(torch.ones(2, 2, 2), 1)
    torch.multinomial(torch.ones(2), 0)
    torch.rand_like(torch.ones(2, dtype=torch.float64)).dtype, torch.randn_like(torch.ones(2), dtype=torch.float64).dtype
    torch.rand_like(torch.ones(2, dtype=torch.int64))
    torch.rand_like(torch.ones(2, requires_grad=True)).requires_grad
    torch.randint_like(torch.ones(2), 5).dtype, torch.randint_like(torch.ones(2), 2, 5).shape
    torch.manual_seed(3).initial_seed(), torch.initial_seed()
    torch.manual_seed(3) is torch.default_generator
    torch.manual_seed(-1).initial_seed()
    torch.manual_seed(2**64)
    g = torch.Generator(); g.device
    g = torch.Generator(); g.manual_seed(3) is g, g.initial_seed()
    torch.Generator().initial_seed()
    torch.set_rng_state(torch.zeros(3, dtype=torch.uint8))
    torch.set_rng_state(torch.zeros(3))
    torch.get_rng_state().dtype
    s = torch.get_rng_state(); a = torch.rand(3); torch.set_rng_state(s); bool((torch.rand(3) == a).all())
    g = torch.Generator().manual_seed(1); h = torch.Generator().manual_seed(1); bool((torch.randn(5, generator=g) == torch.randn(5, generator=h)).all())
    g = torch.Generator().manual_seed(1); s = g.get_state(); a = torch.rand(5, generator=g); g.set_state(s); bool((torch.rand(5, generator=g) == a).all())
    o = torch.empty(2); torch.rand(2, out=o) is o
    o = torch.empty(3, dtype=torch.float64); torch.rand(3, out=o).dtype
    o = torch.empty(0); torch.randn(2, out=o).shape
    torch.random.manual_seed(1).initial_seed()
    torch.rand(2, generator=3)
    torch.rand(2, device='cpu').device
    """
)

FILLS = programs(
    r"""
    torch.zeros(2).bernoulli_(1.0)
    torch.zeros(2).bernoulli_(torch.tensor([0.0, 1.0]))
    torch.zeros(2, dtype=torch.int64).bernoulli_(1.0)
    torch.zeros(2).bernoulli_(2.0)
    x = torch.zeros(2); (x.uniform_() is x, x._version)
    x = torch.zeros(2); x.normal_(); x._version
    x = torch.zeros(2); x.exponential_(); x._version
    x = torch.zeros(2); x.random_(); x._version
    x = torch.zeros(2); x.bernoulli_(); x._version
    x = torch.zeros(2); x.cauchy_(); x._version
    x = torch.zeros(2); x.log_normal_(); x._version
    x = torch.zeros(2); x.geometric_(0.5); x._version
    x = torch.zeros(2, requires_grad=True); x.uniform_()
    x = torch.zeros(2, requires_grad=True); x.normal_()
    x = torch.zeros(2, requires_grad=True); y = x * 1; y.uniform_(); y.sum().backward(); x.grad
    x = torch.zeros(2, requires_grad=True); y = x * 1; y.normal_(); y.requires_grad
    x = torch.zeros(2, requires_grad=True); x.data.uniform_(); x._version
    x = torch.zeros(2, requires_grad=True); y = x.exp(); y.uniform_(); y.sum().backward()
    x = torch.zeros(4); x[:2].fill_(1); x[2:].uniform_(5, 6); (x[:2], bool((x[2:] >= 5).all()))
    torch.zeros(2, 1).expand(2, 2).uniform_()
    torch.zeros(2, dtype=torch.int64).uniform_()
    torch.zeros(2, dtype=torch.int64).normal_()
    torch.zeros(2).uniform_(2, 1)
    torch.zeros(2).normal_(0, -1)
    torch.zeros(2).exponential_(0)
    torch.zeros(2).random_(5).dtype
    torch.zeros(2).random_(5, 6)
    torch.zeros(2).random_(5, 5)
    torch.zeros(2, dtype=torch.int64).random_(1)
    torch.zeros(2).uniform_(to=0.0)
    torch.zeros(2).uniform_(3.0, 3.0)
    """
)


@pytest.fixture(autouse=True)
def seeded():
    """Every test draws from the same place of the stream, and leaves the generator as it found it."""
    state = dt.get_rng_state()
    dt.manual_seed(2024)
    yield
    dt.set_rng_state(state)


@needs_torch
@pytest.mark.parametrize("program", DRAWS)
def test_draws_have_pytorchs_shape_dtype_and_refusals(program: str) -> None:
    same(program)


@needs_torch
@pytest.mark.parametrize("program", FILLS)
def test_fills_count_as_writes_and_follow_the_rules_of_autograd(program: str) -> None:
    same(program)


# --- seeds and states -----------------------------------------------------------------------------

DRAW = [
    lambda g: dt.rand(5, generator=g),
    lambda g: dt.randn(5, generator=g),
    lambda g: dt.randint(100, (5,), generator=g),
    lambda g: dt.randperm(50, generator=g),
    lambda g: dt.normal(dt.zeros(5), 1.0, generator=g),
    lambda g: dt.bernoulli(dt.full((50,), 0.5), generator=g),
    lambda g: dt.multinomial(dt.ones(20), 10, generator=g),
    lambda g: dt.rand_like(dt.ones(5), generator=g),
    lambda g: dt.randn_like(dt.ones(5), generator=g),
    lambda g: dt.randint_like(dt.ones(5), 100, generator=g),
    lambda g: dt.zeros(5).uniform_(generator=g),
    lambda g: dt.zeros(5).normal_(generator=g),
    lambda g: dt.zeros(5).random_(generator=g),
    lambda g: dt.zeros(50).bernoulli_(generator=g),
    lambda g: dt.zeros(5).exponential_(generator=g),
    lambda g: dt.zeros(5).cauchy_(generator=g),
    lambda g: dt.zeros(5).log_normal_(generator=g),
    lambda g: dt.zeros(50).geometric_(0.3, generator=g),
]


@pytest.mark.parametrize("draw", DRAW, ids=range(len(DRAW)))
def test_a_seed_fixes_what_a_generator_gives_and_the_default_generator_is_untouched(draw) -> None:
    before = dt.get_rng_state()
    g = dt.Generator().manual_seed(5)
    first, second = draw(g), draw(g)
    assert draw(dt.Generator().manual_seed(5)).tolist() == first.tolist()
    assert first.tolist() != second.tolist()
    assert dt.get_rng_state().tolist() == before.tolist()


@pytest.mark.parametrize("draw", DRAW, ids=range(len(DRAW)))
def test_a_saved_state_gives_the_same_numbers_again(draw) -> None:
    draw(None)
    state = dt.get_rng_state()
    first = draw(None)
    dt.set_rng_state(state)
    assert draw(None).tolist() == first.tolist()


def test_a_state_is_a_copy_that_later_draws_do_not_change() -> None:
    g = dt.Generator().manual_seed(1)
    state = g.get_state()
    kept = state.clone()
    dt.rand(10, generator=g)
    assert state.tolist() == kept.tolist()


def test_odd_numbers_of_small_draws_are_restored_too() -> None:
    g = dt.Generator().manual_seed(1)
    dt.rand(3, dtype=dt.float32, generator=g)  # leaves half of a 64-bit word behind
    state = g.get_state()
    first = dt.rand(3, generator=g)
    assert dt.rand(3, generator=dt.Generator().set_state(state)).tolist() == first.tolist()
    assert g.clone_state().initial_seed() == 1


def test_fork_rng_leaves_the_default_generator_as_it_was_also_when_the_block_raises() -> None:
    state = dt.get_rng_state()
    with pytest.raises(KeyError), dt.random.fork_rng():
        dt.manual_seed(9)
        raise KeyError
    assert dt.get_rng_state().tolist() == state.tolist()


def test_a_fresh_seed_is_returned_and_used() -> None:
    g = dt.Generator()
    assert g.seed() == g.initial_seed()
    assert g.seed() != dt.Generator().seed()


def test_refused_states_and_seeds_change_nothing() -> None:
    state = dt.get_rng_state()
    with pytest.raises(RuntimeError, match="wrong size"):
        dt.set_rng_state(dt.zeros(3, dtype=dt.uint8))
    with pytest.raises(TypeError, match="uint8"):
        dt.set_rng_state(dt.zeros(48))
    with pytest.raises(TypeError, match="int"):
        dt.manual_seed("a")
    assert dt.get_rng_state().tolist() == state.tolist()


def test_threads_draw_from_one_generator_without_losing_or_repeating_numbers() -> None:
    g = dt.Generator().manual_seed(0)
    drawn: list[list[float]] = []

    def work() -> None:
        drawn.extend(dt.rand(20, generator=g, dtype=dt.float64).tolist() for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = sorted(value for part in drawn for value in part)
    assert together == sorted(dt.rand(4000, generator=dt.Generator().manual_seed(0), dtype=dt.float64).tolist())


# --- distributions --------------------------------------------------------------------------------

N = 20_000
MOMENTS = [
    ("uniform", lambda: dt.rand(N), 0.5, 12**-0.5),
    ("uniform half", lambda: dt.rand(N, dtype=dt.float16).float(), 0.5, 12**-0.5),
    ("uniform_", lambda: dt.zeros(N).uniform_(2, 6), 4.0, 4 * 12**-0.5),
    ("normal", lambda: dt.randn(N), 0.0, 1.0),
    ("normal_", lambda: dt.zeros(N).normal_(3, 2), 3.0, 2.0),
    ("normal function", lambda: dt.normal(dt.full((N,), 3.0), 2.0), 3.0, 2.0),
    ("exponential", lambda: dt.zeros(N).exponential_(2.0), 0.5, 0.5),
    ("bernoulli", lambda: dt.bernoulli(dt.full((N,), 0.3)), 0.3, (0.3 * 0.7) ** 0.5),
    ("bernoulli_", lambda: dt.zeros(N).bernoulli_(0.3), 0.3, (0.3 * 0.7) ** 0.5),
    ("randint", lambda: dt.randint(-2, 4, (N,)).double(), 0.5, (35 / 12) ** 0.5),
    ("random_", lambda: dt.zeros(N).random_(-2, 4), 0.5, (35 / 12) ** 0.5),
    ("geometric", lambda: dt.zeros(N).geometric_(0.5), 2.0, 2**0.5),
    ("log of log_normal", lambda: dt.zeros(N, dtype=dt.float64).log_normal_(1, 0.5).log(), 1.0, 0.5),
    ("angle of cauchy", lambda: dt.zeros(N, dtype=dt.float64).cauchy_().atan(), 0.0, np.pi * 12**-0.5),
    ("complex normal", lambda: dt.randn(N, dtype=dt.complex64).abs() ** 2, 1.0, 1.0),
    ("multinomial", lambda: dt.multinomial(dt.tensor([1.0, 0.0, 3.0]), N, replacement=True).double(), 1.5, 3**0.5 / 2),
]


@pytest.mark.parametrize(("draw", "mean", "spread"), [m[1:] for m in MOMENTS], ids=[m[0] for m in MOMENTS])
def test_mean_and_spread_are_those_of_the_distribution(draw, mean: float, spread: float) -> None:
    values = draw().numpy().astype(np.float64)
    assert abs(values.mean() - mean) < 6 * spread / N**0.5
    assert abs(values.std() - spread) < 0.05 * spread


def test_uniform_numbers_stay_below_one_in_every_precision() -> None:
    for dtype in (dt.float16, dt.float32, dt.float64):
        x = dt.rand(100_000, dtype=dtype)
        assert 0 <= x.min().item() and x.max().item() < 1


def test_random_integers_reach_both_bounds_and_no_further() -> None:
    x = dt.randint(-3, 3, (2000,))
    assert (x.min().item(), x.max().item()) == (-3, 2)
    bytes_ = dt.zeros(5000, dtype=dt.uint8).random_()
    assert (bytes_.min().item(), bytes_.max().item()) == (0, 255)
    assert set(dt.zeros(100, dtype=dt.bool).random_().tolist()) == {False, True}


def test_a_permutation_has_every_number_once_and_any_order() -> None:
    perms = {tuple(dt.randperm(4).tolist()) for _ in range(600)}
    assert len(perms) == 24
    assert all(sorted(p) == [0, 1, 2, 3] for p in perms)


def test_draws_without_replacement_never_repeat_and_never_take_what_has_no_weight() -> None:
    for _ in range(50):
        drawn = dt.multinomial(dt.tensor([1.0, 0.0, 5.0, 1.0]), 3).tolist()
        assert sorted(drawn) == [0, 2, 3]


def test_filling_a_view_fills_only_it() -> None:
    x = dt.zeros(4)
    x[1:3].uniform_(5, 6)
    assert x[0].item() == x[3].item() == 0
    assert (x[1:3] >= 5).all()
    assert x._version == 1


def test_a_saved_value_that_was_filled_is_noticed() -> None:
    x = dt.ones(2, requires_grad=True)
    y = x * 1
    z = y.sin()
    y.detach().normal_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_seed_that_is_no_integer_is_refused() -> None:
    with pytest.raises(TypeError, match="int"):
        dt.manual_seed(1.5)


DISTRIBUTIONS = """
x = torch.tensor([2.0, 3.0], requires_grad=True); y = torch.poisson(x); y.shape, y.requires_grad, torch.autograd.grad(y.sum(), x)
torch.poisson(torch.tensor([0.0], dtype=torch.float64)), torch.binomial(torch.tensor([4.0, 3.0]), torch.tensor([1.0])), torch._sample_dirichlet(torch.ones(2, 3)).sum(-1)
torch.poisson(torch.tensor([1]))
torch.poisson(torch.tensor([-1.0]))
torch.binomial(torch.tensor([10]), torch.tensor([0.5]))
torch.binomial(torch.tensor([2.0]), torch.tensor([0.5], dtype=torch.float64))
torch.binomial(torch.tensor([2.0]), torch.tensor([0.5], requires_grad=True)).sum().backward()
torch._standard_gamma(torch.tensor([1]))
"""


@needs_torch
@pytest.mark.parametrize("program", DISTRIBUTIONS.strip().splitlines())
def test_draws_with_parameters_are_pytorchs_but_for_the_numbers(program: str) -> None:
    same(program)


def test_draws_with_parameters_have_their_means() -> None:
    generator = dt.Generator().manual_seed(7)
    rates = dt.full((20000,), 3.0, dtype=dt.float64)
    assert abs(float(dt.poisson(rates, generator).mean()) - 3) < 0.05
    assert abs(float(dt._standard_gamma(rates, generator).mean()) - 3) < 0.05
    assert abs(float(dt.binomial(rates, rates / 6, generator).mean()) - 1.5) < 0.05


def test_draws_from_gamma_distributions_move_along_their_quantiles() -> None:
    from scipy.special import gammainc, gammaincinv

    alpha = dt.tensor([0.1, 1.0, 5.0, 80.0], dtype=dt.float64, requires_grad=True)
    draws = dt._standard_gamma(alpha)
    (slope,) = dt.autograd.grad(draws.sum(), alpha)
    a, x = alpha.detach().numpy(), draws.detach().numpy()
    step, quantile = 1e-5 * a, gammainc(a, x)
    expected = (gammaincinv(a + step, quantile) - gammaincinv(a - step, quantile)) / (2 * step)
    np.testing.assert_allclose(slope.numpy(), expected, rtol=1e-5)


def test_draws_from_dirichlet_distributions_have_the_gradient_of_their_parts() -> None:
    x = dt.tensor([2.0, 3.0], dtype=dt.float64, requires_grad=True)
    (g,) = dt.autograd.grad(dt._sample_dirichlet(x)[0], x)
    assert g[0] > 0 > g[1]


# shapes, a draw, how it moves with the first shape: from distribution functions of 50 digits, their differences
GAMMA_SLOPES = [
    (0.001, 1e-200, 4.599414466669988e-195),
    (0.001, 0.001, 6.339511118616954),
    (0.001, 2.0, 723.9961222022795),
    (0.1, 1e-08, 1.799692597541417e-6),
    (0.1, 0.5, 5.11969156720947),
    (1.0, 0.01, 0.05055692236986734),
    (1.0, 1.0, 1.173563027224727),
    (1.0, 30.0, 4.010702785322668),
    (8.0, 2.0, 0.4711591093587146),
    (8.0, 8.0, 1.021074394151715),
    (8.0, 40.0, 2.051134778613565),
    (100.0, 60.0, 0.7675054027398051),
    (100.0, 101.0, 1.006660056717011),
    (100.0, 180.0, 1.32470186187851),
    (1e4, 9500.0, 0.974588834973852),
    (1e4, 1e4, 1.000016666833324),
    (1e4, 10500.0, 1.024610522935506),
]
BETA_SLOPES = [
    (0.001, 0.001, 0.25, 94009.87190033723),
    (0.001, 5.0, 1e-09, 1.864135501662281e-5),
    (0.1, 2.0, 0.01, 0.373836734104767),
    (2.0, 0.1, 0.99, 0.006221016555554094),
    (1.0, 1.0, 0.5, 0.3465735902799727),
    (3.0, 4.0, 0.9, 0.02265859676833049),
    (30.0, 20.0, 0.55, 0.0087189099939658),
    (1e3, 1e4, 0.09, 8.232845915419065e-5),
]


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 1e-5)])
def test_slopes_of_quantiles_are_exact_for_every_shape_and_in_both_tails(dtype, tolerance: float) -> None:
    from dualtape.random.implicit_gradients import beta_slope, gamma_slope

    alpha, x, expected = np.array(GAMMA_SLOPES if dtype is np.float64 else GAMMA_SLOPES[1:]).T
    np.testing.assert_allclose(gamma_slope(alpha.astype(dtype), x.astype(dtype)), expected, rtol=tolerance)
    alpha, beta, x, expected = np.array(BETA_SLOPES).T
    slope = x * (1 - x) * beta_slope(alpha.astype(dtype), beta.astype(dtype), x.astype(dtype))
    np.testing.assert_allclose(slope, expected, rtol=max(tolerance, 1e-9) if dtype is np.float64 else 1e-4)


def test_slopes_keep_the_shape_of_what_they_are_of() -> None:
    from dualtape.random.implicit_gradients import beta_slope, gamma_slope

    assert gamma_slope(np.ones((2, 1)), np.ones(3)).shape == (2, 3) and gamma_slope(np.ones(0), np.ones(0)).shape == (
        0,
    )
    many = gamma_slope(np.full(5000, 2.0), np.linspace(0, 9, 5000))  # in blocks
    np.testing.assert_allclose(many[4999], gamma_slope(np.array(2.0), np.array(9.0)))
    assert np.isfinite(many).all() and np.isfinite(beta_slope(np.ones(2), np.ones(2), np.array([0.0, 1.0]))).all()


def test_proportions_of_tiny_concentrations_are_drawn_and_move() -> None:
    alpha = dt.full((1000, 2), 1e-3, dtype=dt.float64, requires_grad=True)
    x = dt._sample_dirichlet(alpha)
    (slope,) = dt.autograd.grad(x[:, 0].sum(), alpha)
    assert bool(((x.sum(-1) - 1).abs() < 1e-12).all()) and 350 < int((x[:, 0] > 0.5).sum()) < 650
    assert bool(slope.isfinite().all()) and float(slope[:, 0].min()) >= 0
    with pytest.raises(RuntimeError, match="positive concentrations"):
        dt._sample_dirichlet(dt.tensor([0.0, 1.0]))


def test_rows_that_are_drawn_at_once_and_one_by_one_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = dt.rand(5, 7, generator=dt.Generator().manual_seed(1))
    drawn = []
    for limit in (10**6, 0):
        monkeypatch.setattr(dt.random.draws, "_AT_ONCE", limit)
        drawn.append(dt.multinomial(weights, 50, True, generator=dt.Generator().manual_seed(2)))
    assert bool((drawn[0] == drawn[1]).all()) and drawn[0].dtype is dt.int64


def test_binomial_refuses_probabilities_beyond_1() -> None:
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        dt.binomial(dt.tensor([2.0]), dt.tensor([2.0]))
