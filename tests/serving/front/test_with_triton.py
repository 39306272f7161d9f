"""The whole way, with a real Triton: client, front and server with TLS between each, and a server that is replaced."""

import dataclasses
import threading

import pytest
from lamr_client import Pruner, ServerUnavailableError, bundled_repository
from lamr_serving import ServerOptions, TritonServer
from lamr_serving.front import control

from tests.tiny import IN_FULL

from .test_client import CODE, QUERY

pytestmark = pytest.mark.server


def test_a_server_is_replaced_and_nothing_is_lost(site, authority) -> None:
    folder = site.folder
    authority.cert_pem.write_to_path(folder / "ca.pem")
    for name in ("server", "front"):
        issued = authority.issue_cert("127.0.0.1", common_name=name)
        issued.private_key_pem.write_to_path(folder / f"{name}.key")
        issued.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
        issued.private_key_and_cert_chain_pem.write_to_path(folder / f"{name}.both")
    options = ServerOptions(
        threads=1,
        tls_cert=folder / "server.pem",
        tls_key=folder / "server.key",
        tls_client_ca=folder / "ca.pem",
    )
    own = {"ca": folder / "ca.pem", "cert": folder / "front.pem", "key": folder / "front.key"}
    with (
        TritonServer(bundled_repository(), options) as first,
        TritonServer(bundled_repository(), options) as second,
    ):
        site.write(
            {"alice": ""},
            'certificate = "server.both"\nreplica_ca = "ca.pem"\nreplica_certificate = "front.both"',
            "".join(
                f'[replicas.r{index}]\ngrpc = "{server.addresses.grpc}"\n'
                for index, server in enumerate((first, second))
            ),
        )
        site.start()
        with Pruner(f"https://{first.addresses.grpc}", **own) as direct:
            expected = direct.prune(QUERY, CODE, **IN_FULL)
        with (
            Pruner(f"https://{first.addresses.grpc}", ca=own["ca"], timeout=1) as stranger,
            pytest.raises(ServerUnavailableError),
        ):
            stranger.prune(QUERY, CODE, **IN_FULL)

        results, stop = [], threading.Event()
        with Pruner(f"https://127.0.0.1:{site.port}", api_key=site.keys["alice"], ca=own["ca"]) as pruner:

            def ask() -> None:
                while not stop.is_set():
                    results.append(pruner.prune(QUERY, CODE, on_error="passthrough", **IN_FULL))

            thread = threading.Thread(target=ask)
            thread.start()
            try:
                control.drain(site.file, "r0", 30)
                first.stop()
                again = TritonServer(
                    bundled_repository(), dataclasses.replace(options, grpc_port=first.addresses.grpc_port)
                )
                with again:
                    control.undrain(site.file, "r0")
                    site.until(lambda: control.read_status(site.file).replicas[0].state == "up")
                    second.kill()  # without a word
                    seen = len(results)
                    site.until(lambda: len(results) > seen + 3)
                    stop.set()
                    thread.join()
            finally:
                stop.set()
                thread.join()
        assert {result.reason for result in results} == {expected.reason}
        assert {result.text for result in results} == {expected.text}
