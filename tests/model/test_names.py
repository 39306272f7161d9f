"""Each name of a model repository stands in `names` and nowhere else in the code, and `names` is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from lamr_model import names

ROOT = Path(names.__file__).resolve().parents[2]
COMPONENTS = sorted(path.parent.parent.name for path in ROOT.glob("*/lamr_*/__init__.py"))
TALKING_TO_MODELS = {"model", "client", "serving", "export", "cli"}
# `lamr` is also the product and its command, and `1` is any number.
COMMON = {names.ENSEMBLE, names.VERSION}
# Elsewhere these are ordinary words: a keyword of a repair, a chain's name, a column of the training data.
WORDS = {names.KEEP, names.FUSED, names.RELEVANCE}
NAMES = {value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)} - COMMON


def spelled_in(path: Path) -> list[ast.Constant]:
    """The constants of a module, but for the names of Python's own arguments that errors carry, and for types.

    A type checker takes no `Literal` of an imported name."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    arguments = {id(node.value) for node in nodes if isinstance(node, ast.keyword) and node.arg == "argument"}
    types = [
        node for node in nodes if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal"
    ]
    typed = {id(node) for type_ in types for node in ast.walk(type_)}
    return [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in arguments | typed]


@pytest.mark.parametrize("component", COMPONENTS)
def test_no_other_module_spells_a_name(component: str) -> None:
    forbidden = NAMES if component in TALKING_TO_MODELS else NAMES - WORDS
    spelled = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value!r}"
        for path in (ROOT / component).rglob("*.py")
        if path != Path(names.__file__)
        for node in spelled_in(path)
        if node.value in forbidden
    ]
    assert not spelled, f"import these from lamr_model.names: {spelled}"


def test_the_names_differ() -> None:
    spelled = [value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)]
    assert len(spelled) > 20
    assert set(COMPONENTS) > TALKING_TO_MODELS
    assert len(set(spelled)) == len(spelled)


def test_a_process_of_the_server_gets_the_names_alone() -> None:
    code = "import sys, lamr_model.names; print([m for m in ('numpy', 'tokenizers') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
