"""Reload, drain and status of a front under traffic: nothing is lost, and a revoked key opens nothing."""

import socket
import threading
from collections import Counter

import grpc
import pytest
from lamr_model.spec import bundled_repository, load_spec
from lamr_serving.errors import FrontError, FrontNotRunningError, FrontStartError, TenantsFileError
from lamr_serving.front import control
from tritonclient.grpc import service_pb2 as pb

from .conftest import Replica, inference, stub_of


class Traffic:
    """Callers who ask one request after the other until they are told to stop; `codes` counts the answers."""

    def __init__(self, site, tenant: str, callers: int = 4) -> None:
        self.codes: Counter[str] = Counter()
        self._site, self._tenant, self._stop = site, tenant, threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(callers)]

    def _ask(self) -> None:
        stub, metadata = stub_of(self._site.channel()), self._site.metadata(self._tenant)
        while not self._stop.is_set():
            try:
                stub.ModelInfer(inference(), metadata=metadata)
                self.codes["OK"] += 1
            except grpc.RpcError as error:
                self.codes[f"{error.code().name}: {error.details()}"] += 1

    def __enter__(self) -> "Traffic":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def more(self, count: int = 20) -> None:
        """Wait for so many more answers."""
        goal = self.codes.total() + count
        self._site.until(lambda: self.codes.total() >= goal)


@pytest.fixture
def two(site, replica):
    """A front before two replicas."""
    site.replicas.append(site.stack.enter_context(Replica(load_spec(bundled_repository()))))
    site.write({"alice": "", "bob": ""})
    site.start()
    return site


def test_reloads_lose_nothing(two) -> None:
    with Traffic(two, "alice") as traffic:
        for round_ in range(5):
            traffic.more()
            two.write({"alice": f"weight = {1 + round_}", "bob": "", f"new-{round_}": ""})
            fleet = control.reload(two.file)
            assert [tenant.name for tenant in fleet.tenants] == ["alice", "bob", f"new-{round_}"]
        traffic.more()
    assert set(traffic.codes) == {"OK"}
    assert stub_of(two.channel()).ServerLive(pb.ServerLiveRequest(), metadata=two.metadata("new-4")).live
    assert len(list(two.folder.glob("run/*/[0-9]*"))) <= 2


def test_a_revoked_key_opens_nothing_on_connections_that_are_open(two) -> None:
    stub, bob = stub_of(two.channel()), two.metadata("bob")
    stub.ModelInfer(inference(), metadata=bob)
    with Traffic(two, "alice", callers=2) as traffic:
        traffic.more()
        two.write({"alice": ""})
        control.reload(two.file)
        with pytest.raises(grpc.RpcError) as error:
            stub.ModelInfer(inference(), metadata=bob)
        assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED
        traffic.more()
    assert set(traffic.codes) == {"OK"}


def test_a_bad_file_and_a_port_that_is_taken_leave_the_old_front_in_force(two, free_port) -> None:
    stub, bob = stub_of(two.channel()), two.metadata("bob")
    good = two.file.read_text()
    two.file.write_text(good + "[tenants.x]\nweight = -1\n")
    with pytest.raises(TenantsFileError, match="weight"):
        control.reload(two.file)
    stub.ModelInfer(inference(), metadata=bob)
    (two.folder / "bad.pem").write_text("no certificate")
    two.file.write_text(good.replace("[front]", '[front]\ncertificate = "bad.pem"'))
    with pytest.raises(FrontStartError, match=r"bad\.pem"):
        control.reload(two.file)
    stub.ModelInfer(inference(), metadata=bob)
    two.file.write_text(good)
    control.reload(two.file)
    stub.ModelInfer(inference(), metadata=bob)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", free_port))
        holder.listen()
        good = two.file.read_text()
        two.file.write_text(good.replace(f":{two.operations}", f":{free_port}"))
        with pytest.raises(FrontStartError, match="keeps its old configuration"):
            control.reload(two.file)
    stub_of(two.channel()).ModelInfer(inference(), metadata=two.metadata("bob"))
    two.file.write_text(good)
    control.reload(two.file)
    assert control.read_status(two.file).replicas


def test_a_drained_replica_gets_nothing_and_stays_so_over_a_reload(two) -> None:
    with Traffic(two, "alice") as traffic:
        traffic.more()
        control.drain(two.file, "r0", 20)
        states = {replica.name: replica.state for replica in control.read_status(two.file).replicas}
        assert states == {"r0": "drained", "r1": "up"}
        control.reload(two.file)
        seen = len(two.replicas[0].asked_with)
        traffic.more(40)
        assert len(two.replicas[0].asked_with) == seen
        control.undrain(two.file, "r0")
        two.until(lambda: len(two.replicas[0].asked_with) > seen)
    assert set(traffic.codes) == {"OK"}
    with pytest.raises(FrontError, match="there are r0, r1"):
        control.drain(two.file, "other", 1)


def test_draining_waits_for_requests_under_way(two) -> None:
    for each in two.replicas:
        each.hold.clear()
    stub = stub_of(two.channel())
    calls = [stub.ModelInfer.future(inference(), metadata=two.metadata("alice")) for _ in range(4)]
    two.until(lambda: all(len(each.asked_with) == 2 for each in two.replicas))
    left: list[int] = []
    with pytest.raises(FrontError, match="still has 2 requests"):
        control.drain(two.file, "r0", 0.3, left.append)
    assert set(left) == {2}
    two.replicas[0].hold.set()
    control.drain(two.file, "r0", 20)
    two.replicas[1].hold.set()
    assert all(call.result(10) for call in calls)


def test_a_killed_replica_costs_nothing_that_a_second_try_does_not_mend(two) -> None:
    with Traffic(two, "alice") as traffic:
        traffic.more()
        two.replicas[0].stop()
        two.until(lambda: control.read_status(two.file).replicas[0].state == "down")
        traffic.more()
    lost = {code: count for code, count in traffic.codes.items() if code != "OK"}
    assert sum(lost.values()) <= 4, lost  # at most what was under way there, once
    # Clients take either for a server that is away (`lamr_client.triton_wire`).
    assert all(code.startswith(("UNAVAILABLE", "CANCELLED")) for code in lost), lost


def test_status_counts(two) -> None:
    stub = stub_of(two.channel())
    for _ in range(3):
        stub.ModelInfer(inference(), metadata=two.metadata("alice"))
    for model, metadata in (("other", two.metadata("alice")), ("lamr", [])):
        with pytest.raises(grpc.RpcError):
            stub.ModelInfer(inference(model), metadata=metadata)
    status = control.read_status(two.file)
    alice = next(tenant for tenant in status.tenants if tenant.name == "alice")
    assert (alice.requests, alice.refused, status.refused_strangers) == (4, 1, 1)
    assert sum(replica.answered for replica in status.replicas) == 3


def test_no_front_is_said_so(site) -> None:
    site.write({"alice": ""}, replicas='[replicas.one]\ngrpc = "127.0.0.1:9"')
    for act in (control.reload, control.read_status, lambda file: control.drain(file, "one", 1)):
        with pytest.raises(FrontNotRunningError, match="lamr front run"):
            act(site.file)
