"""Every layer: from the same weights and inputs, the outputs, gradients, buffers, names and text are PyTorch's."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from same_program import differences, needs_torch, torch

pytestmark = pytest.mark.filterwarnings("ignore")


def r(*shape: int) -> Any:
    """Numbers of an input, drawn once for both libraries."""
    return ("real", shape)


def positive(*shape: int) -> Any:
    return ("positive", shape)


def signs(*shape: int) -> Any:
    return ("signs", shape)


def n(numbers: Any) -> Any:
    """Whole numbers of an input."""
    return ("whole", numbers)


ELEMENTWISE = """
CELU(1.5) ELU(0.7) GELU() GELU("tanh") GLU() GLU(0) Hardshrink() Hardsigmoid() Hardswish() Hardtanh() Hardtanh(-2,0.5)
LeakyReLU(0.2) LogSigmoid() LogSoftmax(1) Mish() PReLU() PReLU(3) ReLU() ReLU6() RReLU(0.2,0.2) SELU() SiLU() Sigmoid() Softmax(-1)
Softmax() Softmin(1) Softplus() Softplus(2.0,1.0) Softshrink() Softsign() Tanh() Tanhshrink() Threshold(0.1,20.0)
Identity() Dropout(0.0) Flatten() Flatten(0,1) Unflatten(2,(2,2)) Linear(4,3) Linear(4,3,bias=False) LayerNorm(4)
LayerNorm((3,4)) LayerNorm(4,bias=False) LayerNorm(4,elementwise_affine=False) RMSNorm(4) RMSNorm((3,4),eps=1e-3)
GroupNorm(3,3) GroupNorm(1,3,affine=False) GroupNorm(3,3,bias=False) BatchNorm1d(3) BatchNorm1d(3,momentum=None)
BatchNorm1d(3,affine=False) BatchNorm1d(3,track_running_stats=False) BatchNorm1d(3,bias=False) SyncBatchNorm(3)
InstanceNorm1d(3) InstanceNorm1d(3,affine=True,track_running_stats=True) InstanceNorm1d(3,affine=True,bias=False)
LocalResponseNorm(2) Conv1d(3,2,2) Conv1d(3,3,3,padding="same",groups=3) ConvTranspose1d(3,2,2,stride=2)
MaxPool1d(2) AvgPool1d(2) LPPool1d(2,2) AdaptiveAvgPool1d(2) AdaptiveMaxPool1d(2) CircularPad1d(1) ConstantPad1d(1,2.5)
ReflectionPad1d((1,2)) ReplicationPad1d(2) ZeroPad1d((1,0)) Upsample(scale_factor=2) Upsample(6,mode="linear")
LazyLinear(3) LazyConv1d(2,2) LazyBatchNorm1d() LazyInstanceNorm1d() LazyConvTranspose1d(2,2) ChannelShuffle(3)
Dropout1d(0.0) AlphaDropout(0.0) RNN(4,3) RNN(4,3,2,"relu",bias=False) GRU(4,3,2,bidirectional=True) LSTM(4,3)
LSTM(4,3,2,batch_first=True,bidirectional=True) LSTM(4,3,proj_size=2) LSTM(4,5,2,bias=False,bidirectional=True,proj_size=2)
GRU(4,2,batch_first=True,bias=False) MaxPool1d(2,return_indices=True) AdaptiveMaxPool1d(2,return_indices=True)
""".split()

IMAGES = """
Softmax2d() BatchNorm2d(4) BatchNorm2d(4,eps=0.1,momentum=0.3) InstanceNorm2d(4,affine=True) GroupNorm(2,4)
LocalResponseNorm(3) Conv2d(4,6,3) Conv2d(4,6,(2,3),2,(1,2),2,2,False)
Conv2d(4,2,3,padding=1,padding_mode="reflect") Conv2d(4,2,3,padding="same",padding_mode="circular")
Conv2d(4,2,3,padding="valid",dilation=2) ConvTranspose2d(4,2,3,2,1,1) ConvTranspose2d(4,4,2,groups=2,dilation=2)
MaxPool2d(2) MaxPool2d(3,2,1,ceil_mode=True) MaxPool2d(2,return_indices=True) AvgPool2d(2,padding=1)
AvgPool2d(3,2,1,True,False) AvgPool2d(2,divisor_override=3) LPPool2d(2,2) AdaptiveAvgPool2d((3,None)) AdaptiveAvgPool2d(1)
AdaptiveMaxPool2d((2,3)) CircularPad2d(1) ConstantPad2d((1,2,0,1),-1.0) ReflectionPad2d(2) ReplicationPad2d(1)
ZeroPad2d(1) PixelShuffle(2) PixelUnshuffle(2) ChannelShuffle(2) Unfold(2) Unfold((2,3),stride=2,padding=1)
Upsample(scale_factor=2,mode="bilinear") Upsample((5,7),mode="bicubic",align_corners=True) UpsamplingNearest2d(scale_factor=2)
UpsamplingBilinear2d(size=(5,8)) LazyConv2d(3,2) LazyConvTranspose2d(3,2) LazyBatchNorm2d() LazyInstanceNorm2d()
Dropout2d(0.0) FeatureAlphaDropout(0.0)
""".split()

VOLUMES = """
BatchNorm3d(2) InstanceNorm3d(2) Conv3d(2,3,2) Conv3d(2,2,2,padding=1,padding_mode="replicate") ConvTranspose3d(2,3,2,2)
MaxPool3d(2) AvgPool3d(2) LPPool3d(2,2) AdaptiveAvgPool3d((1,2,3)) AdaptiveMaxPool3d(2) CircularPad3d(1) ConstantPad3d(1,3.0)
ReflectionPad3d(1) ReplicationPad3d(1) ZeroPad3d(1) Upsample(scale_factor=2,mode="trilinear") LazyConv3d(2,2)
LazyConvTranspose3d(2,2) LazyBatchNorm3d() LazyInstanceNorm3d() Dropout3d(0.0)
""".split()

LOSSES = """
L1Loss() MSELoss() MSELoss(reduction="sum") MSELoss(reduction="none") SmoothL1Loss(beta=0.5) HuberLoss(delta=0.5)
L1Loss(size_average=False) L1Loss(reduce=False)
""".split()

CASES: list[tuple[str, list[Any]]] = [
    *((layer, [r(2, 3, 4)]) for layer in ELEMENTWISE),
    *((layer, [r(2, 4, 6, 6)]) for layer in IMAGES),
    *((layer, [r(2, 2, 4, 4, 4)]) for layer in VOLUMES),
    *((loss, [r(3, 4), r(3, 4)]) for loss in LOSSES),
    ("InstanceNorm2d(4)", [r(4, 3, 3)]),
    ("LSTM(4,3)", [r(3, 4)]),
    ("GRU(4,3,2)", [r(5, 2, 4), r(2, 2, 3)]),
    ("RNN(4,3,batch_first=True)", [r(2, 5, 4), r(1, 2, 3)]),
    ("RNNCell(4,3)", [r(2, 4)]),
    ("RNNCell(4,3,False,'relu')", [r(2, 4), r(2, 3)]),
    ("GRUCell(4,3)", [r(2, 4), r(2, 3)]),
    ("GRUCell(4,3)", [r(4)]),
    ("LSTMCell(4,3)", [r(2, 4)]),
    ("Bilinear(2,3,4)", [r(5, 2), r(5, 3)]),
    ("Bilinear(2,3,4,bias=False)", [r(5, 2), r(5, 3)]),
    ("PairwiseDistance()", [r(3, 4), r(3, 4)]),
    ("PairwiseDistance(1.0,keepdim=True)", [r(3, 4), r(3, 4)]),
    ("CosineSimilarity()", [r(3, 4), r(3, 4)]),
    ("Fold((4,5),(2,2))", [r(1, 8, 12)]),
    ("Embedding(6,3)", [n([[0, 5], [2, 2]])]),
    ("Embedding(6,3,padding_idx=2)", [n([[0, 5], [2, 2]])]),
    ("Embedding(6,3,max_norm=0.5)", [n([[0, 5], [2, 2]])]),
    ("Embedding(6,3,scale_grad_by_freq=True)", [n([[0, 5], [2, 2]])]),
    ("EmbeddingBag(6,3)", [n([[0, 5], [2, 2]])]),
    ("EmbeddingBag(6,3,mode='sum')", [n([0, 5, 2, 2]), n([0, 3])]),
    ("EmbeddingBag(6,3,mode='max')", [n([[0, 5], [2, 2]])]),
    ("EmbeddingBag(6,3,mode='sum',padding_idx=2)", [n([[0, 5], [2, 2]])]),
    ("MaxUnpool1d(2)", [r(1, 1, 2), n([[[0, 3]]])]),
    ("MaxUnpool2d(2)", [r(1, 1, 1, 2), n([[[[1, 6]]]])]),
    ("MaxUnpool3d(2)", [r(1, 1, 1, 1, 1), n([[[[[5]]]]])]),
    ("KLDivLoss()", [r(3, 4), positive(3, 4)]),
    ("KLDivLoss(reduction='batchmean',log_target=True)", [r(3, 4), r(3, 4)]),
    ("NLLLoss()", [r(3, 4), n([0, 3, 1])]),
    ("CrossEntropyLoss()", [r(3, 4), n([0, 3, 1])]),
    ("CrossEntropyLoss(label_smoothing=0.1,ignore_index=3)", [r(3, 4), n([0, 3, 1])]),
    ("CrossEntropyLoss(lib.tensor([1.0,2.0,3.0,4.0]).double())", [r(3, 4), n([0, 3, 1])]),
    ("LinearCrossEntropyLoss(4,5,bias=True)", [r(3, 4), n([0, 3, 1])]),
    ("BCELoss()", [positive(3, 4), positive(3, 4)]),
    ("BCELoss(lib.tensor([1.0,2.0,3.0,4.0]).double())", [positive(3, 4), positive(3, 4)]),
    ("BCEWithLogitsLoss()", [r(3, 4), positive(3, 4)]),
    ("BCEWithLogitsLoss(pos_weight=lib.tensor([1.0,2.0,3.0,4.0]).double())", [r(3, 4), positive(3, 4)]),
    ("PoissonNLLLoss()", [r(3, 4), positive(3, 4)]),
    ("PoissonNLLLoss(False,True)", [positive(3, 4), positive(3, 4)]),
    ("GaussianNLLLoss(full=True)", [r(3, 4), r(3, 4), positive(3, 4)]),
    ("HingeEmbeddingLoss(0.5)", [r(3, 4), signs(3, 4)]),
    ("SoftMarginLoss()", [r(3, 4), signs(3, 4)]),
    ("CosineEmbeddingLoss(0.1)", [r(3, 4), r(3, 4), signs(3)]),
    ("MarginRankingLoss(0.2)", [r(3), r(3), signs(3)]),
    ("MultiLabelMarginLoss()", [r(2, 4), n([[3, 0, -1, 1], [0, -1, 2, 2]])]),
    ("MultiLabelSoftMarginLoss()", [r(3, 4), positive(3, 4)]),
    ("MultiMarginLoss(2,0.7)", [r(3, 4), n([0, 3, 1])]),
    ("TripletMarginLoss(swap=True)", [r(3, 4), r(3, 4), r(3, 4)]),
    ("TripletMarginWithDistanceLoss()", [r(3, 4), r(3, 4), r(3, 4)]),
    ("MultiheadAttention(4,2)", [r(5, 2, 4), r(3, 2, 4), r(3, 2, 4)]),
    ("MultiheadAttention(4,2,batch_first=True,add_bias_kv=True,add_zero_attn=True)", [r(2, 5, 4)] + [r(2, 3, 4)] * 2),
    ("MultiheadAttention(4,2,kdim=3,vdim=2,bias=False)", [r(5, 2, 4), r(3, 2, 3), r(3, 2, 2)]),
    ("MultiheadAttention(4,4)", [r(5, 4), r(3, 4), r(3, 4)]),
    ("TransformerEncoderLayer(4,2,8,0.0)", [r(5, 2, 4)]),
    ("TransformerEncoderLayer(4,2,8,0.0,'gelu',batch_first=True,norm_first=True,bias=False)", [r(2, 5, 4)]),
    ("TransformerDecoderLayer(4,2,8,0.0)", [r(5, 2, 4), r(3, 2, 4)]),
    ("TransformerDecoderLayer(4,2,8,0.0,norm_first=True)", [r(5, 2, 4), r(3, 2, 4)]),
    ("TransformerEncoder(nn.TransformerEncoderLayer(4,2,8,0.0),2,nn.LayerNorm(4))", [r(5, 2, 4)]),
    ("TransformerDecoder(nn.TransformerDecoderLayer(4,2,8,0.0),2)", [r(5, 2, 4), r(3, 2, 4)]),
    ("Transformer(4,2,1,1,8,0.0,batch_first=True)", [r(2, 5, 4), r(2, 3, 4)]),
    ("AdaptiveLogSoftmaxWithLoss(8,12,[3,6],2.0,True)", [r(4, 8), n([0, 5, 11, 2])]),
    ("AdaptiveLogSoftmaxWithLoss(8,12,[3,6],2.0)", [r(8), n(7)]),
    ("Sequential(nn.Linear(4,3),nn.ReLU(),nn.Linear(3,2))", [r(5, 4)]),
    ("FractionalMaxPool2d(2,output_size=3,_random_samples=lib.full((2,4,2),0.3).double())", [r(2, 4, 6, 6)]),
    ("FractionalMaxPool3d(2,output_ratio=0.5,_random_samples=lib.full((2,2,3),0.6).double())", [r(2, 2, 6, 6, 6)]),
]


def arrays(inputs: list[Any]) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    made = []
    for kind, what in inputs:
        drawn = rng.standard_normal(what) if kind != "whole" else np.array(what)
        if kind == "positive":
            drawn = rng.uniform(0.1, 0.9, what)
        elif kind == "signs":
            drawn = np.sign(drawn)
        made.append(drawn)
    return made


def built(library: Any, source: str) -> Any:
    return eval(f"nn.{source}", {"nn": library.nn, "lib": library}).double()


def ran(library: Any, module: Any, values: list[np.ndarray]) -> list[Any]:
    """Outputs, and the gradients of inputs and parameters."""
    inputs = [library.from_numpy(v.copy()) for v in values]
    inputs = [
        x.requires_grad_() if v.dtype.kind == "f" and (abs(v) != 1).any() else x
        for x, v in zip(inputs, values, strict=True)
    ]
    result = module(*inputs)
    outputs = list(flattened(result, library.Tensor))
    moving = [y for y in outputs if y.requires_grad]
    if moving:
        sum((y * y.detach().cos()).sum() for y in moving).backward()
    grads = [x.grad for x in [*inputs, *module.parameters()]]
    return [y.detach() for y in outputs] + [g for g in grads if g is not None]


def flattened(result: Any, kind: type) -> Any:
    for part in result if isinstance(result, tuple) else (result,):
        if isinstance(part, tuple):
            yield from flattened(part, kind)
        elif isinstance(part, kind):
            yield part


def load(ours: Any, theirs: Any) -> None:
    state = {k: dt.from_numpy(v.detach().numpy().copy()) for k, v in theirs.state_dict().items()}
    ours.load_state_dict(state)


@needs_torch
@pytest.mark.parametrize(("source", "inputs"), CASES, ids=[f"{source}-{k}" for k, (source, _) in enumerate(CASES)])
def test_a_layer_computes_what_pytorchs_does(source: str, inputs: list) -> None:
    theirs, ours = built(torch, source), built(dt, source)
    assert repr(ours) == repr(theirs)
    values = arrays(inputs)
    if source.startswith("Lazy"):
        theirs(*[torch.from_numpy(v.copy()) for v in values])
        ours(*[dt.from_numpy(v.copy()) for v in values])
    load(ours, theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in ours.named_modules()] == [name for name, _ in theirs.named_modules()]
    for training in (True, False):
        found = differences(
            ran(dt, ours.train(training), values), ran(torch, theirs.train(training), values), tolerance=1e-7
        )
        assert found is None, found
    for ours_now, theirs_now in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        np.testing.assert_allclose(ours_now.numpy(), theirs_now.numpy(), rtol=1e-9, atol=1e-12)
    assert repr(ours) == repr(theirs)


@needs_torch
def test_every_layer_has_a_case() -> None:
    tested = set(re.findall(r"\w+", " ".join(source for source, _ in CASES)))
    layers = {k for k, v in vars(torch.nn).items() if inspect.isclass(v) and issubclass(v, torch.nn.Module)}
    bases = {"Module", "RNNBase", "RNNCellBase", "Container", "DataParallel", "NLLLoss2d"}
    apart = {"CTCLoss", "CrossMapLRN2d"}
    containers = {"ModuleList", "ModuleDict", "ParameterList", "ParameterDict"}
    assert sorted(layers - tested - bases - containers - apart) == []


@needs_torch
@pytest.mark.parametrize("name", sorted({s.split("(")[0] for s, _ in CASES}))
def test_the_arguments_of_a_layer_are_pytorchs(name: str) -> None:
    def shown(cls: Any) -> list[tuple]:
        found = []
        for function in (cls.__init__, cls.forward):
            for p in inspect.signature(function).parameters.values():
                default = p.default if isinstance(p.default, (int, float, str, tuple, type(None))) else "other"
                found.append((p.name, p.kind, default if p.default is not p.empty else "none"))
        return found

    ours, theirs = getattr(dt.nn, name), getattr(torch.nn, name)
    assert shown(ours) == shown(theirs)
    assert getattr(ours, "__constants__", None) == getattr(theirs, "__constants__", None)


@needs_torch
@pytest.mark.parametrize(("source", "inputs"), CASES[::4], ids=[source for source, _ in CASES[::4]])
def test_initial_values_are_distributed_as_pytorchs(source: str, inputs: list) -> None:
    """Parameters that are constant have the same constant; the others the same deviation, as nearly as drawn."""
    theirs, ours = built(torch, source), built(dt, source)
    for name, parameter in theirs.named_parameters():
        if torch.nn.parameter.is_lazy(parameter):
            continue
        a, b = ours.get_parameter(name).detach().numpy(), parameter.detach().numpy()
        assert a.shape == b.shape
        if b.size and (b == b.flat[0]).all():
            assert (a == b).all(), name
        elif b.size >= 8:
            assert abs(a).max() < 4 * abs(b).max() and abs(b).max() < 4 * abs(a).max(), name


@needs_torch
def test_ctc_loss_is_pytorchs_of_what_log_softmax_gives() -> None:
    logits = np.random.default_rng(0).standard_normal((5, 2, 4))
    found = []
    for library in (dt, torch):
        x = library.from_numpy(logits.copy()).requires_grad_()
        lengths = [library.tensor([5, 4]), library.tensor([2, 1])]
        library.nn.CTCLoss()(library.nn.LogSoftmax(2)(x), library.tensor([[1, 2], [3, 0]]), *lengths).backward()
        found.append(x.grad)
    assert differences(*found, 1e-9) is None


@pytest.mark.parametrize("size", [3, 4, 5])
def test_cross_map_normalisation_is_that_of_neighbouring_channels_an_odd_number_of_them(size: int) -> None:
    x = dt.rand(2, 6, 3, 3, dtype=dt.float64)
    odd = size - (size % 2 == 0)
    expected = dt.nn.LocalResponseNorm(odd, alpha=0.3 * odd / size)(x)
    assert dt.allclose(dt.nn.CrossMapLRN2d(size, alpha=0.3)(x), expected)


LINEAR = dt.nn.Linear(200, 300)


@pytest.mark.parametrize(
    ("parameter", "bound"),
    [(LINEAR.weight, 200**-0.5), (LINEAR.bias, 200**-0.5), (dt.nn.Conv2d(4, 50, 5).weight, 0.1)],
)
def test_initial_values_lie_within_their_bound_and_reach_it(parameter: Any, bound: float) -> None:
    largest = float(parameter.detach().abs().max())
    assert 0.9 * bound < largest <= bound


def test_warnings_are_seen() -> None:
    """This module ignores warnings in general: here is one."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        dt.nn.LSTM(2, 3, dropout=0.5)
    assert any("num_layers" in str(warning.message) for warning in seen)
