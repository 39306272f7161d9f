"""Which rows bind the names that other rows use.

`requirements_of` resolves every use to bindings in the same file, scope by scope: a name is looked up once in each
scope that uses it, and then all of its uses there are resolved together."""

from functools import cached_property

import numpy as np
from lamr_base.records import dataclass

from lamr_postprocess.captures import EXPRESSION, FUNCTION, MEMBERS, NO_SCOPE, Names, NameScope, encoded
from lamr_postprocess.clock import in_time
from lamr_postprocess.languages import Language
from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.outline import Outline

_MOST_BINDINGS = 4  # that one use needs; further ones of the same name say nothing new
_MOST_LOOKED_AT = 16  # bindings that a search backwards passes, which bounds the cost of one very long line
_MOST_WILDCARDS = 16  # imports of all names that a use may need; more would cost uses times imports
_NONE = -1
# What a binding is to those who use it; without the one of a private name they don't parse.
DEFINITION, IMPORT, PRIVATE = range(3)
_KINDS = {"import": IMPORT, "definition.private": PRIVATE}


def requirements_of(names: Names, outline: Outline, language: Language) -> IntArray:
    """Every pair of groups of which one uses what the other binds, once each, in document order of the uses.

    A name that is used in the scope that binds it needs the nearest binding before it, and earlier ones as long as the
    bindings so far are conditional. A name that is used from an inner scope needs the bindings that the outer scope
    makes itself.

    Returns:
        int [n, 3]: a group of `Outline.owner` that uses what the second group binds, and the kind of the
        binding."""
    bindings = _bind(names)
    rows, looked_up = _looked_up(names, language)
    number, local, around, declared, wild = looked_up.T
    here, outside = (np.flatnonzero((number != _NONE) & (local == each)) for each in (True, False))
    reaching, left = bindings.reaching(here, number[here], rows, outline)
    left = left[around[left] != _NONE]  # `x = x` in a class body reads the name from around the class
    declaring = np.flatnonzero(declared != _NONE)
    wildcards = np.array(names.wildcards[:_MOST_WILDCARDS], np.int64)
    needing = np.repeat(np.flatnonzero(wild), len(wildcards))
    needs = [bindings.outer(outside, number[outside]), *reaching, bindings.outer(left, around[left])]
    bound, at = np.concatenate(needs, axis=1)
    parts = (
        (declaring, declared[declaring], np.full_like(declaring, DEFINITION)),
        (needing, np.resize(wildcards, len(needing)), np.full_like(needing, IMPORT)),
        (bound, bindings.row[at], bindings.kind[at]),
    )
    use, binder, kind = map(np.concatenate, zip(*parts, strict=True))
    pairs = np.stack([rows[use], binder, kind], axis=1)[np.argsort(use, kind="stable")]
    pairs = np.concatenate([pairs, _declarations(names)])
    pairs[:, :2] = outline.owner[pairs[:, :2]]
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs[:, :2] >= 0).all(axis=1)]
    _, once = np.unique(pairs[:, 0] * (len(outline.owner) + 1) + pairs[:, 1], return_index=True)
    requirements: IntArray = pairs[np.sort(once)]
    return requirements


