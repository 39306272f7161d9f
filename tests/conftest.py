"""What holds for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_the_developers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Neither the developer's own `lamr.toml` nor a server that their shell names has a say in tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        for name in ("LAMR_SERVER", "LAMR_API_KEY", "LAMR_CA", "LAMR_CERT", "LAMR_CERT_KEY"):
            patch.delenv(name, raising=False)
        yield
