"""Public names of SciPy's without a version for tensors, with the reason.

They are SciPy's own here, and refuse tensors that require grad. A test walks SciPy's modules: a name is in the
``__all__`` of ours, or in this table.
"""

from __future__ import annotations

__all__ = ["LEFT_OUT", "reason_of"]

_OBJECTS = "a class, an error, a setting or a submodule: not a function of arrays"
_DISCRETE = "gives counts, indices, truth values or sizes: no derivative"
_CONSTANT = "its arguments are integers or names: its results are constants"
_RANKS = "of ranks or counts: its value does not change with small changes of the data"
_RANDOM = "draws random numbers or simulates: distributions here have densities, dualtape.distributions samples"
_ORDER = "its derivatives are with respect to an order or a parameter without a closed form"
_FACTORS = "its result is not unique: an orthogonal basis or a canonical form, which jumps"
_ALIAS = "another name for minimize, root or least_squares with one method: use those"
_SEARCH = "searches globally: pass what it finds to minimize, which gives it derivatives"
_UNWRITTEN = "has a derivative, which is not written here"
_DESIGN = "designs a filter from integers and names; freqz, lfilter and sosfilt differentiate by the coefficients"
_FITPACK = "FITPACK's, which chooses knots itself: use make_interp_spline, make_lsq_spline, BSpline or splev"

