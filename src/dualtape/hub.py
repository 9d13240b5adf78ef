"""``dualtape.hub``: models from a folder that has a ``hubconf.py``, and weights from a local cache.

Nothing is downloaded: repositories on the network are refused, and weights are taken from the cache, where a file that
was put there by hand is found.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from urllib.parse import urlparse

from . import errors
from ._listing import listing
from .serialization import load as _load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_chosen: list[str] = []  # the folder set by set_dir
_CONFIGURATION = "hubconf.py"


# --- folders --------------------------------------------------------------------------------------


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return os.path.expanduser(os.environ.get("TORCH_HOME") or os.path.join(cache, "torch"))


def get_dir() -> str:
    """Return the folder of the cache: the one that was set, or ``$TORCH_HOME/hub``, by default ``~/.cache/torch/hub``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hub.get_dir().endswith("hub")
    True
    """
    return _chosen[-1] if _chosen else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder of the cache.

    Examples
    --------
    >>> import dualtape as dt
    >>> before = dt.hub.get_dir()
    >>> dt.hub.set_dir("/tmp/models"); dt.hub.get_dir()
    '/tmp/models'
    >>> dt.hub.set_dir(before)
    """
    _chosen[:] = [os.path.expanduser(d)]


# --- models ---------------------------------------------------------------------------------------


def _check_source(source: str) -> None:
    if source not in ("github", "local"):
        raise ValueError(f"Unknown source: {source!r}. Allowed values: 'github' | 'local'.")
    if source == "github":
        raise RuntimeError(
            "hub: nothing is downloaded: fetch the repository yourself, and give its folder with source='local'"
        )


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _configuration(repo_or_dir: str | os.PathLike[str]) -> tuple[Path, ModuleType]:
    """Return a folder, and its ``hubconf.py`` as a module; it is run."""
    folder = Path(repo_or_dir).expanduser()
    path = folder / _CONFIGURATION
    if not path.is_file():
        raise FileNotFoundError(f"hub: expected a folder with a {_CONFIGURATION}, but there is no {path}")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _importable(folder):
        spec.loader.exec_module(module)
    missing = [name for name in getattr(module, "dependencies", ()) or () if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return folder, module


def _entry(module: ModuleType, model: str) -> Callable[..., Any]:
    if not isinstance(model, str):
        raise ValueError(f"Invalid input: model should be a string of function name, got {type(model).__name__}")
    function = getattr(module, model, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return function


def list(github: str, force_reload: bool = False, source: str = "local", **options: Any) -> Any:
    """Return the names of the models of a folder: the functions of its ``hubconf.py``.

    Parameters
    ----------
    github : str
        The folder.
    force_reload : bool
        Ignored: the file is read each time.
    source : {"local"}
        Repositories on the network are refused.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hub.list("models")  # doctest: +SKIP
    ['small', 'large']
    """
    _check_source(source)
    _, module = _configuration(github)
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(github: str, model: str, force_reload: bool = False, source: str = "local", **options: Any) -> str | None:
    """Return the docstring of a model's function in the ``hubconf.py`` of a folder.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hub.help("models", "small")  # doctest: +SKIP
    'A small network.'
    """
    _check_source(source)
    return _entry(_configuration(github)[1], model).__doc__


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """Return what the function ``model`` of a folder's ``hubconf.py`` returns.

    The file is Python, and is run.

    Parameters
    ----------
    repo_or_dir : str
        The folder.
    model : str
        The name of the function.
    *args, **kwargs
        Its arguments.
    source : {"local"}
        Repositories on the network are refused.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hub.load("models", "small", width=8, source="local")  # doctest: +SKIP
    """
    for option in ("force_reload", "verbose", "skip_validation", "trust_repo"):
        kwargs.pop(option, None)
    _check_source(str(source).lower())
    folder, module = _configuration(repo_or_dir)
    with _importable(folder):
        return _entry(module, model)(*args, **kwargs)


# --- weights --------------------------------------------------------------------------------------


def _refuse_download(url: str, path: str) -> NoReturn:
    raise RuntimeError(f"hub: nothing is downloaded: fetch {url} yourself, and put it at {path}")


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Copy the file of a ``file:`` URL to ``dst``; other URLs are refused, since nothing is downloaded.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hub.download_url_to_file("https://example.org/a.pt", "a.pt")
    Traceback (most recent call last):
        ...
    RuntimeError: hub: nothing is downloaded: fetch https://example.org/a.pt yourself, and put it at a.pt
    """
    parts = urlparse(url)
    if parts.scheme != "file":
        _refuse_download(url, dst)
    from urllib.request import url2pathname

    content = Path(url2pathname(parts.path)).read_bytes()
    _check_hash(content, hash_prefix, url)
    temporary = f"{dst}.{os.getpid()}.partial"
    try:
        Path(temporary).write_bytes(content)
        os.replace(temporary, dst)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def _check_hash(content: bytes, prefix: str | None, url: str) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if prefix is not None and not digest.startswith(prefix):
        raise RuntimeError(f'invalid hash value (expected "{prefix}", got "{digest}") of {url}')


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """Load the file of that name from the cache.

    Parameters
    ----------
    url : str
        Where the file comes from: its last part is its name.
    model_dir : str, optional
        The folder it lies in; ``checkpoints`` in :func:`get_dir` by default.
    map_location : optional
        As for :func:`dualtape.load`.
    progress : bool
        Ignored: nothing is downloaded.
    check_hash : bool
        The name ends with the first digits of the file's SHA-256, and is compared.
    file_name : str, optional
        Another name.
    weights_only : bool
        As for :func:`dualtape.load`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hub.load_state_dict_from_url("https://example.org/model-1a2b.pt")  # doctest: +SKIP
    """
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(model_dir or os.path.join(get_dir(), "checkpoints"), name)
    found = HASH_REGEX.search(name) if check_hash else None
    if not os.path.exists(path):
        if urlparse(url).scheme != "file":
            _refuse_download(url, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        download_url_to_file(url, path, found[1] if found else None)
    elif found:
        _check_hash(Path(path).read_bytes(), found[1], path)
    return _load_file(path, map_location=map_location)


def __getattr__(name: str) -> Any:
    raise errors.missing(__name__, name, __all__)


__dir__ = listing(__name__)
