"""``dualtape.onnx``: what programs ask of PyTorch's exporter. Models are not exported to ONNX's format."""

from __future__ import annotations

from typing import Any, NoReturn

from ._listing import listing

__all__ = ["OnnxExporterError", "export", "is_in_onnx_export"]


class OnnxExporterError(RuntimeError):
    """A model could not be exported: PyTorch raises it, and programs catch it."""


def is_in_onnx_export() -> bool:
    """False: nothing is being exported.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.onnx.is_in_onnx_export()
    False
    """
    return False


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse: models are not written in ONNX's format.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.onnx.export()
    Traceback (most recent call last):
        ...
    NotImplementedError: onnx.export: dualtape writes no ONNX files: save the weights with dualtape.save(...
    """
    raise NotImplementedError(
        "onnx.export: dualtape writes no ONNX files: save the weights with dualtape.save(model.state_dict(), path),"
        " load them into the model in PyTorch, and export it there"
    )


__dir__ = listing(__name__)
