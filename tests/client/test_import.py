"""Importing the light packages loads nothing heavy, and the client not even what only a transport needs."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ["torch", "onnxruntime", "transformers", "onnx", "scipy", "pandas"]
LATER = ["grpc", "tritonclient", "asyncio", "concurrent.futures", "google.protobuf", "lamr_decoding", "numba"]


def loaded(imports: str, modules: list[str]) -> str:
    code = f"import sys; {imports}; print([name for name in {modules} if name in sys.modules])"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_light_packages_together_load_nothing_heavy():
    assert loaded("import lamr_client, lamr_postprocess, lamr_decoding, lamr_serving", HEAVY) == "[]"


def test_pruner_is_there_without_grpc_and_asyncio():
    assert loaded("from lamr_client import Pruner", HEAVY + LATER) == "[]"


def test_everything_public_is_there_on_demand():
    code = "import lamr_client\nfor name in lamr_client.__all__: getattr(lamr_client, name)"
    subprocess.run([sys.executable, "-c", code], check=True)
