"""Images, Compose file and chart: what they name is there, and what they make is what Kubernetes and we ourselves read.

Nothing is built or run: that takes a container engine and a cluster. `helm` renders the chart where there is
one."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from jsonschema import Draft7Validator, ValidationError
from lamr_serving.front.fleet import hash_of, make_key
from lamr_serving.front.tenants_file import parse_fleet

from .test_monitoring import check_with_promtool, rules

ROOT = Path(__file__).resolve().parents[3]
DOCKER = ROOT / "docker"
CHART = DOCKER / "helm" / "lamr"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
IMAGES = {"Dockerfile": "lamr", "front.Dockerfile": "lamr-front", "tools.Dockerfile": "lamr-tools"}
HELM = shutil.which("helm") or shutil.which("helm", path=str(Path(sys.prefix) / "helm"))  # see get_helm.py
VERSIONS = ("1.29.0", "1.37.0")
TENANTS = f'[tenants.alice]\nweight = 2\n[[tenants.alice.keys]]\nhash = "sha256:{hash_of(make_key()[0])}"\n'
FINGERPRINTS = ("d3f7ef743a904628", "0123456789abcdef")
TWO_VERSIONS = {
    "front": {"tlsSecret": "tls", "tenants": TENANTS, "settings": "busy_tenants = 2"},
    "pools": {
        name: {
            "replicas": 2,
            "capacity": 4,
            "fingerprint": fingerprint,
            "image": {"repository": "lamr", "tag": name, "pullPolicy": "Always"},
            "modelVolume": {"persistentVolumeClaim": {"claimName": f"model-{name}"}},
            "shmSize": "1Gi",
            "resources": {},
        }
        for name, fingerprint in zip(("main", "next"), FINGERPRINTS, strict=True)
    },
}
EVERYTHING = {
    "front": {"tlsSecret": "tls", "tenants": TENANTS},
    "operator": {"enabled": True, "labels": {"release": "theirs"}},
    "networkPolicy": {
        "clients": [{"namespaceSelector": {"matchLabels": {"agents": "yes"}}}],
        "scrapers": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        "replicaEgress": [{"ports": [{"port": 4318}]}],
    },
    "pools": {
        "main": {"autoscaling": {"kind": "hpa", "maxReplicas": 5}},
        "next": {
            "replicas": 1,
            "capacity": 4,
            "fingerprint": FINGERPRINTS[1],
            "image": {"repository": "lamr", "tag": "next"},
            "autoscaling": {"kind": "keda", "maxReplicas": 3, "queueMilliseconds": 500},
        },
    },
}
ACTIONS = ("httpGet", "tcpSocket", "grpc", "exec")
OF_OTHERS = {"keda.sh/v1alpha1", "monitoring.coreos.com/v1"}  # whose schemas aren't Kubernetes'


@pytest.mark.parametrize("dockerfile", IMAGES)
def test_images_are_built_from_every_package(dockerfile: str) -> None:
    """pip wants the folder of each package that pyproject.toml lists, and what builds them."""
    folders = re.findall(r'^lamr_\w+ = "([\w/]+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert len(folders) > 8
    allowed = {
        line.removeprefix("!")
        for line in (DOCKER / f"{dockerfile}.dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    assert {folder.split("/")[0] for folder in folders} | {"pyproject.toml", "setup.py"} <= allowed
    copied = set(re.findall(r"/tmp/lamr/([\w.]+/[\w.]+)", (DOCKER / dockerfile).read_text()))
    assert copied <= allowed
    assert all((ROOT / name).exists() for name in allowed)
    text = (DOCKER / dockerfile).read_text()
    assert re.search(r"^USER (?!root|0)", text, re.MULTILINE)
    assert "HEALTHCHECK" in text


def test_compose_names_what_is_there() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (DOCKER / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]
        if "build" in service:
            assert IMAGES[Path(service["build"]["dockerfile"]).name] == service["image"]
            assert (DOCKER / service["build"]["context"] / service["build"]["dockerfile"]).exists()
            assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        assert set(service.get("depends_on", {})) <= set(services)
    assert COMPOSE["networks"]["pool"]["internal"]
    assert [name for name, service in services.items() if "pool" not in service["networks"]] == ["grafana"]
    public = {
        name for name, each in services.items() if not str(each.get("ports", ["127."])[0]).startswith("127.")
    }
    assert public == {"front"}


def test_compose_tenants_are_read_and_name_its_services(tmp_path: Path) -> None:
    secrets = {each["target"] for each in COMPOSE["services"]["front"]["secrets"]}
    assert secrets == {"/etc/lamr/tenants.toml", "/etc/lamr/server.pem"}
    (tmp_path / "server.pem").touch()
    example = (DOCKER / "tenants.example.toml").read_text()
    fleet = parse_fleet(tmp_path / "tenants.toml", f"{example}\n{TENANTS}")
    hosts = {replica.grpc.removesuffix(":8001") for replica in fleet.replicas}
    assert hosts == {name for name in COMPOSE["services"] if name.startswith("replica")}
    assert fleet.settings.follow_dns
    (published,) = COMPOSE["services"]["front"]["ports"]
    assert fleet.settings.listen.rpartition(":")[2] == published.split(":")[1]
    jobs = yaml.safe_load((DOCKER / "monitoring" / "prometheus.yml").read_text())["scrape_configs"]
    targets = {target for job in jobs for each in job["static_configs"] for target in each["targets"]}
    operations = fleet.settings.operations.rpartition(":")[2]
    assert targets == {f"front:{operations}", *(f"{host}:8002" for host in hosts)}


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is Debian's package prometheus")
def test_promtool_takes_the_configuration_of_compose() -> None:
    check_with_promtool(DOCKER / "monitoring", "check", "config", "prometheus.yml")


def test_the_schema_knows_every_value() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    Draft7Validator.check_schema(schema)
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    values["front"]["tlsSecret"] = "tls"
    Draft7Validator(schema).validate(values)
    documented = set(re.findall(r"(\w+):", (CHART / "values.yaml").read_text()))
    used = {
        name
        for template in (CHART / "templates").iterdir()
        for path in re.findall(r"(?:\.Values|\$values)((?:\.\w+)+)", template.read_text())
        for name in path.split(".")[1:]
    }
    assert used <= documented
    values["front"]["repliccas"] = 2
    with pytest.raises(ValidationError, match="repliccas"):
        Draft7Validator(schema).validate(values)


def rendered(folder: Path, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects that helm makes of the chart."""
    if HELM is None:
        pytest.skip("helm isn't installed, and get_helm.py can't get it here")
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    done = subprocess.run(
        [HELM, "template", "fleet", str(CHART), "--namespace", "ours", "-f", str(folder / "values.yaml")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    return (each for each in yaml.safe_load_all(done.stdout) if each)


def test_kserves_example_has_a_pod_that_kubernetes_takes() -> None:
    service = yaml.safe_load((ROOT / "docs" / "examples" / "kserve.yaml").read_text())
    predictor = service["spec"]["predictor"]
    scaling = {"minReplicas", "maxReplicas", "scaleMetric", "scaleTarget"}
    spec = {name: value for name, value in predictor.items() if name not in scaling}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lamr"}, "spec": spec}
    for version in VERSIONS:
        kubernetes_validate.validate(pod, version, strict=True)
    (container,) = spec["containers"]
    assert (service["kind"], container["name"]) == ("InferenceService", "kserve-container")
    exposed = re.findall(r"^EXPOSE (\d+)", (DOCKER / "Dockerfile").read_text(), re.M)
    assert [str(port["containerPort"]) for port in container["ports"]] == exposed[:1]
    for script in (container["livenessProbe"], container["lifecycle"]["preStop"]):
        assert script["exec"]["command"][0] in (DOCKER / "Dockerfile").read_text()


@pytest.mark.parametrize(
    "values",
    [
        TWO_VERSIONS,
        EVERYTHING,
        {"front": {"tlsSecret": "tls"}, **yaml.safe_load((CHART / "gpu-values.yaml").read_text())},
        {
            "front": {"tlsSecret": "tls", "existingSecret": "own", "service": {"type": "LoadBalancer"}},
            **{name: {"enabled": False} for name in ("prometheus", "dashboard", "networkPolicy")},
            "podDisruptionBudget": {"enabled": False},
        },
    ],
    ids=["two versions", "everything", "GPUs", "least"],
)
def test_kubernetes_takes_the_chart(tmp_path: Path, values: dict[str, Any]) -> None:
    objects = list(rendered(tmp_path, values))
    assert len({(each["kind"], each["metadata"]["name"]) for each in objects}) == len(objects)
    for each in objects:
        for version in VERSIONS if each["apiVersion"] not in OF_OTHERS else ():
            kubernetes_validate.validate(each, version, strict=True)
    for each in objects:
        if each["kind"] not in ("Deployment", "StatefulSet"):
            continue
        template = each["spec"]["template"]
        wanted = each["spec"]["selector"]["matchLabels"].items()
        assert wanted <= template["metadata"]["labels"].items()
        pod = template["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        (container,) = pod["containers"]
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
        assert container["securityContext"]["readOnlyRootFilesystem"]
        ports = {port[kind] for port in container["ports"] for kind in ("name", "containerPort")}
        for probe in ("readinessProbe", "livenessProbe"):
            (action,) = (each for name, each in container[probe].items() if name in ACTIONS)
            assert "command" in action or action["port"] in ports
        if "prometheus" not in each["metadata"]["name"]:
            assert container["lifecycle"]["preStop"]["exec"]["command"]


def test_the_chart_writes_a_file_of_tenants_that_its_services_answer_to(tmp_path: Path) -> None:
    objects = {(each["kind"], each["metadata"]["name"]): each for each in rendered(tmp_path, TWO_VERSIONS)}
    text = objects["Secret", "fleet-front"]["stringData"]["tenants.toml"]
    (tmp_path / "server.pem").touch()
    fleet = parse_fleet(
        tmp_path / "tenants.toml", text.replace("/etc/lamr/tls/server.pem", str(tmp_path / "server.pem"))
    )
    assert [tenant.name for tenant in fleet.tenants] == ["alice"]
    assert fleet.settings.busy_tenants == 2
    assert {name: len(members) for name, members in fleet.versions.items()} == dict.fromkeys(FINGERPRINTS, 2)
    for replica in fleet.replicas:
        pool, number = replica.name.rsplit("-", 1)
        name = f"fleet-{pool}"
        assert replica.grpc == f"{name}-{number}.{name}.ours.svc.cluster.local:8001"
        service, servers = objects["Service", name]["spec"], objects["StatefulSet", name]["spec"]
        assert service["clusterIP"] == "None"
        assert service["publishNotReadyAddresses"]
        assert servers["serviceName"] == name
        assert service["selector"].items() <= servers["template"]["metadata"]["labels"].items()
        assert ("PodDisruptionBudget", name) in objects
    files = objects["ConfigMap", "fleet-prometheus"]["data"]
    shipped = (DOCKER / "monitoring" / "alerts.yml").read_text()
    assert yaml.safe_load(files["alerts.yml"]) == yaml.safe_load(shipped)
    if shutil.which("promtool"):
        for name, content in files.items():
            (tmp_path / name).write_text(content)
        check_with_promtool(tmp_path, "check", "config", "prometheus.yml")
    dashboard = json.loads(objects["ConfigMap", "fleet-dashboard"]["data"]["lamr.json"])
    assert dashboard == json.loads((DOCKER / "monitoring" / "dashboard.json").read_text())


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The chart's objects where all that can be is switched on."""
    return list(rendered(tmp_path_factory.mktemp("chart"), EVERYTHING))


def test_servers_come_and_go_by_the_wait_for_them(everything: list[dict[str, Any]]) -> None:
    objects = {(each["kind"], each["metadata"]["name"]): each for each in everything}
    (rule,) = (rule for rule in rules() if "record" in rule)
    (metric,) = objects["HorizontalPodAutoscaler", "fleet-main"]["spec"]["metrics"]
    assert metric["external"]["metric"] == {
        "name": rule["record"],
        "selector": {"matchLabels": {"proxy": "replicas"}},
    }
    scaled = objects["ScaledObject", "fleet-next"]["spec"]
    (trigger,) = scaled["triggers"]
    assert trigger["metadata"]["query"] == f'{rule["record"]}{{proxy="replicas-{FINGERPRINTS[1]}"}}'
    assert float(trigger["metadata"]["threshold"]) == 0.5
    host = trigger["metadata"]["serverAddress"].removeprefix("http://").split(".")[0]
    assert ("Service", host) in objects
    for name in ("fleet-main", "fleet-next"):
        assert "replicas" not in objects["StatefulSet", name]["spec"]  # the autoscaler's, not helm's
    for spec in (scaled, objects["HorizontalPodAutoscaler", "fleet-main"]["spec"]):
        target = spec["scaleTargetRef"]
        assert (target["kind"], target["name"]) in objects
    text = objects["Secret", "fleet-front"]["stringData"]["tenants.toml"]
    named = re.findall(r"^\[replicas\.([\w-]+)\]", text, re.MULTILINE)
    assert named == [*(f"main-{n}" for n in range(5)), *(f"next-{n}" for n in range(3))]


def test_an_operator_of_prometheus_finds_services_and_alerts(everything: list[dict[str, Any]]) -> None:
    services = [each for each in everything if each["kind"] == "Service"]
    watched = {}
    for monitor in (each for each in everything if each["kind"] == "ServiceMonitor"):
        assert monitor["metadata"]["labels"]["release"] == "theirs"
        wanted = monitor["spec"]["selector"]["matchLabels"].items()
        (endpoint,) = monitor["spec"]["endpoints"]
        for service in services:
            if wanted <= service["metadata"]["labels"].items():
                ports = {port["name"]: port["port"] for port in service["spec"]["ports"]}
                watched[service["metadata"]["name"]] = ports[endpoint["port"]]
    assert watched == {"fleet-operations": 8405, "fleet-main": 8002, "fleet-next": 8002}
    (alerts,) = (each["spec"] for each in everything if each["kind"] == "PrometheusRule")
    assert alerts == yaml.safe_load((DOCKER / "monitoring" / "alerts.yml").read_text())


def test_servers_are_reached_by_the_front_and_by_those_who_scrape_alone(
    everything: list[dict[str, Any]], tmp_path: Path
) -> None:
    labels = {
        each["metadata"]["name"]: each["spec"]["template"]["metadata"]["labels"]
        for each in everything
        if each["kind"] in ("Deployment", "StatefulSet")
    }
    policies = {
        each["metadata"]["name"]: each["spec"] for each in everything if each["kind"] == "NetworkPolicy"
    }
    theirs = EVERYTHING["networkPolicy"]

    def pods(peers: list[dict[str, Any]]) -> set[str]:
        wanted = [each["podSelector"]["matchLabels"].items() for each in peers if "podSelector" in each]
        return {name for name, own in labels.items() if any(each <= own.items() for each in wanted)}

    servers, front = policies["fleet-replicas"], policies["fleet-front"]
    assert pods([{"podSelector": servers["podSelector"]}]) == {"fleet-main", "fleet-next"}
    assert pods([{"podSelector": front["podSelector"]}]) == {"fleet-front"}
    grpc, metrics = servers["ingress"]
    assert (pods(grpc["from"]), grpc["ports"]) == ({"fleet-front"}, [{"port": 8001}])
    assert pods(metrics["from"]) == {"fleet-prometheus"}
    assert metrics["from"][1:] == theirs["scrapers"]
    assert servers["egress"] == theirs["replicaEgress"]
    assert front["ingress"][0]["from"] == theirs["clients"]
    assert pods(front["egress"][0]["to"]) == {"fleet-main", "fleet-next"}
    (usual,) = (
        each["spec"]
        for each in rendered(tmp_path, {"front": {"tlsSecret": "tls"}})
        if each["metadata"]["name"] == "fleet-replicas" and each["kind"] == "NetworkPolicy"
    )
    assert usual["egress"] == []


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({}, "tlsSecret"),
        ({"pools": {"main": {"fingerprint": "latest"}}}, "fingerprint"),
        ({"pools": {"main": {"autoscaling": {"kind": "keda", "maxReplicas": 1}}}}, "maxReplicas"),
        (
            {"prometheus": {"enabled": False}, "pools": {"main": {"autoscaling": {"kind": "keda"}}}},
            "prometheus",
        ),
        ({"pools": {"main": {"autoscaling": {"kind": "sometimes"}}}}, "kind"),
    ],
)
def test_the_chart_refuses_what_makes_no_sense(tmp_path: Path, values: dict[str, Any], named: str) -> None:
    given = {"front": {"tlsSecret": "tls"}, **values} if values else values
    with pytest.raises(AssertionError, match=named):
        rendered(tmp_path, given)
