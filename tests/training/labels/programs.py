"""Random Python programs that know which of their lines explain each other line, for the tests of labels.

A program writes down what a line needs while the line is added, so a test that compares labels with it shares no code
with the labels."""

from dataclasses import dataclass, field
from functools import partial

from hypothesis import strategies as st

IMPORTED = ("alpha", "beta", "gamma", "delta")
LOCAL = ("one", "two", "three")


@dataclass(eq=False)
class Program:
    """A program's lines, and for each of them the headers that it stands under and the names that it uses.

    Attributes:
        lines: the lines, without line ends.
        around: for each line the 0-based lines of the headers of compound statements around it and of their branches.
        uses: for each line the imported names in it.
        imports: for each imported name the 0-based lines of its import."""

    lines: list[str] = field(default_factory=list)
    around: list[set[int]] = field(default_factory=list)
    uses: list[set[str]] = field(default_factory=list)
    imports: dict[str, list[int]] = field(default_factory=dict)

    def add(self, text: str, uses: set[str], around: set[int]) -> int:
        """Append a line and return its 0-based number."""
        self.lines.append(text)
        self.uses.append(uses)
        self.around.append(set(around))
        return len(self.lines) - 1

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


_name = st.sampled_from((*IMPORTED, *LOCAL))
_SIMPLE = ("{0} = {1}", "{0}({1})", "{0}.field[{1}] += 1", "del {0}, {1}", "assert {0} in {1}, f'{{{1}}}'")
# A compound statement's branches: each header, and whether it may be left out.
_COMPOUND = (
    (("if {0}:", False), ("elif {1}:", True), ("elif {0} and {1}:", True), ("else:", True)),
    (("for _ in {0}({1}):", False), ("else:", True)),
    (("while {0} < {1}:", False), ("else:", True)),
    (("with {0} as {1}:", False),),
    (
        ("try:", False),
        ("except {0}:", False),
        ("except ({0}, {1}):", True),
        ("else:", True),
        ("finally:", True),
    ),
    (("try:", False), ("finally:", False)),
    (("def work(argument={0}, other={1}):", False),),
    (("async def wait(", False),),
    (("class Thing({0}, key={1}):", False),),
    (("@{0}", False),),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Imports, then nested statements of every sort, with comments between them."""
    program = Program()
    for name in draw(st.lists(st.sampled_from(IMPORTED), unique=True)):
        _import(draw, program, name)
    _block(draw, program, 0, set(), depth=0)
    return program


def _import(draw: st.DrawFn, program: Program, name: str) -> None:
    form = draw(
        st.sampled_from(("import {0}", "import {0}.deep", "import far as {0}", "from far import {0}", "("))
    )
    if form != "(":
        program.imports[name] = [program.add(form.format(name), set(), set())]
        return
    program.imports[name] = [
        program.add(text, set(), set())
        for text in ("from far import (", "    something,", f"    {name},", ")")
    ]


def _block(draw: st.DrawFn, program: Program, indent: int, around: set[int], depth: int) -> None:
    for kind in draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)):
        if kind == 5:
            program.add(" " * indent + "# else: finally: a remark", set(), around)
        if kind >= 3 and depth < 3:
            _compound(draw, program, indent, around, depth)
        else:
            _line(draw, program, indent, around, draw(st.sampled_from(_SIMPLE)))


def _line(draw: st.DrawFn, program: Program, indent: int, around: set[int], form: str) -> int:
    names = draw(_name), draw(_name)
    used = {name for place, name in enumerate(names) if f"{{{place}" in form and name in IMPORTED}
    return program.add(" " * indent + form.format(*names), used, around)


def _compound(draw: st.DrawFn, program: Program, indent: int, around: set[int], depth: int) -> None:
    branches = [
        form for form, optional in draw(st.sampled_from(_COMPOUND)) if not optional or draw(st.booleans())
    ]
    start = len(program.lines)
    headers: set[int] = set()
    write = partial(_line, draw, program, indent, around)
    if "else:" in branches and branches[0] == "try:" and not any(b.startswith("except") for b in branches):
        branches.remove("else:")
    for form in branches:
        headers.add(write(form))
        if form.startswith("@"):
            headers.add(write("def made(argument={0}) -> {1}:"))
        if form.endswith("("):
            headers |= {write("    item={0},"), write("):")}
        _block(draw, program, indent + 4, around, depth + 1)
    for number in range(start, len(program.lines)):
        program.around[number] |= headers - {number}
