"""`dataclass` as Python's own, but quick at import: an `__init__` is written when the first object is made.

`dataclasses` compiles up to six functions for a class, which takes half a millisecond, and lamr has more than a hundred
such classes. Here all classes share the functions that do the same for each."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]
_MISSING = dataclasses.MISSING
_OWN = ("order", "unsafe_hash", "weakref_slot")  # what only Python's own decorator knows


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


@functools.cache
def _compared(cls: Any) -> tuple[str, ...]:
    return tuple(each.name for each in dataclasses.fields(cls) if each.compare)


def _values(record: Any) -> tuple[Any, ...]:
    kind: Any = type(record)
    return tuple([getattr(record, name) for name in _compared(kind)])


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse(_self: Any, name: str, _value: object = None) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to or delete field {name!r}")


def _written(cls: Any, frozen: bool) -> Any:
    """Return the `__init__` of a class that `dataclasses` has read."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": _MISSING}
    parameters, named, lines = ["self"], ["*"], []
    for each in dataclasses.fields(cls):
        name, default, taken = each.name, f"_{each.name}_", each.name
        made = each.default_factory is not _MISSING
        given = made or each.default is not _MISSING
        known[default] = each.default_factory if made else each.default
        if each.init:
            shown = name + f"={'_missing' if made else default}" * given
            (named if each.kw_only else parameters).append(shown)
            taken = f"{default}() if {name} is _missing else {name}" if made else name
        elif given:
            taken = f"{default}()" if made else default
        else:
            continue
        lines.append(f"_set(self, {name!r}, {taken})" if frozen else f"self.{name} = {taken}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters += named[len(named) == 1 :]
    exec(f"def __init__({', '.join(parameters)}):\n  " + "\n  ".join([*lines, "pass"]), known)
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return known["__init__"]


def _record(cls: Any = None, /, *, eq: bool = True, frozen: bool = False, **options: Any) -> Any:
    if cls is None:
        return lambda each: _record(each, eq=eq, frozen=frozen, **options)
    cls.__doc__ = cls.__doc__ or cls.__name__  # Python's would write the signature, which takes milliseconds
    if (frozen and options.get("slots")) or options.keys() & set(_OWN):
        return dataclasses.dataclass(cls, eq=eq, frozen=frozen, **options)
    record = dataclasses.dataclass(cls, init=False, repr=False, eq=False, **options)

    def first(self: Any, *arguments: Any, **named: Any) -> None:
        record.__init__ = _written(record, frozen)
        record.__init__(self, *arguments, **named)

    shared: dict[str, Any] = {"__init__": first, "__repr__": _repr}
    if eq:
        shared |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
    if frozen:
        shared |= {"__setattr__": _refuse, "__delattr__": _refuse}
    for name, function in shared.items():
        if name not in vars(cls):
            setattr(record, name, function)
    return record


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _record
