"""What an installation says of itself."""

import pytest
from lamr_serving import local_status, status


@pytest.mark.parametrize(
    ("features", "reason"),
    [(("amx_bf16", "avx512_vnni"), "integer dot products"), (("avx2",), status.UNSUITED)],
)
def test_the_engine_is_what_the_bundled_model_can_use(
    features: tuple[str, ...], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamr_serving.engines.cpu_features", lambda: frozenset(features))
    monkeypatch.setattr("lamr_serving.status.cpu_features", lambda: frozenset(features))
    found = local_status()
    assert str(found.engine).startswith("int8 on cpu: ")
    assert reason in str(found.engine)
    assert found.small_engine.startswith("bf16 on openvino: ") == ("amx_bf16" in features)
