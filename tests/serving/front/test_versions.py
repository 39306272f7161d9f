"""Two versions of a model in one pool: a call that names its model's fingerprint meets that version alone."""

import dataclasses

import grpc
import pytest
from lamr_base.admission import fingerprint_metadata
from lamr_client import Pruner
from lamr_model.spec import ModelSpec, bundled_repository, load_spec
from lamr_serving.errors import TenantsFileError
from lamr_serving.front import control
from lamr_serving.front.tenants_file import parse_fleet
from tritonclient.grpc import service_pb2 as pb

from tests.tiny import IN_FULL

from .conftest import Replica, inference, stub_of
from .test_client import CODE, QUERY

OLD = load_spec(bundled_repository())
NEW = dataclasses.replace(OLD, version="next")


def replicas(site, *fingerprints: str | None) -> str:
    """The tables of the site's replicas."""
    return "\n".join(
        f'[replicas.r{index}]\ngrpc = "{replica.address}"\n'
        + (f'fingerprint = "{fingerprint}"' if fingerprint else "")
        for index, (replica, fingerprint) in enumerate(zip(site.replicas, fingerprints, strict=True))
    )


@pytest.fixture
def pool(site):
    """Two replicas of the old version and one of the new one; the front is told so."""
    for spec in (OLD, OLD, NEW):
        site.replicas.append(site.stack.enter_context(Replica(spec)))
    site.write({"alice": ""}, replicas=replicas(site, OLD.fingerprint, OLD.fingerprint, NEW.fingerprint))
    site.start()
    return site


def ask(site, spec: ModelSpec | None, count: int = 8) -> None:
    """Requests one after the other; a replica of another version would refuse one with INVALID_ARGUMENT."""
    request = inference()
    fingerprint = spec.fingerprint if spec else None
    if fingerprint:
        request.parameters["lamr_fingerprint"].string_param = fingerprint
    metadata = [*site.metadata("alice"), *fingerprint_metadata(fingerprint).items()]
    stub = stub_of(site.channel())
    config = stub.ModelConfig(pb.ModelConfigRequest(name="lamr"), metadata=metadata, timeout=20).config
    if fingerprint:
        assert config.parameters["lamr_fingerprint"].string_value == fingerprint
    for _ in range(count):
        stub.ModelInfer(request, metadata=metadata, timeout=20)


def seen(site) -> list[int]:
    return [len(each.asked_with) for each in site.replicas]


def test_drained_is_drained_for_each_version_over_a_reload(pool) -> None:
    control.drain(pool.file, "r0", 20)
    ask(pool, OLD)
    assert seen(pool) == [0, 8, 0]
    control.reload(pool.file)
    ask(pool, OLD)
    assert seen(pool) == [0, 16, 0]
    control.undrain(pool.file, "r0")
    pool.until(lambda: control.read_status(pool.file).replicas[0].state == "up")
    ask(pool, OLD)
    assert seen(pool)[0] > 0


def test_a_replica_changes_its_version(pool) -> None:
    control.drain(pool.file, "r1", 20)
    pool.replicas[1].spec = NEW
    pool.write({"alice": ""}, replicas=replicas(pool, OLD.fingerprint, NEW.fingerprint, NEW.fingerprint))
    control.reload(pool.file)
    control.undrain(pool.file, "r1")
    pool.until(lambda: {each.state for each in control.read_status(pool.file).replicas} == {"up"})
    ask(pool, OLD)
    assert seen(pool) == [8, 0, 0]
    ask(pool, NEW)
    assert min(seen(pool)) > 0


def test_a_fingerprint_chooses_the_version_and_one_that_nobody_serves_is_refused_by_whoever_is_asked(
    pool,
) -> None:
    ask(pool, OLD)
    first, second, third = seen(pool)
    assert (first + second, third) == (8, 0)
    assert min(first, second) > 0
    ask(pool, NEW)
    assert seen(pool) == [first, second, 8]
    ask(pool, None, 12)  # takes any
    assert all(after > before for after, before in zip(seen(pool), (first, second, 8), strict=True))
    status = control.read_status(pool.file)
    assert sum(each.answered for each in status.replicas) == sum(seen(pool)) + 3  # and the configurations
    request = inference()
    request.parameters["lamr_fingerprint"].string_param = "0" * 16
    metadata = [*pool.metadata("alice"), *fingerprint_metadata("0" * 16).items()]
    with pytest.raises(grpc.RpcError, match="this model's fingerprint is"):
        stub_of(pool.channel()).ModelInfer(request, metadata=metadata, timeout=20)


def test_a_version_without_a_replica_is_unavailable_and_our_client_names_its_own(pool) -> None:
    with Pruner(f"127.0.0.1:{pool.port}", api_key=pool.keys["alice"]) as pruner:
        for _ in range(6):
            assert pruner.prune(QUERY, CODE, **IN_FULL).relevance is not None
    assert seen(pool)[2] == 0
    assert sum(seen(pool)) == 6
    pool.replicas[2].ready = False
    pool.until(lambda: control.read_status(pool.file).replicas[2].state == "down")
    with pytest.raises(grpc.RpcError, match="no replica of this version") as error:
        ask(pool, NEW, 1)
    assert error.value.code() is grpc.StatusCode.UNAVAILABLE
    ask(pool, OLD, 2)


def test_a_fingerprint_has_sixteen_digits(tmp_path) -> None:
    text = '[replicas.one]\ngrpc = "127.0.0.1:1"\nfingerprint = "latest"\n'
    with pytest.raises(TenantsFileError, match=r"line 3.*16 hexadecimal digits|:3.*16 hexadecimal digits"):
        parse_fleet(tmp_path / "tenants.toml", text)
