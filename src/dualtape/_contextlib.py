"""Turn a context manager into a decorator, also for generators and coroutines.

The body of a generator runs in pieces; the context is entered for each and left at each ``yield``, so that the
consumer's code never runs inside it. The module is imported when something is decorated.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any


def decorate(fresh: Callable[[], Any], function: Any) -> Any:
    """Return ``function`` run inside ``fresh()``, a new context manager for each call or piece."""
    if inspect.isclass(function):
        raise TypeError(
            f"a mode cannot decorate the class {function.__name__}: decorate the methods that should run inside it"
        )
    wrapper: Callable[..., Any]
    if inspect.isgeneratorfunction(function):
        wrapper = _generator(fresh, function)
    elif inspect.isasyncgenfunction(function):
        wrapper = _async_generator(fresh, function)
    elif inspect.iscoroutinefunction(function):
        wrapper = _coroutine(fresh, function)
    else:
        wrapper = _function(fresh, function)
    return functools.wraps(function)(wrapper)


def _function(fresh: Callable[[], Any], function: Any) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with fresh():
            return function(*args, **kwargs)

    return wrapper


def _generator(fresh: Callable[[], Any], function: Any) -> Callable[..., Generator]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator:
        generator = function(*args, **kwargs)
        step: Callable[[], Any] = lambda: next(generator)
        try:
            while True:
                try:
                    with fresh():
                        item = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield item
                except GeneratorExit:
                    with fresh():
                        generator.close()
                    raise
                except BaseException as error:
                    step = functools.partial(generator.throw, error)
                else:
                    step = functools.partial(generator.send, sent)
        finally:
            generator.close()

    return wrapper


def _async_generator(fresh: Callable[[], Any], function: Any) -> Callable[..., AsyncGenerator]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator:
        generator = function(*args, **kwargs)
        step: Callable[[], Any] = lambda: generator.__anext__()
        try:
            while True:
                try:
                    with fresh():
                        item = await step()
                except StopAsyncIteration:
                    return
                try:
                    sent = yield item
                except GeneratorExit:
                    with fresh():
                        await generator.aclose()
                    raise
                except BaseException as error:
                    step = functools.partial(generator.athrow, error)
                else:
                    step = functools.partial(generator.asend, sent)
        finally:
            await generator.aclose()

    return wrapper


def _coroutine(fresh: Callable[[], Any], function: Any) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with fresh():
            return await function(*args, **kwargs)

    return wrapper
