"""Numerical kernels for forwards and formulas beyond NumPy's functions: fast for NumPy's arrays, correct for others."""
