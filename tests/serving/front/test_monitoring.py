"""Alerts and dashboard: promtool takes the rules, their tests hold, and a real front has every metric named there."""

import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[3] / "docker" / "monitoring"
OPERATIONS = FOLDER.parents[1] / "docs" / "operations.md"
ELSEWHERE = {"probe_ssl_earliest_cert_expiry"}  # of Prometheus' blackbox exporter


def rules() -> list[dict]:
    """Of alerts, and of what servers are started and stopped by."""
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> list[dict]:
    return [rule for rule in rules() if "alert" in rule]


def panels() -> list[dict]:
    """Those that show something; rows are headings."""
    found = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def dashboard_expressions() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def missing(expressions: list[str], kind: str, scrape: str) -> Iterator[str]:
    """The selectors of a kind of metric (the beginning of its name) that match no sample of a scrape."""
    samples = re.findall(r"^(\w+)(\{[^}]*\})?", scrape, re.MULTILINE)
    selectors = re.findall(rf"\b({kind}_\w+)(?:\{{([^}}]*)\}})?", "\n".join(expressions))
    assert len(selectors) >= 5
    for name, selector in selectors:
        wanted = [
            rf'{label}="{value if operator == "=~" else re.escape(value)}"'
            for label, operator, value in re.findall(r'(\w+)(=~?)"([^"]*)"', selector)
        ]
        if not any(
            each == name and all(re.search(want, labels) for want in wanted) for each, labels in samples
        ):
            yield f"{name}{{{selector}}}"


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode()


def test_a_metric_that_nobody_has_is_found_out() -> None:
    scrape = 'haproxy_up{proxy="a"} 1\n' * 9
    expressions = [*['haproxy_up{proxy="a"}'] * 4, 'haproxy_up{proxy=~"b.*"}', "haproxy_down > 1"]
    assert list(missing(expressions, "haproxy", scrape)) == ['haproxy_up{proxy=~"b.*"}', "haproxy_down{}"]


def test_the_dashboard_is_whole() -> None:
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    names = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(names)) == len(names)
    (source,) = (each["name"] for each in dashboard["templating"]["list"])
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        assert panel["title"]
        assert panel["description"]
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {f"${{{source}}}"}
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        own = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not own & taken
        taken |= own


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is Debian's package prometheus")
def test_promtool_reads_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": expression}
        for number, expression in enumerate(dashboard_expressions())
    ]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    check_with_promtool(tmp_path, "check", "rules", "rules.yml")


def test_every_alert_is_explained() -> None:
    names = [rule["alert"] for rule in alerts()]
    explained = re.findall(r"^\| (Lamr\w+) \|", OPERATIONS.read_text(), re.MULTILINE)
    tested = set(re.findall(r"alertname: (\w+)", (FOLDER / "alerts_test.yml").read_text()))
    assert names == explained
    assert set(names) == tested


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is Debian's package prometheus")
@pytest.mark.parametrize(
    "arguments", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")]
)
def test_promtool_is_content(arguments: tuple[str, ...]) -> None:
    check_with_promtool(FOLDER, *arguments)


def check_with_promtool(folder: Path, *arguments: str) -> None:
    done = subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_real_front_has_every_metric_and_tells_load_balancers(site, replica) -> None:
    site.write({"alice": ""})
    site.start()
    scrape = read(f"http://127.0.0.1:{site.operations}/metrics")
    for expressions in ([rule["expr"] for rule in rules()], dashboard_expressions()):
        assert not list(missing(expressions, "haproxy", scrape))
        assert set(re.findall(r"\bprobe_\w+", "\n".join(expressions))) <= ELSEWHERE
    url = f"http://127.0.0.1:{site.operations}/ready"
    assert read(url) == "ready\n"
    replica.ready = False

    def refused() -> bool:
        try:
            read(url)
        except urllib.error.HTTPError as error:
            return error.code == 503
        return False

    site.until(refused)
    assert read(f"http://127.0.0.1:{site.operations}/live") == "alive\n"
