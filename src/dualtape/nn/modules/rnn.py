"""Recurrent networks: layers of cells over sequences, and single cells."""

from __future__ import annotations

import math
import numbers
from typing import Any

from ..._tensor.shaped import empty, zeros
from ...errors import warn
from ...ops import FUNCTIONS, load
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

load("lstm")
_FUNCTIONS = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """The parameters of a recurrent network, and its forward.

    Parameters
    ----------
    mode : str
        ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
    input_size, hidden_size : int
        The number of features of inputs and states.
    num_layers : int
        How many networks stand upon each other.
    bias, batch_first, bidirectional : bool
    dropout : float
        With what probability an output of a layer but the last becomes zero, in training.
    proj_size : int
        If not zero, the size to which states are projected.

    Examples
    --------
    >>> import dualtape as dt
    >>> isinstance(dt.nn.LSTM(2, 3), dt.nn.RNNBase)
    True
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    __jit_unused_properties__ = ["all_weights"]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_settings(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        rows, out = _GATES[mode] * hidden_size, proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            columns = input_size if layer == 0 else out * (1 + bidirectional)
            shapes = {"weight_ih": (rows, columns), "weight_hh": (rows, out)}
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}  # type: ignore[dict-item]
            shapes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
                for name, shape in zip(self._all_weights[-1], shapes.values(), strict=True):
                    setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters uniformly within ``1 / sqrt(hidden_size)`` of zero."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: in PyTorch it affects memory on a GPU."""

    # --- checks -----------------------------------------------------------------------------------

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        """Raise unless dtype and shape are those of an input."""
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype != weight.dtype and not _autocasting():
            raise ValueError(
                f"the input is {input.dtype} and the weights are {weight.dtype}: convert one of them, by"
                f" input.to({weight.dtype}) or model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"expected an input of {expected} dimensions, got one of shape {tuple(input.shape)}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"the last dimension of the input must be input_size={self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """Return the shape of a state for that input."""
        count = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return (self.num_layers * (1 + self.bidirectional), count, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx: Any, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise unless the shape of a state is the expected one."""
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Raise unless input and state fit each other."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """Return the state with its sequences in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # --- running ----------------------------------------------------------------------------------

    def _dt_initial(self, like: Any, expected: tuple[int, int, int]) -> Any:
        return zeros(*expected, dtype=like.dtype, device=like.device)

    def _dt_batched(self, hx: Any, batched: bool) -> Any:
        """Return the given state as one of a batch."""
        if hx.dim() != (3 if batched else 2):
            what = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(
                f"For {what} input, hx should also be {'3' if batched else '2'}-D but got {hx.dim()}-D tensor"
            )
        return hx if batched else hx.unsqueeze(1)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Return the outputs of the last layer at each step, and the last states of all.

        Parameters
        ----------
        input : Tensor or PackedSequence
            (L, N, features), (N, L, features) if ``batch_first``, or (L, features).
        hx : Tensor, or a pair of them for an LSTM, optional
            The first states, (layers * directions, N, features); default: zeros.
        """
        packed = isinstance(input, PackedSequence)
        data, sizes, order, back = input if packed else (input, None, None, None)
        if not packed and data.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {data.dim()}D instead")
        batched = packed or data.dim() == 3
        if not batched:
            data = data.unsqueeze(0 if self.batch_first else 1)
        if hx is None:
            hx = self._dt_first_state(data, sizes)
        else:
            hx = self.permute_hidden(self._dt_given_state(hx, batched), order)
        self.check_forward_args(data, hx, sizes)
        function = FUNCTIONS[_FUNCTIONS[self.mode]]
        settings = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if packed:
            result = function(data, sizes, hx, self._flat_weights, *settings)
        else:
            result = function(data, hx, self._flat_weights, *settings, self.batch_first)
        output, last = result[0], self._dt_last_state(result[1:])
        if packed:
            return PackedSequence(output, sizes, order, back), self.permute_hidden(last, back)
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            last = self._dt_each(last, lambda state: state.squeeze(1))
        return output, last

    def _dt_first_state(self, data: Any, sizes: Any) -> Any:
        return self._dt_initial(data, self.get_expected_hidden_size(data, sizes))

    def _dt_given_state(self, hx: Any, batched: bool) -> Any:
        return self._dt_batched(hx, batched)

    def _dt_last_state(self, states: tuple) -> Any:
        return states[0]

    def _dt_each(self, state: Any, function: Any) -> Any:
        return function(state)

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            value = getattr(self, name)
            shown += f", {name}={value}" if value != usual else ""
        return shown


def _check_settings(
    mode: str,
    input_size: Any,
    hidden_size: Any,
    num_layers: int,
    bias: Any,
    batch_first: Any,
    dropout: Any,
    proj_size: int,
) -> None:
    if mode not in _GATES:
        raise ValueError(f"Unrecognized RNN mode: {mode}; expected one of {[*_GATES]}")
    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]
        raise ValueError(
            f"dropout should be a number in range [0, 1], the probability of an element being zeroed, got {dropout!r}"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warn(
            f"dropout is applied between layers, and there is only one: {dropout=} has no effect with {num_layers=}",
        )
    for name, value, kind in (
        ("bias", bias, bool),
        ("batch_first", batch_first, bool),
        ("input_size", input_size, int),
        ("hidden_size", hidden_size, int),
    ):
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero, got {value}")
    if not 0 <= proj_size < hidden_size:
        raise ValueError(
            f"proj_size has to be smaller than hidden_size, or zero to disable projections, got {proj_size}"
        )


def _autocasting() -> bool:
    from ...amp.autocast_mode import is_autocast_enabled

    return is_autocast_enabled("cpu")


class RNN(RNNBase):
    """Layers of ``h' = tanh(W x + b + U h + c)``, or relu.

    Parameters
    ----------
    input_size, hidden_size, num_layers, nonlinearity, bias, batch_first, dropout, bidirectional
        As of :class:`RNNBase`; ``nonlinearity`` is ``"tanh"`` or ``"relu"``.

    Examples
    --------
    >>> import dualtape as dt
    >>> output, last = dt.nn.RNN(4, 3, 2)(dt.rand(5, 1, 4))
    >>> output.shape, last.shape
    (dualtape.Size([5, 1, 3]), dualtape.Size([2, 1, 3]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size is for LSTM only: leave it out")
        *sizes, chosen = args[:4] if len(args) > 3 else (*args, kwargs.pop("nonlinearity", "tanh"))
        self.nonlinearity: str = chosen
        if chosen not in ("tanh", "relu"):
            raise ValueError(f"unknown nonlinearity {chosen!r}: expected 'tanh' or 'relu'")
        super().__init__(f"RNN_{chosen.upper()}", *sizes, *args[4:], **kwargs)


class GRU(RNNBase):
    """Layers of gated recurrent units.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional
        As of :class:`RNNBase`.

    Examples
    --------
    >>> import dualtape as dt
    >>> output, last = dt.nn.GRU(4, 3, batch_first=True)(dt.rand(1, 5, 4))
    >>> output.shape, last.shape
    (dualtape.Size([1, 5, 3]), dualtape.Size([1, 1, 3]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size is for LSTM only: leave it out")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Layers of long short-term memory, whose state is a pair.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size
        As of :class:`RNNBase`.

    Examples
    --------
    >>> import dualtape as dt
    >>> output, (last, memory) = dt.nn.LSTM(4, 3)(dt.rand(5, 1, 4))
    >>> output.shape, last.shape, memory.shape
    (dualtape.Size([5, 1, 3]), dualtape.Size([1, 1, 3]), dualtape.Size([1, 1, 3]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """Return the shape of the second state for that input."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Raise unless input and states fit each other."""
        self.check_input(input, batch_sizes)
        for state, expected, name in (
            (hidden[0], self.get_expected_hidden_size(input, batch_sizes), "hidden[0]"),
            (hidden[1], self.get_expected_cell_size(input, batch_sizes), "hidden[1]"),
        ):
            self.check_hidden_size(state, expected, "Expected " + name + " size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """Return the states with their sequences in another order."""
        return self._dt_each(hx, lambda state: super(LSTM, self).permute_hidden(state, permutation))

    def _dt_first_state(self, data: Any, sizes: Any) -> Any:
        cell = self._dt_initial(data, self.get_expected_cell_size(data, sizes))
        return super()._dt_first_state(data, sizes), cell

    def _dt_given_state(self, hx: Any, batched: bool) -> Any:
        return self._dt_batched(hx[0], batched), self._dt_batched(hx[1], batched)

    def _dt_last_state(self, states: tuple) -> Any:
        return states

    def _dt_each(self, state: Any, function: Any) -> Any:
        return function(state[0]), function(state[1])


# --- cells ----------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """The parameters of one step, with ``num_chunks`` gates.

    Examples
    --------
    >>> import dualtape as dt
    >>> isinstance(dt.nn.GRUCell(2, 3), dt.nn.RNNCellBase)
    True
    """

    __constants__ = ["input_size", "hidden_size", "bias"]
    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any
    _dt_function: str

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters uniformly within ``1 / sqrt(hidden_size)`` of zero."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _dt_step(self, input: Any, states: tuple, name: str) -> Any:
        """Return the states after one step; an input without batch dimension counts as a batch of one."""
        if input.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        given = []
        for state in states:
            if state is None:
                given.append(zeros(x.size(0), self.hidden_size, dtype=x.dtype, device=x.device))
                continue
            if state.dim() not in (1, 2):
                raise ValueError(f"{type(self).__name__}: Expected hidden to be 1D or 2D, got {state.dim()}D instead")
            given.append(state if batched else state.unsqueeze(0))
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        result = FUNCTIONS[name](x, tuple(given) if len(given) == 2 else given[0], *weights)
        if batched:
            return result
        return tuple(r.squeeze(0) for r in result) if isinstance(result, tuple) else result.squeeze(0)

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return shown + (f", nonlinearity={nonlinearity}" if nonlinearity != "tanh" else "")


class RNNCell(RNNCellBase):
    """One step of an :class:`RNN`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.RNNCell(4, 3)(dt.rand(2, 4)).shape
    dualtape.Size([2, 3])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}; expected 'tanh' or 'relu'")
        return self._dt_step(input, (hx,), f"rnn_{self.nonlinearity}_cell")


class LSTMCell(RNNCellBase):
    """One step of an :class:`LSTM`.

    Examples
    --------
    >>> import dualtape as dt
    >>> hidden, memory = dt.nn.LSTMCell(4, 3)(dt.rand(2, 4))
    >>> hidden.shape, memory.shape
    (dualtape.Size([2, 3]), dualtape.Size([2, 3]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        return self._dt_step(input, (None, None) if hx is None else tuple(hx), "lstm_cell")


class GRUCell(RNNCellBase):
    """One step of a :class:`GRU`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.GRUCell(4, 3)(dt.rand(2, 4)).shape
    dualtape.Size([2, 3])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._dt_step(input, (hx,), "gru_cell")
