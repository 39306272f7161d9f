"""A small repository of several languages, with and without git."""

import subprocess
from pathlib import Path

import pytest

from tests.client.conftest import free_port

__all__ = ["free_port"]

POOL = '''"""Connections are pooled."""

import time


class PoolClosed(Exception):
    """Raised to callers that wait for a closed pool."""


class Pool:
    """Hands out connections."""

    def __init__(self, size):
        self.size = size
        self.waiting = []
        self.closed = False

    def acquire(self, timeout=None):
        """Wait for a free connection."""
        if self.closed:
            raise PoolClosed("the pool is closed")
        deadline = time.monotonic() + (timeout or 5)
        while not self.size:
            if time.monotonic() > deadline:
                raise TimeoutError("no free connection")
        self.size -= 1

    def close(self):
        """Wake all waiting callers when the pool is closed."""
        self.closed = True
        for caller in self.waiting:
            caller.wake(PoolClosed("the pool is closed"))
'''
FILES = {
    "src/pool.py": POOL,
    "src/colours.py": "".join(
        f"def colour_{n}(red, green, blue):\n    mixed = red + green + blue\n    return mixed * {n}\n\n\n"
        for n in range(40)
    ),
    "src/retry.go": """package retry

// Retry calls f again, at most limit times.
func Retry(f func() error, limit int) error {
	var err error
	for i := 0; i < limit; i++ {
		if err = f(); err == nil {
			return nil
		}
	}
	return err
}
""",
    "web/view.ts": "export class View {\n  render(name: string): string {\n    return `<p>${name}</p>`;\n  }\n}\n",
    "tests/test_pool.py": "def test_closed_pool():\n    pool = Pool(1)\n    pool.close()\n    assert pool.closed\n",
    "README.md": "# Pools\n\nA closed pool wakes its waiting callers.\n",
    "vendor/pool.py": POOL,
    "api.pb.go": "package api\n",
    "app.min.js": "var a=1;\n",
    "data.bin": "\0\1\2",
    "empty.py": "",
}
QUERY = "What happens to waiting callers when the pool is closed?"


def write_files(root: Path, files: dict[str, str] = FILES) -> None:
    """Write files below a folder."""
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())


def git(root: Path, *arguments: str) -> str:
    """Run git in a folder."""
    author = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *author, *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files without git."""
    root = tmp_path / "project"
    write_files(root)
    return root


@pytest.fixture
def repository(folder: Path) -> Path:
    """The files in a git repository with one commit."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder
