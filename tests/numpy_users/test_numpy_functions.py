"""Every function that NumPy lets others override, on tensors: values and dtypes as of arrays, gradients as of differences."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

import numpy as np
import numpy.fft
import pytest
from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

import dualtape as dt
from dualtape.ops.numpy_entries.reasons import REASONS
from dualtape.ops.numpy_entries.registry import NUMPY
from dualtape.pytree import tree_leaves

# What stands for the names in the calls: arrays of real numbers are what is differentiated.
RNG = np.random.default_rng(0)
VALUES: dict[str, Any] = {
    "a": RNG.normal(size=5),
    "b": RNG.normal(size=5) + 2,
    "c": RNG.normal(size=3),
    "s": np.array(0.7),
    "t": np.array(2.6),
    "A": RNG.normal(size=(3, 4)),
    "B": RNG.normal(size=(3, 4)),
    "C": RNG.normal(size=(2, 3, 4)),
    "M": RNG.normal(size=(3, 3)) + 2 * np.eye(3),
    "S": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]),
    "P": RNG.uniform(0.2, 0.8, size=(2, 3)),
    "U": np.array([0.5, 2.0, -1.5, 2.0, 0.5]),
    "N": np.array([[1.0, np.nan, 2.0], [np.nan, -3.0, 0.5]]),
    "X": np.array([0.0, 1.0, 2.5, 4.0, 4.5]),
    "T": RNG.normal(size=(2, 3, 6)),
    "Z0": np.array([0.0, 0.0, 1.5, 0.0, -2.0, 0.0]),
}
FIXED: dict[str, Any] = {
    "n": np.array([2, 0, 1]),
    "k": np.array([3, 1, 1, 0, 6]),
    "m": np.array([True, False, True, True, False]),
    "mm": RNG.random((3, 4)) < 0.6,
    "z": RNG.normal(size=4) + 1j * RNG.normal(size=4),
    "weigh": lambda v: v * v.sum(),
    "square": lambda v: v * v,
    "triple": lambda v: 3 * v,
    "i": np.array([[6, 4, 9], [2, 3, 12]]),
}

CALLS = """
np.sum(A) np.sum(A,axis=0) np.sum(A,axis=(0,1),keepdims=True) np.sum(A,where=mm,initial=2.0) np.sum(A,axis=1,dtype=np.float32)
np.mean(A) np.mean(A,axis=()) np.max(A,initial=t) np.mean(A,axis=-1,keepdims=True) np.mean(A,axis=0,where=mm) np.mean(i)
np.prod(A) np.prod(A,axis=(0,1)) np.prod(A,axis=1,keepdims=True,where=mm) np.prod(c,initial=2.0)
np.max(A) np.max(A,axis=(0,1)) np.max(A,axis=1,initial=0.1,where=mm) np.min(A,axis=0) np.min(A,initial=-5.0)
np.amax(A,axis=1) np.amin(A)
np.any(A>0,axis=0) np.all(A>-9) np.any(A>0,axis=1,where=mm) np.all(A>0,where=~mm) np.count_nonzero(A,axis=1)
np.cumsum(A) np.cumsum(A,axis=1) np.cumprod(A) np.cumprod(A,0)
np.where(mm,A,B) np.where(mm,A,2.0) np.where([[True],[False],[1]],A,[1.0,2.0,3.0,4.0]) np.clip(c,[0.0,0.1,-1.0],[1.0,1.5,1.0]) np.dot([1.0,2.0,3.0],c) np.add([1.0,2.0,3.0],c) np.matmul([[1.0,2.0,3.0]],c) np.multiply.outer([1.0,2.0],c) np.inner([1.0,2.0,3.0],c) np.kron([1.0,2.0],c) np.isclose(c,[1,2,3]) np.average(c,weights=[1,2,3]) np.where(A>0) np.where(k[:3],c,0.0)
np.clip(A,-0.5,0.5) np.clip(A,s-1,t) np.clip(A,None,0.3) np.clip(A,min=0.1) np.clip(A,-0.5,s)
np.real(z) np.imag(z) np.real(A) np.angle(z) np.angle(z,deg=True)
np.transpose(C) np.transpose(C,(1,0,2)) np.swapaxes(C,0,2) np.moveaxis(C,0,-1) np.expand_dims(A,(0,-1)) np.squeeze(A[None])
np.squeeze(A[:,None],axis=1) np.broadcast_to(a,(2,5)) np.reshape(A,(4,3)) np.reshape(A,-1,order="F") np.reshape(A,(2,6),"F")
np.ravel(A) np.ravel(A,"F") np.concatenate((A,B),axis=1) np.concatenate((A,B),axis=None) np.concatenate((A,A),dtype=np.float32)
np.stack([A,B],axis=-1) np.flip(A) np.flip(A,0) np.flip(C,(0,2)) np.roll(A,1) np.roll(A,(1,2),axis=(0,1)) np.diagonal(C,1,1,2)
np.tril(A) np.triu(A,1) np.take_along_axis(A,np.argsort(A,axis=1),axis=1) np.take_along_axis(a,k[:3]%5,axis=None)
np.dot(A,B.T) np.dot(s,A) np.dot(C,a[:4]) np.dot(A,np.swapaxes(C,1,2)) np.tensordot(A,B) np.tensordot(A,B,axes=([0],[0])) np.tensordot(A,B,axes=(1,1))
np.einsum("ij,kj->ik",A,B) np.einsum("ij->j",A,optimize=True)
np.zeros_like(A) np.ones_like(A,dtype=np.float32) np.shape(np.empty_like(A)) np.full_like(A,2.0) np.full_like(A,s) np.full_like(A,t,shape=(2,))
np.ndim(A) np.shape(A) np.size(A) np.size(A,1) np.size(A,(0,1)) np.result_type(A)
np.allclose(A,A) np.array_equal(A,B) np.array_equiv(A,A) np.isclose(A,B) np.isclose(A,A) np.isin(U,[2.0]) np.isin(U,k,invert=True)
np.append(A,B) np.append(A,B,axis=0) np.append(a,3.0) np.insert(a,2,s) np.insert(A,[1,2],c[:,None],axis=1) np.insert(A,1,9.0,axis=0)
np.delete(a,2) np.delete(A,[0,2],axis=1) np.delete(A,slice(0,2),0)
np.apply_along_axis(weigh,1,A) np.apply_along_axis(np.sum,0,A) np.apply_over_axes(np.sum,C,[0,2])
np.argmax(A) np.argmax(A,axis=1,keepdims=True) np.argmin(A,axis=0) np.argpartition(a,2)[2] np.argsort(A) np.argsort(A,axis=None) np.argsort(U,kind="stable") np.argwhere(A>0)
np.around(A,1) np.round(A*10) np.fix(A*3)
np.array2string(a) np.array_repr(a) np.array_str(a)
np.array_split(a,3) np.array_split(A,[1,3],axis=1) np.split(A,2,axis=1) np.split(a,[2]) np.hsplit(A,2) np.vsplit(A,3) np.dsplit(C,2)
np.astype(A,np.float32) np.atleast_1d(s) np.atleast_2d(a) np.atleast_3d(A) np.atleast_1d(s,a)
np.average(A) np.average(A,axis=1) np.average(A,weights=B**2+1) np.average(A,axis=0,weights=b[:3]) np.average(A,axis=1,weights=b[:4],returned=True) np.average(A,axis=0,keepdims=True)
np.bincount(k) np.bincount(k,weights=a) np.bincount(k,a,9) np.block([[A,B],[B,A]]) np.block([a,c]) np.broadcast_arrays(a[:4],A)
np.can_cast(A,np.float32) np.can_cast(np.float32,np.float64) np.choose(n,[c,2*c,c*c]) np.choose(n,[c,s,t],mode="clip") np.column_stack((c,A)) np.common_type(A,n)
np.compress(m,a) np.compress([True,False,True],A,axis=0) np.convolve(a,c) np.convolve(a,c,"same") np.convolve(c,a,"valid") np.convolve(c,a,"same") np.convolve(a[:4],b[:4],"same")
np.correlate(a,c) np.correlate(a,c,"full") np.correlate(a,c,"same") np.correlate(c,a,"same") np.correlate(c,a,"full") np.correlate(c,a) np.correlate(a[:2],b,"same") np.correlate(a[:2],b[:4],"same")
np.copy(A) np.corrcoef(A) np.corrcoef(A,rowvar=False) np.corrcoef(a,b) np.cov(A) np.cov(A,rowvar=False) np.cov(a) np.cov(a,b,bias=True) np.cov(A,ddof=0,aweights=b[:4]) np.cov(A,fweights=[1,2,1,3])
np.cross(c,c*c+1) np.cross(A[:,:3],M) np.cross(A[:,:2],B[:,:2]) np.cross(A[:,:2],B[:,:3]) np.cross(A[:,:3].T,M,axisa=0) np.cross(M,M.T+1,axis=0)
np.cumulative_sum(a) np.cumulative_sum(A,axis=1,include_initial=True) np.cumulative_prod(a) np.cumulative_prod(A,axis=0,include_initial=True)
np.diag(a) np.diag(A) np.diag(A,1) np.diag_indices_from(M) np.diagflat(A) np.diagflat(c,-1) np.diff(a) np.diff(A,2) np.diff(A,axis=0,prepend=1.0) np.diff(a,append=c)
np.digitize(a,X) np.dstack((A,B)) np.hstack((a,c)) np.hstack((A,B)) np.vstack((c,M)) np.hstack((s,t)) np.ediff1d(A) np.ediff1d(a,to_end=s,to_begin=c)
np.einsum_path("ij,jk",A,B.T)[0] np.extract(m,a) np.flatnonzero(A>0) np.fliplr(A) np.flipud(A) np.rot90(A) np.rot90(C,2,(1,2))
np.gradient(a) np.gradient(A) np.gradient(A,axis=0) np.gradient(a,0.5) np.gradient(a,X) np.gradient(a,X,edge_order=2) np.gradient(a,s,edge_order=2) np.gradient(A,X[:3],2.0)
np.histogram(a) np.histogram(a,4,weights=b) np.histogram(a,bins=[-2.0,0.0,1.0,3.0],density=True) np.histogram(a,3,density=True) np.histogram_bin_edges(a,4) np.histogram_bin_edges(a,4,range=(0.0,1.0))
np.i0(a) np.inner(a,b) np.inner(A,B) np.inner(s,a) np.interp(b,X,a) np.interp(A,X,a,left=-1.0,right=s) np.interp(s,X,a) np.interp(X*1.9+0.03,X,a) np.interp(b,X,a,period=5.0)
np.intersect1d(U,U[:2]) np.intersect1d(U,U[1:2],return_indices=True) np.union1d(U,c) np.setdiff1d(U,U[:1]) np.setxor1d(U,np.append(U[:1],c)) np.setdiff1d(a,c,assume_unique=True)
np.iscomplex(z) np.iscomplexobj(A) np.isneginf(A) np.isposinf(A) np.isreal(z) np.isrealobj(A) np.ix_(n,n)[0] np.kron(A,M) np.kron(a,c)
np.lexsort((A[0],A[1])) np.linspace(s,t,5) np.linspace(s,t,4,endpoint=False) np.linspace(c,2.0,3,axis=1) np.linspace(s,t,3,retstep=True) np.logspace(s,t,4) np.logspace(s,t,3,base=2.0) np.geomspace(s,t,4) np.geomspace(-t,-s,4)
np.matrix_transpose(C) np.may_share_memory(A,A) np.shares_memory(A,B) np.median(A) np.median(s) np.median(a) np.median(A,axis=1) np.median(C,axis=(0,2),keepdims=True) np.meshgrid(a,c) np.meshgrid(a,c,indexing="ij",sparse=True) np.meshgrid(a,c,s)
np.min_scalar_type(s) np.nan_to_num(N) np.nan_to_num(N,nan=2.0) np.nanargmax(N,axis=1) np.nanargmin(N) np.nancumprod(N) np.nancumsum(N,axis=1) np.nanmax(N,axis=0) np.nanmin(N) np.nanmean(N) np.nanmean(N,axis=0,keepdims=True)
np.nanmedian(N) np.nanmedian(N,axis=1) np.nanpercentile(N,[20,70],axis=1) np.nanquantile(N,0.3) np.nanquantile(N,0.3,axis=0,keepdims=True) np.nanprod(N,axis=0) np.nansum(N) np.nansum(N,axis=1) np.nanstd(N) np.nanvar(N,axis=1) np.nanvar(N,ddof=1) np.nonzero(A>0)
np.outer(a,c) np.outer(A,c) np.packbits(m) np.unpackbits(np.packbits(m)) np.pad(A,1) np.pad(A,((1,0),(2,1)),constant_values=3.0) np.pad(a,2,constant_values=((s,2.0),)) np.pad(a,(1,2),"reflect") np.pad(A,1,"edge") np.pad(A,2,"wrap") np.pad(a,3,mode="symmetric")
np.partition(a,2)[2] np.partition(A,1,axis=0)[1] np.percentile(a,30) np.percentile(A,[10,50,90],axis=0) np.quantile(a,0.4) np.quantile(A,[[0.1,0.7]],axis=1,keepdims=True)
np.quantile(a,0.4,method="lower") np.quantile(a,0.4,method="hazen") np.quantile(A,0.55,axis=(0,1),method="weibull") np.quantile(a,0.3,method="nearest") np.quantile(a,[0.0,1.0],method="inverted_cdf") np.quantile(N,0.5,axis=1)
np.piecewise(a,[a<0,a>1],[square,triple,0.5]) np.piecewise(a,[a<0],[square]) np.poly(a) np.poly(S) np.polyadd(a,c) np.polysub(c,a) np.polymul(a,c) np.polyder(a) np.polyder(a,2) np.polyint(a) np.polyint(a,2,k=c[:2]) np.polydiv(a,c) np.polydiv(c,a)
np.polyfit(X,a,2) np.polyfit(X,np.outer(a,c),1) np.polyfit(X,a,1,w=b) np.polyval(a,c) np.polyval(a,A) np.roots(np.poly(c)) np.roots(Z0) np.abs(np.roots(a)).sum()
np.ptp(A) np.ptp(A,axis=1,keepdims=True) np.ravel_multi_index((n,n),(3,3)) np.real_if_close(z) np.repeat(a,2) np.repeat(A,[1,0,2],axis=0) np.repeat(A,2) np.resize(a,(2,4)) np.rollaxis(C,2) np.rollaxis(C,0,3)
np.searchsorted(X,a) np.searchsorted(X,a,side="right") np.select([A>1,A<0],[A*2,B],default=7.0) np.select([a>0],[a]) np.sinc(a) np.sort(a) np.sort(A,axis=0) np.sort(A,axis=None) np.sort_complex(a) np.std(A) np.std(A,axis=1,ddof=1) np.std(A,axis=(),mean=B) np.std(A,keepdims=True) np.std(A,where=mm) np.std(A,correction=1)
np.var(A) np.var(A,axis=()) np.var(s,axis=()) np.var(A,axis=0) np.var(A,axis=(0,1),ddof=2,keepdims=True) np.var(A,axis=1,where=mm) np.var(A,axis=1,mean=np.mean(A,axis=1,keepdims=True)) np.var(z)
np.take(a,k[:3]%5) np.take(A,[0,2],axis=1) np.take(a,7,mode="wrap") np.tile(a,2) np.tile(A,(2,1,2)) np.trace(A) np.trace(C,0,1,2) np.trapezoid(a) np.trapezoid(a,X) np.trapezoid(A,dx=0.5,axis=0) np.trapezoid(A,B) np.trapezoid(A,dx=s)
np.tril_indices_from(A) np.triu_indices_from(A,1) np.trim_zeros(Z0) np.trim_zeros(Z0,"f") np.unique(U) np.unique(U,return_index=True,return_inverse=True,return_counts=True) np.unique(A,axis=0) np.unique_all(U) np.unique_counts(U) np.unique_inverse(U) np.sort(np.unique_values(U)) np.unravel_index(n,(3,3))
np.unstack(A) np.unstack(A,axis=1) np.unwrap(a*4) np.unwrap(A*4,axis=0,period=3.0) np.vander(a) np.vander(a,3,increasing=True) np.vdot(A,B) np.vdot(z,z)
np.lib.scimath.sqrt(a) np.lib.scimath.sqrt(b) np.lib.scimath.log(a) np.lib.scimath.log2(b) np.lib.scimath.log10(a) np.lib.scimath.logn(2,b) np.lib.scimath.power(a,2.5) np.lib.scimath.power(b,2) np.lib.scimath.arccos(b) np.lib.scimath.arcsin(P) np.lib.scimath.arctanh(P)
np.lib.stride_tricks.sliding_window_view(a,3) np.lib.stride_tricks.sliding_window_view(A,(2,2)) np.lib.stride_tricks.sliding_window_view(A,2,axis=0)
np.linalg.cond(M) np.linalg.cond(M,1) np.linalg.cross(c,2*c+1) np.linalg.det(M) np.linalg.det(np.stack([M,S])) np.linalg.diagonal(C) np.linalg.eig(S).eigenvalues np.linalg.eigvals(S) np.linalg.eigh(S).eigenvalues np.linalg.eigvalsh(S,"U") abs(np.linalg.eigh(S)[1]) np.sum(np.linalg.eigvals(M)) abs(np.linalg.eig(S)[1]) np.linalg.inv(M) np.linalg.cholesky(S) np.linalg.cholesky(S,upper=True) np.linalg.solve(M,A) np.linalg.solve(M,c)
np.linalg.lstsq(A.T,a[:4]) np.linalg.lstsq(A.T,B.T)[0] np.linalg.matmul(A,B.T) np.linalg.matrix_norm(C) np.linalg.matrix_norm(A,ord="nuc") np.linalg.matrix_norm(A,ord=2,keepdims=True) np.linalg.matrix_power(M,3) np.linalg.matrix_power(M,-2) np.linalg.matrix_rank(A) np.linalg.matrix_rank(S,1e-3) np.linalg.matrix_transpose(A) np.linalg.multi_dot([A,B.T,M])
np.linalg.norm(A) np.linalg.norm(a) np.linalg.norm(a,1) np.linalg.norm(A,axis=1) np.linalg.norm(A,ord=1) np.linalg.norm(A,np.inf,axis=0,keepdims=True) np.linalg.norm(C,axis=(1,2)) np.linalg.norm(C) np.linalg.norm(A,"nuc") np.linalg.norm(a,3) np.linalg.norm(A,keepdims=True) np.linalg.norm(a,0)
np.linalg.outer(a,c) np.linalg.pinv(A) np.linalg.pinv(A,rcond=1e-3) np.linalg.pinv(S,hermitian=True) abs(np.linalg.qr(A.T)[0]) abs(np.linalg.qr(M,"complete").R) abs(np.linalg.qr(A.T,"r")) np.linalg.slogdet(M) np.linalg.svd(A,compute_uv=False) abs(np.linalg.svd(A,full_matrices=False)[2]) np.linalg.svd(A,False).S np.linalg.svdvals(A) np.linalg.tensordot(A,B,axes=2) np.linalg.tensorinv(np.reshape(T,(6,6)),1)
np.linalg.tensorinv(np.reshape(T,(2,3,6))) np.linalg.tensorsolve(np.reshape(T,(2,3,6)),M[:2]) np.linalg.trace(C,offset=1) np.linalg.vecdot(A,B) np.linalg.vecdot(A,B,axis=0) np.linalg.vector_norm(A) np.linalg.vector_norm(A,axis=0,ord=3) np.linalg.vector_norm(C,axis=(0,2),keepdims=True)
np.fft.fft(a) np.fft.fft(A,3,0) np.fft.ifft(a,norm="ortho") np.fft.rfft(a) np.fft.irfft(np.fft.rfft(a),5) np.fft.hfft(a) np.fft.ihfft(a) np.fft.fft2(A) np.fft.ifft2(A) np.fft.rfft2(A) np.fft.irfft2(np.fft.rfft2(A)) np.fft.fftn(C,axes=(0,1)) np.fft.ifftn(A) np.fft.rfftn(C) np.fft.irfftn(np.fft.rfftn(C)) np.fft.fftshift(a) np.fft.ifftshift(A,axes=1)
np.absolute(a) np.add(a,b) np.arccos(P) np.arccosh(b+2) np.arcsin(P) np.arcsinh(a) np.arctan(a) np.arctan2(a,b) np.arctanh(P) np.bitwise_and(n,3) np.bitwise_count(n) np.bitwise_or(n,4) np.bitwise_xor(n,n) np.cbrt(a) np.ceil(a) np.conjugate(a) np.copysign(a,b) np.cos(a) np.cosh(a) np.deg2rad(a) np.degrees(a)
np.divide(a,b) np.divmod(a,b) np.equal(a,b) np.exp(a) np.exp2(a) np.expm1(a) np.fabs(a) np.float_power(b+3,a) np.float_power(n,2) np.floor(a) np.floor_divide(a,b) np.fmax(a,b) np.fmin(a,0.1) np.fmod(a,b) np.frexp(a) np.gcd(i,6) np.greater(a,b) np.greater_equal(a,b) np.heaviside(a,s) np.hypot(a,b) np.invert(m) np.isfinite(N) np.isinf(N) np.isnan(N) np.lcm(i,6)
np.ldexp(a,2) np.left_shift(n,2) np.less(a,b) np.less_equal(a,0.1) np.log(P) np.log10(P) np.log1p(P) np.log2(P) np.logaddexp(a,b) np.logaddexp2(a,b) np.logical_and(m,a) np.logical_not(a) np.logical_or(m,m) np.logical_xor(m,a) np.matmul(A,B.T) np.matvec(A,b[:4]) np.vecmat(c,A) np.maximum(a,b) np.minimum(a,0.2) np.modf(a) np.multiply(a,b) np.negative(a) np.nextafter(a,b) np.not_equal(a,b) np.positive(a) np.power(P,2.5) np.power(b,b)
np.rad2deg(a) np.radians(a) np.reciprocal(b) np.remainder(a,b) np.right_shift(i,1) np.rint(a) np.sign(a) np.signbit(a) np.sin(a) np.sinh(a) np.sqrt(P) np.square(a) np.subtract(a,b) np.tan(a) np.tanh(a) np.trunc(a) np.vecdot(A,B) np._core.umath.clip(a,-0.5,t) np.add(n,1)
np.add.reduce(A) np.add.reduce(A,axis=None) np.add.reduce(A,axis=(0,1),keepdims=True,initial=2.0) np.multiply.reduce(A,axis=1) np.maximum.reduce(A) np.minimum.reduce(A,1) np.subtract.reduce(A,axis=1) np.logaddexp.reduce(A,axis=1) np.hypot.reduce(A,axis=0) np.logical_and.reduce(mm) np.logical_or.reduce(A>0,axis=1) np.divide.reduce(b) np.maximum.reduce(A,axis=1,initial=0.2) np.fmax.reduce(A)
np.add.accumulate(A) np.multiply.accumulate(a) np.maximum.accumulate(A,1) np.subtract.accumulate(a) np.logaddexp.accumulate(A,axis=1) np.add.reduceat(a,[0,3,1]) np.multiply.reduceat(A,[0,2],axis=1) np.maximum.reduceat(a,[1,4])
np.multiply.outer(a,A) np.subtract.outer(c,a) np.maximum.outer(a,b) np.divmod.outer(b,c) np.power.outer(P,c)
""".split()

if not hasattr(np, "in1d"):
    OLD: set[str] = set()
else:
    OLD = {"in1d"}  # deprecated by isin, and gone in NumPy 2.4
    CALLS.remove("np.size(A,(0,1))")  # several axes since then

PLANE = ["np.cross(A[:,:2],B[:,:2])", "np.cross(A[:,:2],B[:,:3])"]  # until NumPy 2.4
if NUMPY >= (2, 5):
    CALLS = [call for call in CALLS if call not in PLANE]

# Functions of like=, whose results are new; tests of their own are below.
CREATIONS = set(
    """array asarray asanyarray ascontiguousarray asfortranarray arange empty eye frombuffer fromfile fromfunction
    fromiter fromstring full genfromtxt identity loadtxt ones require tri zeros""".split()
)
# Functions that write, tested below.
WRITING = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}
FILES = {"save", "savez", "savez_compressed", "savetxt"}
FLAT = {
    "np.full_like(A,2.0)",
    "np.zeros_like(A)",
    "np.ones_like(A,dtype=np.float32)",
    "np.polydiv(c,a)",
    "np.histogram(a,bins=[-2.0,0.0,1.0,3.0],density=True)",
    "np.histogram_bin_edges(a,4,range=(0.0,1.0))",
}  # floating results that no element moves
COARSE = re.compile("float32")  # where differences say nothing


def run(call: str, values: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(call, {"np": np, **FIXED, **values})


def arrays_of(result: Any) -> list:
    return [leaf for leaf in tree_leaves(result) if isinstance(leaf, (np.ndarray, np.generic, dt.Tensor, float, int))]


def used(call: str) -> list[str]:
    return [name for name in VALUES if re.search(rf"(?<![\w.]){name}(?![\w=\"(])", call)]


@pytest.mark.parametrize("call", PLANE)
def test_vectors_in_the_plane_are_refused_where_numpy_refuses_them(call: str) -> None:
    names = used(call)
    try:
        run(call, VALUES)
    except ValueError:
        with pytest.raises(ValueError, match=r"must be 3\), got vectors of length 2"):
            run(call, {name: dt.tensor(VALUES[name]) for name in names})


@pytest.mark.parametrize("call", CALLS)
def test_a_function_of_tensors_has_the_values_of_arrays_and_the_derivatives_of_differences(call: str) -> None:
    names = used(call)
    expected = run(call, VALUES)
    tensors = {name: dt.tensor(VALUES[name], requires_grad=True) for name in names}
    fixed = {name: dt.tensor(FIXED[name]) for name in FIXED if not names and isinstance(FIXED[name], np.ndarray)}
    got = run(call, {**tensors, **fixed})
    if not isinstance(expected, (tuple, list, np.ndarray, np.generic)):
        assert got == expected
        return
    assert len(arrays_of(got)) == len(arrays_of(expected))
    weights, differentiable = [], []
    for mine, theirs in zip(arrays_of(got), arrays_of(expected), strict=True):
        values = mine.detach().numpy() if isinstance(mine, dt.Tensor) else mine
        assert np.shape(values) == np.shape(theirs)
        if isinstance(mine, dt.Tensor) and isinstance(theirs, np.ndarray):
            assert values.dtype.kind == theirs.dtype.kind or {values.dtype.kind, theirs.dtype.kind} <= set("iub")
        np.testing.assert_allclose(values, theirs, rtol=1e-5 if COARSE.search(call) else 1e-9, atol=1e-10)
        if names and np.asarray(theirs).dtype.kind in "fc" and call not in FLAT:
            assert isinstance(mine, dt.Tensor) and (mine.requires_grad or not mine.numel()), (
                "a floating result without history"
            )
        if isinstance(mine, dt.Tensor) and mine.requires_grad:
            weights.append(np.cos(np.arange(values.size) * 1.7 + 1).reshape(values.shape))
            differentiable.append((mine, len(weights)))
    if not differentiable or COARSE.search(call):
        pytest.skip("it is compared in values alone")
    places = [k for k, mine in enumerate(arrays_of(got)) if isinstance(mine, dt.Tensor) and mine.requires_grad]

    def weighed(result: Any) -> Any:
        parts = [arrays_of(result)[k] for k in places]
        return sum(np.sum(np.real(np.nan_to_num(p)) * w) for p, w in zip(parts, weights, strict=True))

    gradients = dt.autograd.grad(weighed(got), list(tensors.values()), allow_unused=True, materialize_grads=True)
    step = 1e-6
    for name, gradient in zip(names, gradients, strict=True):
        direction = np.sin(np.arange(VALUES[name].size) * 2.3 + 0.5).reshape(VALUES[name].shape)
        if name in ("U", "Z0"):
            direction = np.sin(VALUES[name] * 3)  # what is equal, or zero, stays so
        elif name == "S":
            direction = direction + direction.T
        if "N" == name:
            gradient = dt.nan_to_num(gradient)
        ahead, behind = (
            weighed(run(call, {**VALUES, name: VALUES[name] + sign * step * direction})) for sign in (1, -1)
        )
        slope = (ahead - behind) / (2 * step)
        np.testing.assert_allclose((gradient.numpy() * direction).sum(), slope, rtol=1e-4, atol=1e-5, err_msg=name)


def called() -> set[str]:
    """The functions that the calls above call, by the names they have in NumPy."""
    return set(re.findall(r"np(?:\.\w+)*?\.(\w+)(?=\()", " ".join(CALLS)))


def of_numbers() -> list[str]:
    """Those of text and of polynomials are there only once something has imported them."""
    elsewhere = ("numpy.strings", "numpy.char", "numpy.polynomial")
    functions = get_overridable_numpy_array_functions()
    return sorted({f.__name__ for f in functions if not f.__module__.startswith(elsewhere)})


@pytest.mark.parametrize("function", of_numbers())
def test_every_function_that_can_be_overridden_is_called_or_has_a_reason(function: str) -> None:
    assert function in called() | CREATIONS | WRITING | FILES | OLD | set(REASONS)


@pytest.mark.parametrize("ufunc", sorted({u.__name__ for u in get_overridable_numpy_ufuncs()}))
def test_every_ufunc_is_called_or_has_a_reason(ufunc: str) -> None:
    assert ufunc in called() | set(REASONS)


@pytest.mark.parametrize("name", sorted(set(REASONS) - {"_ones_like"}))
def test_a_function_with_a_reason_refuses_a_tensor_that_requires_grad_and_tells_it(name: str) -> None:
    functions = [
        f
        for f in (*get_overridable_numpy_array_functions(), *get_overridable_numpy_ufuncs())
        if f.__name__ == name and not hasattr(np, name) | (name in ("spacing", "isnat"))
    ]
    for function in functions:
        with pytest.raises(Exception, match=re.escape(REASONS[name][:20]) + "|argument|fields"):
            function(*(dt.ones(2, requires_grad=True),) * (getattr(function, "nin", 0) or 2))


@pytest.mark.parametrize(
    "write",
    [
        lambda x, v: np.copyto(x, v),
        lambda x, v: np.copyto(x, v[0], where=np.array([True, False, True])),
        lambda x, v: np.put(x, [2, 0], v),
        lambda x, v: np.put(x, 7, v[0], mode="wrap"),
        lambda x, v: np.place(x, np.array([True, False, True]), v),
        lambda x, v: np.putmask(x, np.array([False, True, True]), v),
        lambda x, v: np.put_along_axis(x, np.array([2, 0]), v[:2], 0),
        lambda x, v: np.fill_diagonal(x.reshape(1, 3), v[0]),
        lambda x, v: np.add.at(x, [0, 0, 2], v),
        lambda x, v: np.subtract.at(x, np.array([1, 1]), v[:2]),
        lambda x, v: np.multiply.at(x, [0, 0, 1], v),
        lambda x, v: np.negative.at(x, [0, 2, 2]),
        lambda x, v: np.maximum.at(x, [1, 1], v[:2]),
        lambda x, v: np.add(x, v, out=x),
        lambda x, v: np.sum(v, keepdims=True, out=x[:1]),
        lambda x, v: np.multiply(x, v, out=x, where=np.array([True, False, True])),
        lambda x, v: np.cumsum(v, 0, None, x),
        lambda x, v: np.add.accumulate(v, out=x),
        lambda x, v: np.exp(v[0], out=x),
    ],
)
def test_what_writes_into_a_tensor_writes_what_it_writes_into_an_array_and_is_recorded(write: Any) -> None:
    start, values = np.array([1.0, 2.0, 3.0]), np.array([0.5, 4.0, -1.5])

    def written(x: Any, v: Any) -> Any:
        x = x * 1
        write(x, v)
        return x

    x, v = (dt.tensor(a, requires_grad=True) for a in (start, values))
    result = written(x, v)
    np.testing.assert_allclose(result.detach().numpy(), written(start, values))
    weights = np.array([1.0, 2.0, 5.0])
    gradients = dt.autograd.grad((result * weights).sum(), (x, v), allow_unused=True, materialize_grads=True)
    for place, gradient in enumerate(gradients):
        for k in range(3):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [start.copy(), values.copy()]
                moved[place][k] += step
                ends.append((written(*moved) * weights).sum())
            np.testing.assert_allclose(float(gradient[k]), (ends[0] - ends[1]) / 2e-6, atol=1e-6)


def test_an_array_takes_no_history_by_out_nor_by_a_write() -> None:
    x, target = dt.ones(3, requires_grad=True), np.zeros(3)
    for write in (
        lambda: np.cumsum(x, out=target),
        lambda: np.copyto(target, x),
        lambda: np.put(target, [0], x[:1]),
        lambda: np.add.at(target, [0], x[:1]),
        lambda: np.sort(x, axis=0).sum(out=target),
    ):
        with pytest.raises((RuntimeError, TypeError)):
            write()
    assert target.tolist() == [0, 0, 0]
    assert np.cumsum(dt.ones(3), out=target) is target and target.tolist() == [1, 2, 3]


def test_out_has_the_shape_and_kind_of_the_result() -> None:
    with pytest.raises(ValueError, match="shape"):
        np.sum(dt.ones(3), out=dt.zeros(3))
    with pytest.raises(TypeError, match="cast"):
        np.mean(dt.ones(3), out=dt.zeros((), dtype=dt.int64))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sort(x, order="f"),
        lambda x: np.zeros_like(x, order="F"),
        lambda x: np.add(x, 1, where=x > 0),
        lambda x: np.add(x, 1, casting="no"),
        lambda x: np.quantile(x, 0.5, weights=x, method="inverted_cdf"),
        lambda x: np.linalg.qr(np.eye(2) * x, mode="raw"),
        lambda x: np.polyfit(x, x, 1, full=True),
        lambda x: np.copy(x, order="F"),
        lambda x: np.einsum("i->", x, order="F"),
    ],
)
def test_an_argument_that_has_no_meaning_for_tensors_is_refused(call: Any) -> None:
    with pytest.raises(TypeError):
        call(dt.ones(2, requires_grad=True))


@pytest.mark.parametrize(
    "call",
    [
        "np.array([1, 2], like=x)",
        "np.asarray([1.0], like=x)",
        "np.asanyarray([1.0], like=x)",
        "np.ascontiguousarray([1.0], like=x)",
        "np.asfortranarray([1.0], like=x)",
        "np.arange(3, like=x)",
        "np.empty(2, like=x)",
        "np.eye(2, like=x)",
        "np.identity(2, like=x)",
        "np.full(2, 7, like=x)",
        "np.ones((2, 1), like=x)",
        "np.zeros(3, like=x)",
        "np.tri(2, like=x)",
        "np.fromiter([1.0, 2.0], float, like=x)",
        "np.fromfunction(lambda i: i * 2, (3,), like=x)",
        "np.frombuffer(bytes(8), like=x)",
        "np.fromstring('1 2', sep=' ', like=x)",
        "np.require([1.0], like=x)",
        "np.loadtxt(io.StringIO('1 2'), like=x)",
        "np.genfromtxt(io.StringIO('1 2'), like=x)",
    ],
)
def test_what_is_made_like_a_tensor_is_a_tensor(call: str) -> None:
    made = eval(call, {"np": np, "io": io, "x": dt.ones(2)})
    plain = eval(call, {"np": np, "io": io, "x": np.ones(2)})
    assert type(made) is dt.Tensor and made.numpy().dtype == plain.dtype and made.shape == plain.shape
    if "empty" not in call:
        np.testing.assert_array_equal(made.numpy(), plain)


def test_a_tensor_is_saved_by_numpy_as_its_values(tmp_path: Any) -> None:
    for save in (np.save, np.savetxt):
        file = io.BytesIO()
        save(file, dt.ones(2, requires_grad=True))
        assert file.getvalue()


def test_positions_found_in_a_tensor_do_not_need_it_detached() -> None:
    x = dt.tensor([3.0, 1.0, 2.0], requires_grad=True)
    assert np.argsort(x).tolist() == [1, 2, 0] and np.argpartition(x, 0)[0] == 1
    assert x[np.lexsort((x,))].tolist() == [1, 2, 3]


def test_a_view_of_numpys_is_a_view_of_the_tensor() -> None:
    x = dt.zeros(4)
    for view in (np.split(x, 2)[1], np.atleast_2d(x), np.lib.stride_tricks.sliding_window_view(x, 2), np.unstack(x)[0]):
        assert view._base is x


@pytest.mark.parametrize("call", ["np.median(x)", "np.pad(x, 1)", "np.tile(x, 2)", "np.std(x)", "np.linalg.norm(x)"])
def test_entries_run_in_vmap_and_forward_mode(call: str) -> None:
    def f(x: Any) -> Any:
        return eval(call, {"np": np, "x": x})

    x = np.array([[1.0, 5.0, 2.0], [7.0, -1.0, 0.5]])
    np.testing.assert_allclose(dt.func.vmap(f)(x), np.stack([f(row) for row in x]))
    tangent = dt.func.jvp(f, (x[0],), (np.array([0.3, 0.1, -1.0]),))[1]
    np.testing.assert_allclose(tangent, np.asarray(dt.func.jacrev(f)(x[0])) @ [0.3, 0.1, -1.0], atol=1e-12)


def test_numpys_cholesky_gives_no_warning_of_pytorchs() -> None:
    matrix = (dt.eye(2) * 4).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.linalg.cholesky(matrix).tolist() == [[2.0, 0.0], [0.0, 2.0]]
