"""Every error that lamr raises on purpose has one base, carries its facts, and ends the command as the docs say."""

import importlib
import pickle
import pkgutil
import re
from collections.abc import Iterator

import lamr_cli.main
import pytest
from lamr_base.errors import BAD_INPUT, SERVER_TROUBLE, LamrError
from lamr_cli.exits import INCOMPLETE, exit_code
from lamr_client import (
    ClosedError,
    DeadlineExceededError,
    InvalidInputError,
    MissingPackageError,
    ModelMismatchError,
    Pruner,
    ServerError,
    load_spec,
)
from lamr_client.deadline import Deadline
from lamr_client.triton_wire import error_of
from lamr_postprocess import BudgetError, prune_lines

from tests.test_house import FOLDERS, ROOT

# Only Triton can import the programs that it runs, and only hosts, which aren't installed here, what is for them.
NOT_MODULES = (
    "lamr_serving.backends",
    "lamr_agents.mini_swe_agent",
    "lamr_agents.litellm_proxy",
    "lamr_agents.openhands",
)


def exception_classes() -> Iterator[type[BaseException]]:
    """Each exception class that a module of lamr's own defines."""
    for package, folder in FOLDERS.items():
        inside = [module.name for module in pkgutil.walk_packages([str(folder)], f"{package}.")]
        for name in [package, *inside]:
            if name.startswith(NOT_MODULES):
                continue
            members = [
                each for each in vars(importlib.import_module(name)).values() if isinstance(each, type)
            ]
            yield from (
                each for each in members if issubclass(each, BaseException) and each.__module__ == name
            )


def test_every_error_has_one_base() -> None:
    classes = set(exception_classes())
    names = {each.__name__ for each in classes}
    assert {"DecoderWeightsError", "BudgetError", "ModelConfigError", "RequestError", "RunError"} <= names
    assert not [each for each in classes if not issubclass(each, LamrError)]


def test_no_module_hides_an_error_from_the_walk() -> None:
    written = {
        name
        for folder in FOLDERS.values()
        for path in folder.rglob("*.py")
        for name in re.findall(r"^ *class (\w+Error)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    defined = {each.__name__ for each in exception_classes()}
    assert written <= defined


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInputError("x"), BAD_INPUT),
        (ClosedError("x"), BAD_INPUT),
        (MissingPackageError("x", package="onnxruntime"), BAD_INPUT),
        (FileNotFoundError("x"), BAD_INPUT),
        (ModelMismatchError("x"), SERVER_TROUBLE),
        (ServerError("x"), SERVER_TROUBLE),
        (DeadlineExceededError("x"), SERVER_TROUBLE),
        (ValueError("x"), None),
        (ZeroDivisionError("x"), None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_classes_carry_their_exit_code(error: Exception, code: int | None) -> None:
    assert exit_code(error) == code


def test_docs_and_help_name_the_codes() -> None:
    codes = {0, BAD_INPUT, SERVER_TROUBLE, INCOMPLETE}
    [sentence] = re.findall(
        r"Exit codes: (.*?)\.", (ROOT / "docs" / "use.md").read_text(encoding="utf-8"), re.S
    )
    assert {int(code) for code in re.findall(r"\d", sentence)} == codes
    assert {int(code) for code in re.findall(r"\d", str(lamr_cli.main.app.info.epilog))} == codes


def test_facts_are_attributes(tmp_path) -> None:
    with pytest.raises(ModelMismatchError) as mismatch:
        load_spec(tmp_path)
    assert mismatch.value.path == tmp_path / "lamr" / "1" / "lamr.json"
    assert mismatch.value.server is None

    with Pruner() as pruner:
        with pytest.raises(InvalidInputError) as nul:
            pruner.prune("which?", "x = 1\n\0")
        assert (nul.value.argument, nul.value.offset) == ("code", 6)
        with pytest.raises(InvalidInputError) as threshold:
            pruner.prune("which?", "x = 1\n", threshold=2)
        assert (threshold.value.argument, threshold.value.offset) == ("threshold", None)
        with pytest.raises(BudgetError) as budget:
            pruner.prune("which?", "def f(x):\n    return x\n" * 9, max_tokens=1)
        assert budget.value.needed > budget.value.max_tokens == 1
        assert budget.value.argument == "max_tokens"
    with pytest.raises(ClosedError):
        pruner.prune("which?", "x = 1\n")

    unreachable = error_of(Exception("no route"), "localhost:1", "lamr")
    assert isinstance(unreachable, ServerError)
    assert unreachable.server == "localhost:1"
    assert Deadline(0.25).exceeded().timeout == 0.25


@pytest.mark.parametrize(
    "error",
    [
        InvalidInputError("x", argument="code", offset=3),
        ModelMismatchError("x", path="model.onnx"),
        DeadlineExceededError("x", server="localhost:1", timeout=2.0),
        BudgetError(3, 2),
        MissingPackageError("x", package="onnxruntime"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_processes_whole(error: LamrError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_budget_errors_are_value_errors_too() -> None:
    with pytest.raises(ValueError, match="max_tokens is 1"):
        prune_lines("x = 1\n" * 9, [1.0] + [0.0] * 8, max_tokens=1)
