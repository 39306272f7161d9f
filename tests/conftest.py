"""What holds for every test."""

import os
from collections.abc import Iterator

# Several threads of torch or numpy also wait for each other, busily, on processors that other workers need. Before
# either is imported; processes that tests start inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

LONG = (
    "tests/repositories/batch/test_ray.py",
    "tests/training/recipes/",
    "tests/cli/test_smollm.py",
    "tests/integration/",
    "tests/export/",
    "tests/serving/launcher/",
    "tests/attack/",
    "tests/training/",
    "tests/serving/front/",
    "tests/repositories/batch/",
    "tests/repositories/compression/",
    "tests/serving/",
    "tests/agents/",
    "tests/benchmarks/",
    "tests/cli/",
    "tests/postprocess/test_hostile_input.py",
)
"""Begun first, in this order, so that no worker is left alone with one of them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first. The order is otherwise that of the folders."""
    items.sort(
        key=lambda item: next((n for n, start in enumerate(LONG) if item.nodeid.startswith(start)), len(LONG))
    )


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_the_developers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Neither the developer's own settings, nor what their shell names, have a say in tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        hosts = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "VIBE_HOME")
        for name in ("LAMR_SERVER", "LAMR_API_KEY", "LAMR_CA", "LAMR_CERT", "LAMR_CERT_KEY", *hosts):
            patch.delenv(name, raising=False)
        yield
