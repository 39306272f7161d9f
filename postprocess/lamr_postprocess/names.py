"""Which rows bind the names that other rows use.

`requirements_of` resolves every use to bindings in the same file, scope by scope.
"""

from __future__ import annotations

import bisect

import numpy as np

from lamr_postprocess.captures import (
    EXPRESSION,
    FUNCTION,
    MEMBERS,
    NO_SCOPE,
    Binding,
    Names,
    Scope,
)
from lamr_postprocess.languages import Language
from lamr_postprocess.outline import Outline

_MOST_BINDINGS = 4  # that one use needs; further ones of the same name say nothing new
_MOST_LOOKED_AT = 16  # bindings that a search backwards passes, which bounds the cost of one very long line


Requirement = tuple[int, int, bool]
"""The first group of `Outline.owner` names something that the second binds; whether an import binds it."""


def requirements_of(names: Names, outline: Outline, language: Language) -> list[Requirement]:
    """Every pair of groups of which one uses what the other binds, once each, in document order of the uses.

    A name that is used in the scope that binds it needs the nearest binding before it, and earlier ones as long as the
    bindings so far are conditional. A name that is used from an inner scope needs the bindings that the outer scope
    makes itself.
    """
    _bind(names)
    resolver = _Resolver(names, outline, language)
    for word, row, scope in resolver.resolvable(names):
        resolver.resolve(names.words[word], row, scope)
    for name, row, scope, _ in names.bindings:
        resolver.require_declaration(name, row, scope)
    return resolver.requirements


def _bind(names: Names) -> None:
    """Enter each binding into the scope that it belongs to."""
    scopes = names.scopes
    for name, row, scope_of_node, role in names.bindings:
        scope = scope_of_node
        while role == "variable.function" and scopes[scope].kind == EXPRESSION:
            scope = scopes[scope].parent
        declared = scopes[scope].declared.get(name)
        native = declared is None
        if declared is not None:
            scope = 0 if declared[0] == "declare.global" else _enclosing(scopes, scope, name)
        bound = scopes[scope].bound
        binding = bound.get(name)
        if binding is None:
            binding = bound[name] = Binding()
        binding.rows.append(row)
        binding.imported.append(role == "import")
        binding.native.append(native)


def _enclosing(scopes: list[Scope], scope: int, name: bytes) -> int:
    """The nearest function scope around `scope` that doesn't pass the name on: a `nonlocal` means its variable."""
    at = scopes[scope].parent
    while scopes[at].parent != NO_SCOPE and (scopes[at].kind != FUNCTION or name in scopes[at].declared):
        at = scopes[at].parent
    return at


class _Resolver:
    """Finds, for each use, the rows that must stay with it."""

    def __init__(self, names: Names, outline: Outline, language: Language) -> None:
        self.scopes = names.scopes
        self.wildcards = names.wildcards
        self.builtins = frozenset(name.encode() for name in language.builtins)
        self.members_visible = language.members_visible
        self.declaring = {index for index, scope in enumerate(names.scopes) if scope.declared}
        self.anywhere = {name for scope in names.scopes for name in scope.bound}
        self.owner = outline.owner.tolist()
        self.statement, self.list_end = outline.statement.tolist(), outline.list_end.tolist()
        self.stride = len(self.owner) + 1
        self.seen: set[int] = set()
        self.known: dict[tuple[bytes, int], tuple[Binding | None, bool]] = {}
        self.requirements: list[Requirement] = []

    def resolvable(self, names: Names) -> list[list[int]]:
        """The uses that may need anything: where imports may bind any name all of them, else those of bound names."""
        bound = np.array([word in self.anywhere for word in names.words], np.bool_)
        declaring = np.zeros(len(names.scopes), np.bool_)
        declaring[list(self.declaring)] = True
        needing = bound[names.uses[:, 0]] | declaring[names.uses[:, 2]] | bool(self.wildcards)
        uses: list[list[int]] = names.uses[needing].tolist()
        return uses

    def resolve(self, name: bytes, row: int, scope: int) -> None:
        """Add what a use of the name needs."""
        if scope in self.declaring:
            self.require_declaration(name, row, scope)
        if name not in self.anywhere:
            if self.wildcards and name not in self.builtins:
                self.require_wildcards(row)
            return
        key = (name, scope)
        if key not in self.known:
            self.known[key] = self.lookup(name, scope)
        binding, local = self.known[key]
        if binding is None:  # bound somewhere, but in no scope that this use sees
            self.require_wildcards(row)
        elif local:
            picks = self.reaching(binding, row)
            self.require(row, binding, picks)
            if not picks and self.scopes[scope].kind == MEMBERS:
                # `x = x` in a class body reads the name from around the class.
                around, _ = self.lookup(name, self.scopes[scope].parent)
                if around is not None:
                    self.require(row, around, _outer(around))
        else:
            self.require(row, binding, _outer(binding))

    def require(self, row: int, binding: Binding, picks: list[int]) -> None:
        """The row needs the picked bindings."""
        for pick in picks:
            self.add(row, binding.rows[pick], binding.imported[pick])

    def require_wildcards(self, row: int) -> None:
        """The row needs every import that may bind its name."""
        for wildcard in self.wildcards:
            self.add(row, wildcard, True)

    def require_declaration(self, name: bytes, row: int, scope: int) -> None:
        """A name that its scope declares to be another scope's needs the declaration: without it, it would be local."""
        declared = self.scopes[scope].declared.get(name)
        if declared is not None:
            self.add(row, declared[1], False)

    def add(self, user: int, binder: int, imported: bool) -> None:
        """Record a requirement of one row by another once, if they belong to different groups."""
        first, second = self.owner[user], self.owner[binder]
        pair = first * self.stride + second
        if first != second and pair not in self.seen and first >= 0 <= second:
            self.seen.add(pair)
            self.requirements.append((first, second, imported))

    def lookup(self, name: bytes, scope: int) -> tuple[Binding | None, bool]:
        """The bindings that a use in `scope` sees, and whether the code that makes them runs together with the use."""
        at, local = scope, True
        while at != NO_SCOPE:
            here = self.scopes[at]
            declared = here.declared.get(name)
            if declared is not None:
                target = 0 if declared[0] == "declare.global" else _enclosing(self.scopes, at, name)
                return self.scopes[target].bound.get(name), False
            visible = at == scope or here.kind != MEMBERS or self.members_visible
            if visible and name in here.bound:
                return here.bound[name], local
            local = local and here.kind == EXPRESSION
            at = here.parent
        return None, False

    def reaching(self, binding: Binding, row: int) -> list[int]:
        """The bindings before the row, nearest first, up to one that no condition can skip; else the first after it.

        A statement's own binding (`x = x + 1`) doesn't serve its use and isn't needed.
        """
        picks: list[int] = []
        rows, own = binding.rows, self.statement[row]
        after = bisect.bisect_right(rows, row)
        same_statement = False
        for at in range(after - 1, max(after - 1 - _MOST_LOOKED_AT, -1), -1):
            if self.statement[rows[at]] == own:
                same_statement = True
                continue
            picks.append(at)
            if self.list_end[rows[at]] >= row or len(picks) == _MOST_BINDINGS:
                break
        if not picks and not same_statement:
            picks = [min(after, len(rows) - 1)]
        return picks


def _outer(binding: Binding) -> list[int]:
    """The first bindings that the scope makes itself, or else its first binding."""
    picks = [at for at, native in enumerate(binding.native[: 4 * _MOST_BINDINGS]) if native]
    return picks[:_MOST_BINDINGS] or [0]