LEFT_OUT: dict[str, dict[str, str]] = {
    "special": {
        _OBJECTS: "SpecialFunctionError SpecialFunctionWarning errstate geterr seterr",
        _DISCRETE: "gammasgn round",
        _CONSTANT: "ai_zeros bei_zeros beip_zeros ber_zeros bernoulli berp_zeros bi_zeros c_roots cg_roots chebyc"
        " chebys chebyt chebyu erf_zeros euler factorial2 factorialk fresnel_zeros fresnelc_zeros fresnels_zeros"
        " gegenbauer genlaguerre h_roots he_roots hermite hermitenorm j_roots jacobi jn_zeros jnjnp_zeros"
        " jnp_zeros jnyn_zeros js_roots kei_zeros keip_zeros kelvin_zeros ker_zeros kerp_zeros l_roots"
        " la_roots laguerre legendre p_roots ps_roots roots_chebyc roots_chebys roots_chebyt roots_chebyu"
        " roots_gegenbauer roots_genlaguerre roots_hermite roots_hermitenorm roots_jacobi roots_laguerre"
        " roots_legendre roots_sh_chebyt roots_sh_chebyu roots_sh_jacobi roots_sh_legendre s_roots sh_chebyt"
        " sh_chebyu sh_jacobi sh_legendre stirling2 t_roots ts_roots u_roots us_roots y0_zeros y1_zeros"
        " y1p_zeros yn_zeros ynp_zeros mathieu_even_coef mathieu_odd_coef ellip_normal",
        _ORDER: "bdtrik bdtrin btdtria btdtrib chdtriv chndtridf chndtrinc fdtridfd gdtria gdtrib mathieu_a mathieu_b"
        " nbdtrik nbdtrin ncfdtridfd ncfdtridfn ncfdtrinc nctdtridf nctdtrinc obl_cv obl_cv_seq pdtrik pro_cv"
        " pro_cv_seq stdtridf zetac",
        _UNWRITTEN: "assoc_laguerre assoc_legendre_p assoc_legendre_p_all besselpoly btdtri chndtrix ellip_harm"
        " ellip_harm_2 elliprg elliprj jve kelvin kolmogi kolmogorov legendre_p legendre_p_all lmbda"
        " log_wright_bessel lpmn lpn lqmn lqn clpmn mathieu_modcem1 mathieu_modcem2 mathieu_modsem1"
        " mathieu_modsem2 modfresnelm modfresnelp ncfdtr ncfdtri nctdtr nctdtrit obl_ang1 obl_ang1_cv obl_rad1"
        " obl_rad1_cv obl_rad2 obl_rad2_cv pbdn_seq pbdv_seq pbvv_seq pro_ang1 pro_ang1_cv pro_rad1"
        " pro_rad1_cv pro_rad2 pro_rad2_cv riccati_jn riccati_yn smirnov smirnovi sph_harm sph_harm_y_all"
        " sph_legendre_p sph_legendre_p_all yve",
    },
    "stats": {
        _OBJECTS: "Binomial BootstrapMethod CensoredData ConstantInputWarning Covariance DegenerateDataWarning FitError"
        " Logistic Mixture MonteCarloMethod NearConstantInputWarning Normal PermutationMethod Uniform"
        " contingency distributions kde make_distribution morestats mstats mstats_basic mstats_extras mvn qmc"
        " rv_continuous rv_discrete rv_histogram sampling stats truncate order_statistic biasedurn",
        _RANKS: "alexandergovern anderson anderson_ksamp ansari barnard_exact binned_statistic binned_statistic_2d"
        " binned_statistic_dd binomtest boschloo_exact brunnermunzel bws_test chatterjeexi chi2_contingency"
        " cramervonmises cramervonmises_2samp cumfreq ecdf false_discovery_control fisher_exact fligner"
        " friedmanchisquare kendalltau kruskal ks_1samp ks_2samp kstest mannwhitneyu median_test mode mood"
        " page_trend_test percentileofscore poisson_means_test quantile_test rankdata ranksums relfreq"
        " siegelslopes somersd spearmanr spearmanrho theilslopes tiecorrect weightedtau wilcoxon logrank",
        _RANDOM: "bootstrap goodness_of_fit monte_carlo_test multiscale_graphcorr ortho_group permutation_test power"
        " random_correlation random_table sobol_indices special_ortho_group uniform_direction unitary_group"
        " dunnett",
        _ORDER: "ksone kstwo kstwobign landau levy_stable studentized_range genhyperbolic geninvgauss kappa4 ncf nct"
        " ncx2 norminvgauss irwinhall tukeylambda dpareto_lognorm vonmises_fisher tukey_hsd",
        _UNWRITTEN: "abs bayes_mvs betabinom betanbinom boltzmann boxcox boxcox_normmax boxcox_normplot combine_pvalues"
        " describe directional_stats dirichlet_multinomial dlaplace energy_distance epps_singleton_2samp exp"
        " expectile fit gausshyper gaussian_kde hypergeom invwishart lmoment log logser matrix_normal matrix_t"
        " multivariate_hypergeom multivariate_t mvsdist nchypergeom_fisher nchypergeom_wallenius nhypergeom"
        " normal_inverse_gamma obrientransform planck pointbiserialr poisson_binom ppcc_max ppcc_plot probplot"
        " quantile randint scoreatpercentile shapiro skellam tmax tmin trapezoid trim1 trimboth tsem"
        " wasserstein_distance_nd wishart yeojohnson yeojohnson_normmax yeojohnson_normplot yulesimon zipf"
        " zipfian rvs_ratio_uniforms find_repeats trapz",
    },
    "linalg": {
        _OBJECTS: "LinAlgWarning basic blas cython_blas cython_lapack decomp decomp_cholesky decomp_lu decomp_qr"
        " decomp_schur decomp_svd find_best_blas_type get_blas_funcs get_lapack_funcs interpolative lapack"
        " matfuncs misc special_matrices",
        _DISCRETE: "bandwidth ishermitian issymmetric",
        _CONSTANT: "dft hadamard helmert hilbert invhilbert invpascal pascal",
        _RANDOM: "clarkson_woodruff_transform",
        _FACTORS: "cdf2rdf cossin hessenberg ldl null_space ordqz orth qr_delete qr_insert qr_update qz rsf2csf schur",
        _UNWRITTEN: "cho_solve_banded cholesky_banded expm_cond fiedler_companion fractional_matrix_power funm"
        " matrix_balance qr_multiply rq signm kron tri tril triu",
    },
    "signal": {
        _OBJECTS: "BadCoefficients CZT ShortTimeFFT StateSpace TransferFunction ZerosPolesGain ZoomFFT dlti lti"
        " bsplines filter_design fir_filter_design lti_conversion ltisys signaltools spectral spline waveforms"
        " wavelets",
        _DISCRETE: "argrelextrema argrelmax argrelmin check_COLA check_NOLA choose_conv_method correlation_lags"
        " find_peaks find_peaks_cwt findfreqs peak_prominences peak_widths unique_roots square",
        _CONSTANT: "max_len_seq unit_impulse savgol_coeffs besselap buttap get_window",
        _DESIGN: "band_stop_obj bessel butter buttord cheb1ap cheb1ord cheb2ap cheb2ord cheby1 cheby2 ellip ellipap"
        " ellipord firls firwin firwin2 firwin_2d gammatone iircomb iirdesign iirfilter iirnotch iirpeak"
        " kaiser_atten kaiser_beta kaiserord remez minimum_phase",
        _FACTORS: "residue residuez invres invresz sos2zpk tf2sos tf2zpk zpk2sos place_poles",
        _UNWRITTEN: "abcd_normalize bilinear bode closest_STFT_dual_window cont2discrete cspline1d cspline1d_eval"
        " cspline2d czt_points dbode dfreqresp dimpulse dlsim dstep envelope freqresp gauss_spline group_delay"
        " impulse lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2lp lsim normalize qspline1d qspline1d_eval"
        " qspline2d sepfir2d spline_filter ss2tf ss2zpk step symiirorder1 symiirorder2 tf2ss vectorstrength"
        " zpk2ss",
    },
    "signal.windows": {
        _CONSTANT: "barthann bartlett blackman blackmanharris bohman boxcar cosine flattop get_window hamming hann"
        " lanczos nuttall parzen triang",
        _UNWRITTEN: "chebwin dpss kaiser_bessel_derived taylor",
    },
    "interpolate": {
        _OBJECTS: "dfitpack fitpack fitpack2 interpnd interpolate ndgriddata polyint rbf interp2d",
        _FITPACK: "BivariateSpline InterpolatedUnivariateSpline LSQBivariateSpline LSQSphereBivariateSpline"
        " LSQUnivariateSpline RectSphereBivariateSpline SmoothBivariateSpline SmoothSphereBivariateSpline"
        " UnivariateSpline bisplev bisplrep generate_knots make_splprep make_splrep spalde splprep splrep"
        " sproot insert",
        _UNWRITTEN: "AAA BPoly CloughTocher2DInterpolator FloaterHormannInterpolator NdBSpline NdPPoly Rbf"
        " approximate_taylor_polynomial lagrange make_smoothing_spline pade",
    },
    "integrate": {
        _OBJECTS: "AccuracyWarning BDF DOP853 DenseOutput IntegrationWarning LSODA ODEintWarning OdeSolution OdeSolver"
        " RK23 RK45 Radau complex_ode dop lsoda ode odepack quadpack vode",
        _CONSTANT: "lebedev_rule newton_cotes",
        _RANDOM: "qmc_quad",
        "quad, quad_vec and nquad answer tensors": "cubature nsum quadrature romberg tanhsinh",
    },
    "optimize": {
        _OBJECTS: "BFGS Bounds BroydenFirst HessianUpdateStrategy InverseJacobian KrylovJacobian LbfgsInvHessProduct"
        " LinearConstraint NoConvergence NonlinearConstraint OptimizeResult OptimizeWarning RootResults SR1"
        " cobyla cython_optimize elementwise lbfgsb linesearch minpack minpack2 moduleTNC nonlin optimize"
        " slsqp tnc zeros linprog_verbose_callback show_options",
        _DISCRETE: "linear_sum_assignment milp quadratic_assignment bracket check_grad line_search",
        _ALIAS: "anderson brent broyden1 broyden2 diagbroyden excitingmixing fmin fmin_bfgs fmin_cg fmin_cobyla"
        " fmin_l_bfgs_b fmin_ncg fmin_powell fmin_slsqp fmin_tnc fminbound golden linearmixing newton_krylov",
        _SEARCH: "basinhopping brute differential_evolution direct dual_annealing shgo",
        "differences are not needed: dualtape.func.grad is exact": "approx_fprime",
    },
    "fft": {
        _OBJECTS: "get_workers register_backend set_backend set_global_backend set_workers skip_backend",
        _CONSTANT: "fftfreq fhtoffset next_fast_len prev_fast_len rfftfreq",
    },
    "ndimage": {
        _OBJECTS: "filters fourier interpolation measurements morphology",
        _DISCRETE: "binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss binary_opening"
        " binary_propagation distance_transform_bf distance_transform_cdt distance_transform_edt find_objects"
        " generate_binary_structure histogram iterate_structure label maximum_position minimum_position"
        " value_indices watershed_ift",
        "calls a function at each window: sliding_window_view of a tensor gives the windows": "generic_filter"
        " generic_filter1d labeled_comprehension vectorized_filter",
    },
    "sparse.linalg": {
        _OBJECTS: "ArpackError ArpackNoConvergence LaplacianNd LinearOperator MatrixRankWarning SuperLU"
        " aslinearoperator dsolve eigen interface isolve matfuncs use_solver",
        _DISCRETE: "is_sptriangular spbandwidth",
        "factors are objects of SciPy's, kept for several right-hand sides: use spsolve": "factorized spilu splu",
        _UNWRITTEN: "eigs eigsh funm_multiply_krylov gcrotmk lobpcg matrix_power onenormest svds",
    },
    "spatial.distance": {
        _DISCRETE: "dice hamming is_valid_dm is_valid_y jaccard kulczynski1 kulsinski num_obs_dm num_obs_y"
        " rogerstanimoto russellrao sokalmichener sokalsneath yule",
    },
}


def reason_of(module: str, name: str) -> str | None:
    """Return why a public name of SciPy's has no version for tensors; None if it is not in the table.

    Examples
    --------
    >>> from dualtape.scipy._left_out import reason_of
    >>> reason_of("fft", "next_fast_len")
    'its arguments are integers or names: its results are constants'
    """
    for reason, names in LEFT_OUT.get(module, {}).items():
        if name in names.split():
            return reason
    return None
