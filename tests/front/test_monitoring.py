"""The alerts: promtool takes them, their tests hold, and a real front has every metric that they name."""

from __future__ import annotations

import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docker" / "monitoring"
OPERATIONS = FOLDER.parents[1] / "docs" / "operations.md"
ELSEWHERE = {"probe_ssl_earliest_cert_expiry"}  # of Prometheus' blackbox exporter


def test_every_metric_is_one_of_a_real_front(site, replica) -> None:
    site.write({"alice": ""})
    site.start()
    with urllib.request.urlopen(f"http://127.0.0.1:{site.operations}/metrics", timeout=20) as answer:
        samples = set(re.findall(r"^(\w+)(\{[^}]*\})?", answer.read().decode(), re.MULTILINE))
    series = {name: {labels for each, labels in samples if each == name} for name, _ in samples}
    expressions = re.findall(r"expr: (?:>-\n)?(.*?)\n +for:", (FOLDER / "alerts.yml").read_text(), re.DOTALL)
    named = re.findall(r"((?:haproxy|probe)_\w+)(?:\{([^}]*)\})?", "\n".join(expressions))
    assert len(named) >= 15
    for name, selector in named:
        if name in ELSEWHERE:
            continue
        wanted = [
            rf'{label}="{value if operator == "=~" else re.escape(value)}"'
            for label, operator, value in re.findall(r'(\w+)(=~?)"([^"]*)"', selector)
        ]
        assert any(all(re.search(want, labels) for want in wanted) for labels in series.get(name, ())), name


def test_every_alert_is_explained() -> None:
    alerts = re.findall(r"alert: (\w+)", (FOLDER / "alerts.yml").read_text())
    explained = re.findall(r"^\| (Lamr\w+) \|", OPERATIONS.read_text(), re.MULTILINE)
    tested = set(re.findall(r"alertname: (\w+)", (FOLDER / "alerts_test.yml").read_text()))
    assert alerts == explained
    assert set(alerts) == tested


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is Debian's package prometheus")
@pytest.mark.parametrize(
    "arguments", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")]
)
def test_promtool_is_content(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ready_tells_load_balancers(site, replica) -> None:
    site.write({"alice": ""})
    site.start()
    url = f"http://127.0.0.1:{site.operations}/ready"
    with urllib.request.urlopen(url, timeout=20) as answer:
        assert answer.status == 200
    replica.ready = False

    def refused() -> bool:
        try:
            urllib.request.urlopen(url, timeout=20).close()
        except urllib.error.HTTPError as error:
            return error.code == 503
        return False

    site.until(refused)
