"""The steps that the pages tell people to take, from top to bottom as far as no engine and no cluster is needed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from .test_deployment import CHART, HELM, ROOT

COMPOSE = (ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8")
README = (CHART / "README.md").read_text(encoding="utf-8")
NEED_MORE = ("docker ", "LAMR_UID=", "kubectl ")
WRITTEN = ("server.pem", "server.key", "server.crt", "tenants.toml", "tenants-only.toml", "docker/server.pem",
           "docker/server.key", "docker/tenants.toml", "docker/helm/lamr/tenants.toml", "front/server.pem")  # fmt: skip


def walk(lines: list[str], folder: Path) -> str:
    """Take the steps that need neither engine nor cluster, in one shell that stops at the first that fails."""
    taken = [line for line in lines if not line.startswith((*NEED_MORE, "helm "))]
    taken = [re.sub(r"^lamr ", f"{Path(sys.executable).with_name('lamr')} ", line) for line in taken]
    done = subprocess.run(
        ["sh", "-e"],
        input="\n".join(taken),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a clone has of deployment."""
    shutil.copytree(ROOT / "docker", tmp_path / "docker", symlinks=True)
    return tmp_path


def test_compose(clone: Path) -> None:
    shown = walk(re.findall(r"^#   (.*)$", COMPOSE, re.MULTILINE), clone)
    assert re.findall(r"^(\w+)  lamr_", shown, re.MULTILINE) == ["alice", "bob"]
    compose = yaml.safe_load((clone / "docker" / "compose.yaml").read_text())
    for secret in compose["secrets"].values():
        made = clone / "docker" / secret["file"]
        assert made.stat().st_size
        assert made.stat().st_mode & 0o077 == 0
    walk(["lamr front check -t docker/tenants.toml"], clone)


@pytest.mark.skipif(HELM is None, reason="helm is fetched by tests/serving/front/get_helm.py")
def test_helm(clone: Path) -> None:
    blocks = re.findall(r"^```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).splitlines()
    walk(lines, clone)
    (install,) = [line for line in lines if line.startswith("helm install ")]
    done = subprocess.run(
        [str(HELM), *install.replace("helm install", "template").split()],
        cwd=clone, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    objects = [each for each in yaml.safe_load_all(done.stdout) if each]
    (tenants,) = [
        each["stringData"]["tenants.toml"] for each in objects if "tenants.toml" in each.get("stringData", {})
    ]
    assert tenants.count("[[tenants.") == 2
    assert tenants.count("[front]") == 1
    built = set(re.findall(r"-t (REGISTRY/\S+)", "\n".join(lines)))
    own = set(re.findall(r"image: \"?(REGISTRY/[^\s\"]+)", done.stdout))
    assert own == built


def test_git_ignores_what_the_steps_write_and_keeps_the_example() -> None:
    command = ["git", "check-ignore", *WRITTEN, "docker/tenants.example.toml"]
    asked = subprocess.run(command, cwd=ROOT, check=False, timeout=20, capture_output=True, text=True)
    assert asked.stdout.split() == list(WRITTEN)


@pytest.mark.parametrize("image", ["Dockerfile", "front.Dockerfile", "tools.Dockerfile"])
def test_no_image_holds_keys(image: str) -> None:
    lines = (ROOT / "docker" / f"{image}.dockerignore").read_text(encoding="utf-8").splitlines()
    last = max(number for number, line in enumerate(lines) if line.startswith("!"))
    assert {"**/*.pem", "**/*.key", "**/*.crt", "**/tenants*.toml", "**/.env"} <= set(lines[last:])
