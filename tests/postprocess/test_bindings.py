"""Forms that bind a name: the line that binds it comes with the line that uses it."""

from __future__ import annotations

import pytest
from lamr_postprocess import prune_lines

_FORMS = {
    "swift": (
        "func f() {\n    FORM\n    first()\n    third(x)\n}\n",
        "let x = g() | guard let x = g() else { return } | guard let x else { return } | let (x, y) = g() | "
        "guard case let .some(x) = g() else { return }",
    ),
    "javascript": (
        "async function f() {\n  FORM\n  first();\n  third(x);\n}\n",
        "const x = g() | using x = g() | await using x = g() | const {a: [x]} = g()",
    ),
    "csharp": (
        "class A\n{\n    void F()\n    {\n        FORM\n        First();\n        Third(x);\n    }\n}\n",
        "var x = G(); | var (x, y) = G(); | (int x, var y) = G(); | if (G() is not (var y, int x)) return;",
    ),
    "scala": (
        "FORM\n\nobject A {\n  def f() = {\n    first()\n    third(x)\n  }\n}\n",
        "object x | import a.x | import a.{b => x} | import a.{b as x, c} | val (x, y) = g() | val Some(x) = g() | "
        "val a :: x = g() | given x: Int = 1",
    ),
    "dart": (
        "FORM\n\nvoid f() {\n  first();\n  third(x);\n}\n",
        "class x {} | import 'a.dart' show x; | import 'a.dart' as x; | typedef x = int; | mixin x {} | "
        "int get x => 1; | const x = 1; | extension type x(int i) {}",
    ),
    "dart values": (
        "void f() {\n  FORM\n  first();\n  third(x);\n}\n",
        "var x = g(); | final (x, y) = g(); | var A(:x) = g(); | var [y, ...x] = g(); | var {'a': x} = g();",
    ),
    "elixir": (
        "defmodule A do\n  FORM\n\n  def f(y) do\n    first()\n    X.third(y)\n  end\nend\n",
        "alias B.X | alias B.C, as: X | alias B.{C, X} | require B, as: X",
    ),
    "elixir values": (
        "defmodule A do\n  def f(y) do\n    FORM\n    first()\n    third(x)\n  end\nend\n",
        "x = g() | {:ok, x} = g() | %{a: x} = g() | [y | x] = g() | [x, y] = g() | _ = x = g()",
    ),
    "elixir functions": (
        "defmodule A do\n  FORM\n\n  def f(y) do\n    first()\n    third(x(y))\n  end\nend\n",
        "defp x(y), do: y | def x(y) when y > 1, do: y | defmacro x(y), do: y",
    ),
    "ruby": (
        "def f\n  FORM\n  first\n  third(x)\nend\n",
        "x = g | *x, y = g | g => {x:} | g => [y, *x] | a, (b, x) = g | g => x",
    ),
    "shell": (
        'f() {\n  FORM\n  first\n  third "$x"\n}\n',
        "x=$(g) | read -r x | read -r y x | mapfile -t x < g | readarray x < g | printf -v x '%s' g | ((x = 1)) | "
        "((x++)) | local x | getopts ab x",
    ),
}
FORMS = [
    (name, frame, form.strip())
    for name, (frame, forms) in _FORMS.items()
    for form in forms.replace("[y | x]", "[y @ x]").split(" | ")
]


@pytest.mark.parametrize(("name", "frame", "form"), FORMS, ids=[f"{name}: {form}" for name, _, form in FORMS])
def test_what_binds_a_name_comes_with_its_use(name: str, frame: str, form: str) -> None:
    code = frame.replace("FORM", form.replace(" @ ", " | "))
    lines = code.splitlines()
    use = next(row for row, line in enumerate(lines) if "third" in line.lower())
    scores = [float(row == use) for row in range(len(lines))]
    pruned = prune_lines(code, scores, language=name.split(maxsplit=1)[0], threshold=0.5, min_cut=0)
    binder = frame.splitlines().index(next(line for line in frame.splitlines() if "FORM" in line)) + 1
    first = next(row for row, line in enumerate(lines, 1) if "first" in line.lower())
    assert binder in pruned.kept_lines
    assert first not in pruned.kept_lines


COMPOSE = """\
services:
  web:
    image: web:1
    # the shell form
    command: serve
  # it has no port
  worker:
    image: worker:1

# Named volumes outlive the containers.
volumes:
  data: {driver: local}
"""


@pytest.mark.parametrize(("comment", "brought"), [(4, {1, 2, 5}), (6, {1, 7}), (10, {11, 12})])
def test_a_comment_of_yaml_brings_the_key_below_it(comment: int, brought: set[int]) -> None:
    scores = [float(row == comment) for row in range(1, 13)]
    pruned = prune_lines(COMPOSE, scores, language="yaml", threshold=0.5, min_cut=0)
    assert set(pruned.kept_lines) == brought | {comment}
