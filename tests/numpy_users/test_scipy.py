"""``dualtape.scipy``: values as SciPy's, derivatives as of differences of SciPy's functions."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.sparse.linalg
import scipy.special
import scipy.stats
from scipy_samples import SAMPLES

import dualtape as dt
from dualtape.ops.numpy_entries.special import SPECIAL
from dualtape.pytree import tree_leaves

RNG = np.random.default_rng(1)
VALUES: dict[str, Any] = {
    "x": np.array([0.3, 1.7, 2.4]),
    "y": np.array([1.2, 0.4, 3.3]),
    "p": np.array([0.2, 0.55, 0.9]),
    "r": np.array([-1.3, 0.4, 2.2]),
    "s": np.array(1.4),
    "A": RNG.normal(size=(3, 3)) + 3 * np.eye(3),
    "B": RNG.normal(size=(3, 2)),
    "W": RNG.normal(size=(3, 4, 2)),
    "V": RNG.normal(size=(2, 2, 3)),
    "S": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]),
    "Q": np.array([[1.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 3.0]]),
}
FIXED: dict[str, Any] = {"k": np.array([0, 2, 5]), "v": np.array([0.5, 2.0, 3.5])}

CALLS = """
special.erf(r) special.erfc(r) special.erfinv(p) special.erfcinv(p) special.erfcx(r) special.erfi(r) special.dawsn(r) special.expit(r) special.logit(p) special.log_expit(r)
special.psi(x) special.digamma(x) special.gamma(x) special.gammaln(x) special.loggamma(x) special.rgamma(x) special.beta(x,y) special.betaln(x,y) special.gammainc(v,x) special.gammaincc(v,x)
special.gammaincinv(v,p) special.gammainccinv(v,p) special.betainc(v,2.0,p) special.betaincc(v,2.0,p) special.betaincinv(v,2.0,p) special.stdtr(v,r) special.stdtrit(v,p) special.zeta(2.5,x)
special.ndtr(r) special.ndtri(p) special.log_ndtr(r) special.entr(x) special.xlogy(x,y) special.xlog1py(r,y) special.i0(r) special.i0e(r) special.i1(r) special.i1e(r) special.j0(r) special.j1(r) special.y0(x) special.y1(x) special.k0(x) special.k0e(x) special.k1(x) special.k1e(x)
special.jv(1.5,x) special.jn(2,x) special.yv(0.5,x) special.yn(1,x) special.iv(1.5,x) special.ive(2,x) special.kv(0.5,x) special.kn(1,x) special.kve(1.0,x) special.exp1(x) special.expi(x) special.fresnel(r) special.sici(x) special.cbrt(r) special.exp2(r) special.exp10(r) special.expm1(r) special.log1p(x) special.cosm1(r) special.sinc(r)
special.rel_entr(x,y) special.kl_div(x,y) special.huber(s,r) special.pseudo_huber(s,r) special.boxcox(x,s) special.boxcox(x,0.0) special.boxcox1p(x,s) special.inv_boxcox(x,s) special.poch(x,y) special.binom(x+3,y)
special.chdtr(v,x) special.chdtrc(v,x) special.gdtr(x,1.5,y) special.gdtrc(x,1.5,y) special.pdtr(k,x) special.pdtrc(k,x) special.bdtr(k,6,p)
special.logsumexp(A) special.logsumexp(A,axis=0) special.logsumexp(A,axis=1,keepdims=True) special.logsumexp(x,b=y) special.logsumexp(x,b=r,return_sign=True) special.softmax(A) special.softmax(A,axis=1) special.log_softmax(x) special.polygamma(2,x) special.multigammaln(x+3,2) special.factorial(r) special.comb(x+3,y) special.comb(x+3,2,repetition=True)
stats.norm.pdf(r) stats.norm.logpdf(r,x,y) stats.norm.cdf(r,scale=y) stats.norm.sf(r) stats.norm.logcdf(r,s) stats.norm.logsf(r) stats.norm.ppf(p,x,y) stats.norm.isf(p)
stats.uniform.pdf(p,0.1,1.5) stats.uniform.logpdf(p,scale=s) stats.uniform.cdf(r) stats.uniform.sf(p) stats.uniform.ppf(p,r,y) stats.expon.pdf(r) stats.expon.logpdf(x,scale=y) stats.expon.cdf(r) stats.expon.sf(x,r) stats.expon.logsf(x) stats.expon.ppf(p,scale=s)
stats.laplace.logpdf(r,0.1,y) stats.laplace.cdf(r) stats.laplace.sf(r) stats.laplace.ppf(p) stats.logistic.logpdf(r,s) stats.logistic.cdf(r) stats.logistic.sf(r) stats.logistic.logcdf(r) stats.logistic.logsf(r) stats.logistic.ppf(p) stats.cauchy.logpdf(r) stats.cauchy.cdf(r,s) stats.cauchy.sf(r) stats.cauchy.ppf(p)
stats.gumbel_r.logpdf(r) stats.gumbel_r.cdf(r) stats.gumbel_r.sf(r) stats.gumbel_r.logcdf(r) stats.gumbel_r.ppf(p) stats.halfnorm.logpdf(x) stats.halfnorm.cdf(x) stats.halfnorm.sf(x) stats.halfnorm.ppf(p) stats.lognorm.logpdf(x,s) stats.lognorm.cdf(x,y) stats.lognorm.sf(x,s) stats.lognorm.ppf(p,s,scale=y)
stats.gamma.pdf(r,1.5) stats.gamma.logpdf(x,y,0.1,s) stats.gamma.cdf(x,1.5,scale=s) stats.gamma.sf(x,1.5) stats.gamma.ppf(p,2.5,scale=s) stats.invgamma.logpdf(x,y) stats.invgamma.cdf(x,1.5) stats.invgamma.sf(x,1.5) stats.beta.pdf(p,x,y) stats.beta.logpdf(p,x,y) stats.beta.cdf(p,1.5,2.0) stats.beta.sf(p,1.5,2.0) stats.beta.ppf(p,1.5,2.0)
stats.t.logpdf(r,y) stats.t.pdf(r,3,x,s) stats.t.cdf(r,3.0) stats.t.sf(r,2.5) stats.t.ppf(p,2.5) stats.chi2.logpdf(x,y) stats.chi2.cdf(x,3) stats.chi2.sf(x,3) stats.chi2.ppf(p,3) stats.weibull_min.logpdf(x,y) stats.weibull_min.cdf(x,y) stats.weibull_min.sf(x,s) stats.weibull_min.logsf(x,s) stats.weibull_min.ppf(p,s) stats.pareto.logpdf(x+1,y) stats.pareto.cdf(x+1,y) stats.pareto.sf(x+1,y) stats.pareto.ppf(p,y)
stats.poisson.logpmf(k,x) stats.poisson.pmf(k,s) stats.poisson.cdf(k,x) stats.poisson.sf(k,x) stats.poisson.logpmf(-1,x) stats.bernoulli.logpmf([0,1,2],p) stats.bernoulli.cdf([0,1,-1],p) stats.binom.logpmf(k,5,p) stats.binom.pmf(2,4,p) stats.binom.cdf(k,6,p) stats.nbinom.logpmf(k,x,p) stats.nbinom.cdf(k,3,p) stats.geom.logpmf([1,2,4],p) stats.geom.cdf([1,2,0],p) stats.geom.sf(2,p)
stats.multivariate_normal.logpdf(x,r,S) stats.multivariate_normal.pdf(A,r,S) stats.multivariate_normal.logpdf(x) stats.multivariate_normal.logpdf(x,r,y) stats.multivariate_normal.logpdf(x,r,s) stats.dirichlet.logpdf(p/np.sum(p),x) stats.dirichlet.pdf([0.2,0.3],x) stats.multinomial.logpmf([1,2,1],4,p/np.sum(p)) stats.multinomial.pmf([1,2,1],5,p/np.sum(p))
stats.norm(x,y).logpdf(r) stats.gamma(1.5,scale=s).cdf(x) stats.poisson(x).pmf(k) stats.multivariate_normal(r,S).logpdf(x)
linalg.solve(A,B) linalg.solve(A,x) linalg.solve(S,x,assume_a="pos") linalg.solve(S,x,assume_a="sym",lower=True) linalg.solve(A,x,transposed=True) linalg.inv(A) linalg.det(A) linalg.pinv(B) linalg.lstsq(B,x)[0] linalg.cholesky(S) linalg.cholesky(S,lower=True) linalg.cho_solve(linalg.cho_factor(S),x) linalg.cho_solve(linalg.cho_factor(S,lower=True),B)
linalg.solve_triangular(A,x) linalg.solve_triangular(A,B,lower=True) linalg.solve_triangular(A,x,trans=1) linalg.solve_triangular(A,x,trans="T",unit_diagonal=True) linalg.expm(A/3) linalg.logm(S) linalg.sqrtm(S) linalg.sinm(A/3) linalg.cosm(A/3) linalg.sinhm(A/3) linalg.coshm(A/3) linalg.lu(A) linalg.lu(A,permute_l=True) linalg.lu_solve(linalg.lu_factor(A),x) linalg.lu_solve(linalg.lu_factor(A),B,trans=1)
linalg.qr(A) linalg.qr(B,mode="economic") linalg.qr(B,mode="r") linalg.svd(A,compute_uv=False) linalg.svdvals(B) abs(linalg.svd(A)[0]) linalg.eigh(S)[0] abs(linalg.eigh(S)[1]) linalg.eigh(S,eigvals_only=True,lower=False) linalg.eigh(S,Q)[0] abs(linalg.eigh(S,Q)[1]) linalg.eigvalsh(S,Q) np.sort(np.real(linalg.eigvals(S))) linalg.block_diag(A,B) linalg.toeplitz(x) linalg.toeplitz(x,y) linalg.hankel(x) linalg.hankel(x,y) linalg.circulant(x) linalg.norm(A) linalg.norm(x,1) linalg.polar(A) linalg.polar(A,side="left")
linalg.solve_sylvester(A,S,A) linalg.solve_continuous_lyapunov(A,S) linalg.solve_discrete_lyapunov(A/9,S)
signal.convolve(x,r) signal.convolve(x,p[:2],"same") signal.convolve(p[:2],x,mode="valid") signal.convolve(W,V) signal.convolve(W,V[:,:,:2],"same") signal.convolve(W,V[:1,:,:2],"valid") signal.convolve(x,y,method="fft") signal.fftconvolve(A,B,"same") signal.correlate(x,r) signal.correlate(W,V,"same") signal.correlate(p[:2],x,"valid") signal.correlate(x,p[:2],"valid") signal.convolve2d(A,B,"same")
""".split()


class Modules:
    """The modules that the calls name."""

    def __init__(self, root: Any) -> None:
        self.names = {name: getattr(root, name) for name in ("special", "stats", "linalg", "signal")}


def run(call: str, root: Any, values: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(call, {"np": np, **Modules(root).names, **FIXED, **values})


def leaves(result: Any) -> list:
    return [leaf for leaf in tree_leaves(result) if isinstance(leaf, (np.ndarray, np.generic, float, dt.Tensor))]


def used(call: str) -> list[str]:
    return [name for name in VALUES if re.search(rf"(?<![\w.\"]){name}(?![\w=\"(.])", call)]


@pytest.mark.parametrize("call", CALLS)
def test_a_function_of_scipys_has_its_values_and_the_derivatives_of_differences(call: str) -> None:
    names = used(call)
    tensors = {name: dt.tensor(VALUES[name], requires_grad=True) for name in names}
    got, expected = leaves(run(call, dt.scipy, tensors)), leaves(run(call, scipy, VALUES))
    assert len(got) == len(expected)
    for mine, theirs in zip(got, expected, strict=True):
        assert type(mine) is dt.Tensor and mine.shape == np.shape(theirs)
        np.testing.assert_allclose(mine.detach().numpy(), theirs, rtol=1e-9, atol=1e-10)
    places = [k for k, mine in enumerate(got) if mine.requires_grad]
    assert places, "no result has history"

    def weighed(results: list) -> Any:
        parts = [results[k] for k in places]
        finite = [np.isfinite(np.asarray(expected[k])) for k in places]
        weights = [np.cos(np.arange(np.size(f)) + 1.0).reshape(np.shape(f)) for f in finite]
        return sum(np.sum(np.where(f, np.real(p), 0.0) * w) for p, f, w in zip(parts, finite, weights, strict=True))

    gradients = dt.autograd.grad(weighed(got), list(tensors.values()), allow_unused=True, materialize_grads=True)
    for name, gradient in zip(names, gradients, strict=True):
        direction = np.sin(np.arange(VALUES[name].size) * 2.3 + 0.5).reshape(VALUES[name].shape)
        direction = direction + direction.T if name in "SQ" else direction
        step = 1e-5
        ahead, behind = (
            weighed(leaves(run(call, scipy, {**VALUES, name: VALUES[name] + sign * step * direction})))
            for sign in (1, -1)
        )
        slope = (ahead - behind) / (2 * step)
        np.testing.assert_allclose((gradient.numpy() * direction).sum(), slope, rtol=1e-5, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_every_special_function_is_called(name: str) -> None:
    every = [*CALLS, *SAMPLES["special functions"].split()]
    assert (
        not hasattr(scipy.special, name)
        or name in ("itairy", "elliprd")
        or any(call.startswith(f"special.{name}(") for call in every)
    )


def test_without_tensors_scipy_itself_answers() -> None:
    assert type(dt.scipy.stats.norm.logpdf(0.5)) is np.float64
    assert type(dt.scipy.linalg.expm(np.eye(2))) is np.ndarray
    assert dt.scipy.special.erf is scipy.special.erf
    assert dt.scipy.stats.norm.rvs(size=3, random_state=0).shape == (3,)
    assert dt.scipy.optimize.milp is scipy.optimize.milp
    assert dt.scipy.stats.norm(0, 1).mean() == 0


def test_distributions_are_found_as_modules() -> None:
    import dualtape.scipy.stats.multivariate_normal as mvn
    import dualtape.scipy.stats.norm as norm

    assert norm is dt.scipy.stats.norm and mvn is dt.scipy.stats.multivariate_normal


def test_what_scipy_has_and_has_no_derivative_refuses_tensors_that_require_grad() -> None:
    x = dt.ones(3, requires_grad=True)
    for call in (
        lambda: dt.scipy.special.zetac(x),
        lambda: dt.scipy.linalg.hessenberg(x.reshape(3, 1)),
        lambda: dt.scipy.signal.find_peaks(x),
        lambda: dt.scipy.special.gammainc(x, 1.0).sum().backward(),
        lambda: dt.scipy.special.jv(x, 1.0),
        lambda: dt.scipy.stats.invgamma.ppf(0.5, x),
        lambda: dt.scipy.stats.mode(x),
    ):
        with pytest.raises((RuntimeError, TypeError, NotImplementedError)):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: dt.scipy.linalg.qr(x, pivoting=True),
        lambda x: dt.scipy.linalg.eig(x, left=True),
        lambda x: dt.scipy.linalg.eigh(x, subset_by_index=[0, 0]),
        lambda x: dt.scipy.special.comb(x, 1, exact=True),
        lambda x: dt.scipy.stats.multivariate_normal.logpdf(x, allow_singular=True),
        lambda x: dt.scipy.stats.norm.logpdf(x, 0, 1, 2),
        lambda x: dt.scipy.stats.gamma.logpdf(x),
        lambda x: dt.scipy.signal.upfirdn(x[0], x, mode="wrap"),
        lambda x: dt.scipy.optimize.minimize(lambda v, a: (v - a).sum(), [0.0], args=(x,), constraints=[{}]),
        lambda x: dt.scipy.integrate.odeint(lambda y, t: y, x[0], [0, 1], full_output=1),
    ],
)
def test_an_argument_that_has_no_meaning_for_tensors_is_refused(call: Any) -> None:
    with pytest.raises(TypeError):
        call(dt.eye(2, requires_grad=True))


def test_infinities_are_refused_where_scipy_refuses_them() -> None:
    with pytest.raises(ValueError, match="infs or NaNs"):
        dt.scipy.linalg.inv(dt.tensor([[np.inf]], requires_grad=True))


# --- equations ------------------------------------------------------------------------------------


def leaf(values: Any) -> dt.Tensor:
    return dt.tensor(values, dtype=dt.float64, requires_grad=True)


SOLVERS = {
    "root": lambda a: dt.scipy.optimize.root(lambda x, a: x**3 + x - a, [1.0, 1.0], args=(a,), tol=1e-12).x,
    "root by least squares": lambda a: (
        dt.scipy.optimize.root(lambda x, a: x**3 + x - a, [1.0, 1.0], (a,), "lm", tol=1e-12).x
    ),
    "fsolve": lambda a: dt.scipy.optimize.fsolve(lambda x, a, k: x**3 + k * x - a, [1.0, 1.0], args=(a, 2.0)),
    "brentq": lambda a: dt.scipy.optimize.brentq(lambda x, a: x**3 + x - a[0] * a[1], 0.0, 9.0, args=(a,), xtol=1e-13),
    "fixed_point": lambda a: dt.scipy.optimize.fixed_point(
        lambda x, a: np.cos(x) * a / 4, [0.5, 0.5], (a,), xtol=1e-13
    ),
    "minimize": lambda a: (
        dt.scipy.optimize.minimize(lambda x, a: ((x - a) ** 4).sum() + (x * x).sum(), [0.1, 0.3], args=(a,), tol=1e-9).x
    ),
    "value of minimize": lambda a: (
        dt.scipy.optimize.minimize(
            lambda x, a: ((x - a) ** 2).sum() + (x**4).sum(), [0.1, 0.3], args=a, method="L-BFGS-B", tol=1e-14
        ).fun
    ),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solution_has_the_derivatives_of_the_implicit_function(name: str) -> None:
    assert dt.autograd.gradcheck(SOLVERS[name], leaf([2.0, 3.0]), eps=1e-4, atol=1e-4)


def test_a_solution_has_second_derivatives() -> None:
    a = leaf([2.0, 3.0])
    assert dt.autograd.gradgradcheck(SOLVERS["root"], a, eps=1e-4, atol=1e-4)


def test_a_solution_that_was_not_found_has_no_derivative() -> None:
    a = leaf(1.0)
    found = dt.scipy.optimize.root(lambda x, a: x * x + a, [1.0], args=(a,))
    assert not found.success
    with pytest.raises(RuntimeError, match="did not converge"):
        found.x.sum().backward()


# --- differential equations -----------------------------------------------------------------------

TIGHT = dict(rtol=1e-10, atol=1e-10)


def swing(y: Any, t: Any, k: Any, c: Any) -> Any:
    return np.stack([y[1], -k * np.sin(y[0]) - c * y[1] + 0.1 * t])


def by_odeint(y0: Any, t: Any, k: Any) -> Any:
    return dt.scipy.integrate.odeint(swing, y0, t, args=(k, 0.3), **TIGHT)


def by_solve_ivp(y0: Any, t: Any, k: Any) -> Any:
    turned = lambda t, y, k, c: swing(y, t, k, c)  # noqa: E731
    found = dt.scipy.integrate.solve_ivp(turned, (t.detach()[0], t[-1]), y0, t_eval=t, args=(k, 0.3), **TIGHT)
    return found.y.T


@pytest.mark.parametrize("solve", [by_odeint, by_solve_ivp])
def test_a_path_has_derivatives_by_initial_state_times_and_parameters(solve: Any) -> None:
    y0, t, k = leaf([1.0, 0.2]), leaf([0.0, 0.4, 1.1]), leaf(2.0)
    expected = scipy.integrate.odeint(swing, [1.0, 0.2], [0.0, 0.4, 1.1], args=(2.0, 0.3), **TIGHT)
    np.testing.assert_allclose(solve(y0, t, k).detach().numpy(), expected, rtol=1e-7)
    assert dt.autograd.gradcheck(solve, (y0, t, k), eps=1e-4, atol=1e-5)


def test_a_path_has_second_derivatives() -> None:
    def decay(y0: Any, rate: Any) -> Any:
        return dt.scipy.integrate.odeint(lambda y, t, rate: -rate * y, y0, [0.0, 1.0], args=(rate,), **TIGHT)[-1]

    y0, rate = leaf([2.0]), leaf(0.7)
    (slope,) = dt.autograd.grad(decay(y0, rate).sum(), rate, create_graph=True)
    curvature = dt.autograd.grad(slope, (rate, y0))
    np.testing.assert_allclose([float(c.sum()) for c in curvature], [2 * np.exp(-0.7), -np.exp(-0.7)], rtol=1e-6)


def test_the_end_of_solve_ivp_has_a_derivative() -> None:
    end = leaf(1.5)
    found = dt.scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, end), [1.0], **TIGHT)
    found.y[0, -1].backward()
    np.testing.assert_allclose(float(end.grad), -np.exp(-1.5), rtol=1e-7)


# --- sparse systems -------------------------------------------------------------------------------

INDICES = [[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 2]]


@pytest.mark.parametrize("columns", [1, 2])
def test_spsolve_has_derivatives_by_values_and_right_hand_side(columns: int) -> None:
    def solve(values: Any, b: Any) -> Any:
        return dt.scipy.sparse.linalg.spsolve(dt.sparse_coo_tensor(INDICES, values, (3, 3)), b)

    values = leaf([4.0, 1.0, 0.5, 3.0, 0.3, 2.0])
    b = leaf(np.array([[1.0, 0.2], [2.0, -1.0], [0.5, 3.0]])[:, :columns].squeeze(-1 if columns == 1 else ()))
    dense = scipy.sparse.coo_matrix((values.detach().numpy(), INDICES)).toarray()
    np.testing.assert_allclose(solve(values, b).detach().numpy(), np.linalg.solve(dense, b.detach().numpy()))
    assert dt.autograd.gradcheck(solve, (values, b)) and dt.autograd.gradgradcheck(solve, (values, b))


@pytest.mark.parametrize("name", ["spsolve", "cg", "bicgstab"])
def test_a_matrix_of_scipys_or_a_dense_one_is_taken(name: str) -> None:
    solver = getattr(dt.scipy.sparse.linalg, name)
    options = {} if name == "spsolve" else {"rtol": 1e-12}
    first = (lambda found: found) if name == "spsolve" else (lambda found: found[0])
    fixed = scipy.sparse.csr_matrix(VALUES["S"])
    b = leaf([1.0, 2.0, 3.0])
    assert dt.autograd.gradcheck(lambda b: first(solver(fixed, b, **options)), b, atol=1e-5)
    symmetric = lambda m, b: first(solver((m + m.T) / 2, b, **options))  # noqa: E731
    assert dt.autograd.gradcheck(symmetric, (leaf(VALUES["S"]), b), atol=1e-5)


def test_an_iteration_that_did_not_converge_has_no_derivative() -> None:
    x, info = dt.scipy.sparse.linalg.cg(leaf(VALUES["S"]), leaf([1.0, 2.0, 3.0]), maxiter=1, rtol=1e-12)
    assert info
    with pytest.raises(RuntimeError, match="cg did not converge"):
        x.sum().backward()


def test_nothing_of_scipy_is_loaded_before_it_is_used() -> None:
    program = "import sys, dualtape as dt, dualtape.scipy; dt.scipy.linalg; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


LINE = np.stack([np.ones(6), np.linspace(0.0, 1.0, 6)], 1)
SEEN = np.array([1.0, 1.4, 1.7, 2.4, 2.5, 3.3])


def test_least_squares_of_a_line_has_the_derivatives_of_the_normal_equations() -> None:
    data = dt.from_numpy(SEEN.copy()).requires_grad_()
    fit = lambda y: dt.scipy.optimize.least_squares(lambda x, y: LINE @ x - y, [0.0, 0.0], args=(y,))  # noqa: E731
    found = fit(data)
    assert np.allclose(found.x.detach(), np.linalg.lstsq(LINE, SEEN)[0]) and found.success
    assert np.allclose(dt.func.jacrev(lambda y: fit(y).x)(data), np.linalg.pinv(LINE))
    found.cost.backward()  # the residuals are orthogonal to what the parameters can change
    assert np.allclose(data.grad, SEEN - LINE @ found.x.detach().numpy())
    assert np.allclose(found.fun.detach(), LINE @ found.x.detach().numpy() - SEEN)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
@pytest.mark.parametrize("low", [-5.0, 2.5])
def test_least_squares_with_losses_and_bounds_beside_differences(loss: str, low: float) -> None:
    def fit(y):
        tight = dict(xtol=1e-15, ftol=1e-15, gtol=1e-13, max_nfev=1000)
        return dt.scipy.optimize.least_squares(
            lambda x, y: LINE @ x - y, [1.0, 3.0], args=(y,), loss=loss, f_scale=0.26, bounds=([-5, low], 5), **tight
        ).x

    exact = dt.func.jacrev(fit)(dt.from_numpy(SEEN)).numpy()
    for k, unit in enumerate(np.eye(6) * 1e-3):
        after, before = (fit(dt.from_numpy(SEEN + step)).detach().numpy() for step in (unit, -unit))
        assert np.allclose((after - before) / 2e-3, exact[:, k], atol=2e-3)
    assert low < 0 or np.allclose(exact[1], 0)


def test_least_squares_refuses_what_has_no_derivative_and_is_scipys_without_tensors() -> None:
    solve, y = dt.scipy.optimize.least_squares, dt.ones(2, dtype=dt.float64)
    for words, more in {
        "bounds are numbers": {"bounds": (y, np.inf)},
        "not a function": {"loss": np.log1p},
        "pass tensors in args=": {"kwargs": {"b": y}},
    }.items():
        with pytest.raises(TypeError, match=words):
            solve(lambda x, a, b=0: x - a, [0.0, 0.0], args=(y,), **more)
    with pytest.raises(ValueError, match="loss must be one of linear, soft_l1"):
        solve(lambda x, a: x - a, [0.0, 0.0], args=(y,), loss="square")
    found = solve(lambda x, a: x**3 - a, [5.0, 5.0], args=(y.requires_grad_(),), max_nfev=1)
    with pytest.raises(RuntimeError, match="did not converge"):
        found.x.sum().backward()
    assert isinstance(solve(lambda x: x - 1, [0.0]).x, np.ndarray)


# --- functions of SciPy's own --------------------------------------------------------------------------


def test_scipys_own_functions_name_the_function_that_takes_tensors() -> None:
    import scipy.linalg
    import scipy.optimize
    import scipy.special
    import scipy.stats

    x = dt.tensor([1.0, 2.0], dtype=dt.float64, requires_grad=True)
    matrix = dt.eye(2, dtype=dt.float64).mul(2).requires_grad_()
    calls = {
        "scipy.special.logsumexp": lambda: scipy.special.logsumexp(x),
        "scipy.linalg.expm": lambda: scipy.linalg.expm(matrix),
        "scipy.stats.norm.logpdf": lambda: scipy.stats.norm.logpdf(x),
        "scipy.optimize.minimize": lambda: scipy.optimize.minimize(lambda z: (z**2).sum(), x),
    }
    for name, call in calls.items():
        with pytest.raises(
            RuntimeError, match=f"{name} makes arrays .*use dualtape.{name}, which takes tensors"
        ) as info:
            call()
        assert "detach" not in str(info.value)


def test_functions_of_numpys_that_call_back_say_what_to_use() -> None:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="numpy.vectorize makes arrays of its arguments.*use dualtape.vmap"):
        np.vectorize(lambda a: a * a)(x)


def test_arrays_that_users_make_themselves_keep_pytorchs_words() -> None:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="Can't call numpy.*requires grad. Use tensor.detach"):
        np.array(x)
