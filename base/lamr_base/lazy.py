"""Imports that wait until they are needed."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's `__getattr__` and `__dir__`; `homes` has for each module the names that it gives, with spaces."""
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return get, lambda: sorted({*vars(sys.modules[package]), *modules})


def toml_parser() -> Any:
    """The standard library's `tomllib`; before Python 3.11 `tomli`, which is the same."""
    return import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
