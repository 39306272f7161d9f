"""Importing the light packages loads nothing heavy, and the client not even what only a transport needs."""

import importlib
import subprocess
import sys

import pytest

HEAVY = ["torch", "onnxruntime", "transformers", "onnx", "scipy", "pandas"]
LATER = ["grpc", "tritonclient", "asyncio", "concurrent.futures", "google.protobuf", "numba"]


def loaded(imports: str, modules: list[str]) -> str:
    code = f"import sys; {imports}; print([name for name in {modules} if name in sys.modules])"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_light_packages_together_load_nothing_heavy():
    assert loaded("import lamr_client, lamr_postprocess, lamr_model.crf, lamr_serving", HEAVY) == "[]"


def test_pruner_is_there_without_grpc_and_asyncio():
    assert loaded("from lamr_client import Pruner", HEAVY + LATER) == "[]"


def test_everything_public_is_there_on_demand():
    code = "import lamr_client\nfor name in lamr_client.__all__: getattr(lamr_client, name)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("package", ["lamr_client", "lamr_serving", "lamr_export"])
def test_dir_shows_all_that_is_public(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