@dataclass(frozen=True, eq=False)
class _Bindings:
    """The bindings of names in the scopes that they belong to, together for each name of each scope."""

    row: IntArray  # [b], the row of each; those of a name are ascending
    kind: IntArray  # [b], DEFINITION, IMPORT or PRIVATE
    # [b], whether the scope's own code makes it, and not a function that declares the name global
    native: BoolArray
    starts: IntArray  # [B + 1], where the bindings of each name of a scope begin

    @cached_property
    def number(self) -> IntArray:
        """The name that each binds, int [b]."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def _outer(self) -> tuple[IntArray, IntArray]:
        """Of each name the first bindings that its scope makes itself, or else the first, and where they begin."""
        rank = np.arange(len(self.row)) - self.starts[self.number]
        native = self.native & (rank < 4 * _MOST_BINDINGS)
        count = np.append(0, np.cumsum(native))
        chosen = native & (count[1:] - count[self.starts[self.number]] <= _MOST_BINDINGS)
        chosen[self.starts[:-1][np.diff(count[self.starts]) == 0]] = True
        places = np.flatnonzero(chosen)
        return places, np.searchsorted(places, self.starts)

    def outer(self, use: IntArray, number: IntArray) -> IntArray:
        """What uses int [u] need of names int [u] that are bound around them: uses and bindings, int [2, n]."""
        if not len(use):
            return np.zeros((2, 0), np.int64)
        places, starts = self._outer
        many = starts[number + 1] - starts[number]
        steps = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        return np.stack([np.repeat(use, many), places[np.repeat(starts[number], many) + steps]])

    def reaching(
        self, use: IntArray, number: IntArray, rows: IntArray, outline: Outline
    ) -> tuple[list[IntArray], IntArray]:
        """What uses need of names that are bound where they are used.

        These are the bindings before the use, nearest first, up to one that no condition can skip; else the first after
        it. A statement's own binding (`x = x + 1`) doesn't serve its use and isn't needed.

        Args:
            use, number: int [u], uses and the names that each is of.
            rows: the row of any use.
            outline: of the file.

        Returns:
            uses and the bindings that each needs, int [2, n] each, nearer ones first; and the uses of what only their
            own statement binds."""
        row, stride = rows[use], len(outline.owner) + 1
        after = np.searchsorted(self.number * stride + self.row, number * stride + row, side="right")
        first, statement, bound_in = self.starts[number], outline.statement[row], outline.statement[self.row]
        list_end = outline.list_end[self.row]
        picked, own = np.zeros(len(use), np.int64), np.zeros(len(use), np.bool_)
        needs, open_uses = [], np.flatnonzero(after > first)
        for step in range(1, _MOST_LOOKED_AT + 1):
            at = after[open_uses] - step
            apart = bound_in[at] != statement[open_uses]
            own[open_uses[~apart]] = True
            picked[open_uses] += apart
            needs.append(np.stack([use[open_uses[apart]], at[apart]]))
            enough = (list_end[at] >= row[open_uses]) | (picked[open_uses] == _MOST_BINDINGS)
            open_uses = open_uses[~(apart & enough) & (at > first[open_uses])]
            if not len(open_uses):
                break
        later = np.flatnonzero((picked == 0) & ~own)
        needs.append(np.stack([use[later], np.minimum(after[later], self.starts[number[later] + 1] - 1)]))
        return needs, use[(picked == 0) & own]


def _bind(names: Names) -> _Bindings:
    """Number the names that each scope binds, and enter the numbers into the scopes that bindings belong to."""
    scopes = names.scopes
    number: list[int] = []
    native: list[bool] = []
    count = 0
    for name, _, scope_of_node, role in in_time(names.bindings):
        scope = scope_of_node
        while role == "variable.function" and scopes[scope].kind == EXPRESSION:
            scope = scopes[scope].parent
        declared = scopes[scope].declared.get(name)
        if declared is not None:
            scope = 0 if declared[0] == "declare.global" else _enclosing(scopes, scope, name)
        native.append(declared is None)
        number.append(scopes[scope].bound.setdefault(name, count))
        count += number[-1] == count
    row = np.array([row for _, row, _, _ in names.bindings], np.int64)
    kind = np.array([_KINDS.get(role, DEFINITION) for _, _, _, role in names.bindings], np.int64)
    order = np.lexsort((row, np.array(number, np.int64)))
    starts = np.append(0, np.cumsum(np.bincount(number, minlength=count)))
    return _Bindings(row[order], kind[order], np.array(native, np.bool_)[order], starts)


def _enclosing(scopes: list[NameScope], scope: int, name: bytes) -> int:
    """The nearest function scope around `scope` that doesn't pass the name on: a `nonlocal` means its variable."""
    at = scopes[scope].parent
    while scopes[at].parent != NO_SCOPE and (scopes[at].kind != FUNCTION or name in scopes[at].declared):
        at = scopes[at].parent
    return at


def _looked_up(names: Names, language: Language) -> tuple[IntArray, IntArray]:
    """Look up the uses that may need anything: where imports may bind any name all of them, else those of bound names.

    Returns:
        the row of each use, int [u]; and int [u, 5]: the number of the bindings that it sees, whether the code that
        makes them runs together with it, that of the bindings around a class in whose body it stands, the row that
        declares the name to be another scope's, and whether it needs all imports that may bind it. A number or row
        that there isn't is negative."""
    scopes, builtins = names.scopes, encoded(language.builtins)
    anywhere = {name for scope in scopes for name in scope.bound}
    private = {name for name, _, _, role in names.bindings if _KINDS.get(role) == PRIVATE}
    bound = np.array([word in anywhere for word in names.words], np.bool_)
    declares = np.array([bool(scope.declared) for scope in scopes], np.bool_)
    uses = names.uses[bound[names.uses[:, 0]] | declares[names.uses[:, 2]] | bool(names.wildcards)]
    keys, key = np.unique(uses[:, 0] * len(scopes) + uses[:, 2], return_inverse=True)
    found: list[tuple[int, bool, int, int, bool]] = []
    pairs = zip(*(each.tolist() for each in np.divmod(keys, len(scopes))), strict=True)
    for word, scope in in_time(pairs):
        name, here = names.words[word], scopes[scope]
        declared = here.declared[name][1] if name in here.declared else _NONE
        if name not in anywhere:
            found.append((_NONE, False, _NONE, declared, name not in builtins))
            continue
        visible = language.members_visible or name in private
        number, local = _lookup(scopes, name, scope, visible)
        in_class = local and here.kind == MEMBERS
        around = _lookup(scopes, name, here.parent, visible)[0] if in_class else _NONE
        # A name that is bound somewhere, but in no scope that this use sees, may be an import's.
        found.append((number, local, around, declared, number == _NONE))
    return uses[:, 1], np.array(found, np.int64).reshape(-1, 5)[key]


def _lookup(scopes: list[NameScope], name: bytes, scope: int, members_visible: bool) -> tuple[int, bool]:
    """The bindings that a use in `scope` sees, and whether the code that makes them runs together with the use."""
    at, local = scope, True
    while at != NO_SCOPE:
        here = scopes[at]
        declared = here.declared.get(name)
        if declared is not None:
            target = 0 if declared[0] == "declare.global" else _enclosing(scopes, at, name)
            return scopes[target].bound.get(name, _NONE), False
        visible = at == scope or here.kind != MEMBERS or members_visible
        if visible and name in here.bound:
            return here.bound[name], local
        local = local and here.kind == EXPRESSION
        at = here.parent
    return _NONE, False


def _declarations(names: Names) -> IntArray:
    """The row of each binding of a name that its scope declares to be another scope's, and the declaration, int [n, 3].

    Without the declaration the name would be local."""
    declared = (
        (row, names.scopes[scope].declared[name][1], DEFINITION)
        for name, row, scope, _ in names.bindings
        if name in names.scopes[scope].declared
    )
    return np.array([*declared], np.int64).reshape(-1, 3)
