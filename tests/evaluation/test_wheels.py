"""Files of wheels are exactly those that are pinned, and a wheel in the cache is not downloaded."""

import hashlib
import zipfile

import pytest
from lamr_evaluation.errors import DataError
from lamr_evaluation.wheels import WheelCache, cached_wheel

TEXT = "def f(value):\n    checked = check_value(value)\n    return checked\n"
DIGEST = hashlib.sha256(TEXT.encode()).hexdigest()


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("demo/a.py", TEXT)
    return path


def read(wheel, path="demo/a.py", sha256=DIGEST):
    return WheelCache(wheel.parent).read("demo", "1.0", path, sha256)


def test_a_cached_wheel_is_found_by_name_and_version(wheel):
    (wheel.parent / "stray.whl").write_bytes(b"")
    newer = wheel.with_name("Demo-1.1-py3-none-any.whl")
    newer.write_bytes(b"")
    assert cached_wheel("demo", wheel.parent, "1.0") == wheel
    assert cached_wheel("DEMO", wheel.parent, "1.1") == newer
    assert cached_wheel("demo", wheel.parent) in {wheel, newer}
    assert cached_wheel("other", wheel.parent) is None


def test_a_wheel_in_the_cache_is_read_or_refused_and_not_downloaded(wheel):
    assert read(wheel) == TEXT
    with pytest.raises(DataError, match="but the benchmark pins 0000"):
        read(wheel, sha256="0" * 64)
    with pytest.raises(DataError, match=r"can't read demo/b\.py"):
        read(wheel, "demo/b.py")
    wheel.write_bytes(b"PK")
    with pytest.raises(DataError, match=r"demo-1.0-py3-none-any\.whl: can't read"):
        read(wheel)
