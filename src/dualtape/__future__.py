"""``dualtape.__future__``: how conversions of modules change their parameters.

``module.to(...)`` and similar methods write the new values into the parameters' ``.data``. Instead they can make new
parameters, or swap the parameters with new ones, so that the objects remain and may change their class.
"""

from __future__ import annotations

from .nn import modules as _modules

_settings = _modules._conversion_settings

__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Let conversions of modules make new parameters, in place of writing to ``.data``.

    Examples
    --------
    >>> import dualtape.__future__ as future
    >>> future.set_overwrite_module_params_on_conversion(False)
    """
    _settings.overwrite = bool(value)


def get_overwrite_module_params_on_conversion() -> bool:
    """Return whether conversions of modules make new parameters.

    Examples
    --------
    >>> import dualtape.__future__ as future
    >>> future.get_overwrite_module_params_on_conversion()
    False
    """
    return _settings.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Let conversions of modules, and ``load_state_dict``, swap parameters with new ones by
    :func:`dualtape.utils.swap_tensors`.

    Examples
    --------
    >>> import dualtape.__future__ as future
    >>> future.set_swap_module_params_on_conversion(False)
    """
    _settings.swap = bool(value)


def get_swap_module_params_on_conversion() -> bool:
    """Return whether conversions of modules swap parameters with new ones.

    Examples
    --------
    >>> import dualtape.__future__ as future
    >>> future.get_swap_module_params_on_conversion()
    False
    """
    return _settings.swap
