"""Ports are checked or chosen, and addresses are written as clients want them."""

import contextlib
import socket

import pytest
from lamr_serving import ServerOptions, ServerStartError
from lamr_serving.launcher.bundle import TritonBundle
from lamr_serving.launcher.server_options import (
    check_free,
    choose_addresses,
    free_ports,
    join,
    ports_are_given,
)
from lamr_serving.launcher.workspace import ServerWorkspace, command


def test_free_ports_are_different_and_free_and_given_ones_stay():
    ports = free_ports("127.0.0.1", 6)
    assert len(set(ports)) == 6
    for port in ports:
        check_free("127.0.0.1", port, "gRPC")
    (port,) = free_ports("127.0.0.1", 1)
    options = ServerOptions(grpc_port=port)
    chosen = choose_addresses(options)
    assert chosen.grpc == f"127.0.0.1:{port}"
    assert chosen.metrics_port != port
    assert not ports_are_given(options)
    assert ports_are_given(ServerOptions(grpc_port=1, metrics_port=3))
    chosen = choose_addresses(ServerOptions(host="0.0.0.0"))
    assert (chosen.host, chosen.metrics_host) == ("0.0.0.0", "127.0.0.1")
    chosen = choose_addresses(ServerOptions(host="127.0.0.1", metrics_host="0.0.0.0"))
    assert (chosen.host, chosen.metrics_host) == ("127.0.0.1", "0.0.0.0")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grpc_port": 7001, "metrics_port": 7001}, "two different ports"),
        ({"host": "203.0.113.7", "grpc_port": 7001}, r"203\.0\.113\.7"),
        ({"host": "no such host", "grpc_port": 7001}, "does not resolve"),
        ({"startup_timeout": 0}, "startup_timeout"),
        ({"stop_timeout": -1}, "stop_timeout"),
        ({"threads": -1}, "threads"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ServerStartError, match=message):
        choose_addresses(ServerOptions(**options))


def test_a_busy_port_is_refused_by_name():
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        with pytest.raises(ServerStartError, match=f"gRPC port {port} on 127.0.0.1"):
            choose_addresses(ServerOptions(grpc_port=port))


def test_metrics_are_found_at_the_port_after_grpcs_where_it_is_free():
    for port in free_ports("127.0.0.1", 20):
        with contextlib.suppress(OSError), contextlib.closing(socket.socket()) as taken:
            taken.bind(("127.0.0.1", port + 1))
            taken.listen()
            options = ServerOptions(grpc_port=port)
            assert choose_addresses(options).metrics_port not in {port, port + 1}
            taken.close()
            assert choose_addresses(options).metrics_port == port + 1
            break
    else:
        pytest.fail("no port with a free one after it")
    assert choose_addresses(ServerOptions(grpc_port=65_535)).metrics_port < 65_535


def test_addresses_are_written_as_clients_want_them():
    assert join("::1", 8001) == "[::1]:8001"
    assert join("127.0.0.1", 8001) == "127.0.0.1:8001"


@pytest.mark.parametrize("host", ["::1", "[::1]", "::", "127.0.0.1"])
def test_any_address_may_be_served_at(host, tmp_path):
    folder, file = tmp_path, tmp_path / "file"
    bundle = TritonBundle("", file, folder, file, folder, None)
    options = ServerOptions(host=host)
    chosen = choose_addresses(options)
    line = command(bundle, ServerWorkspace(folder, 0), options, chosen)
    bare = host.strip("[]")
    assert (chosen.host, chosen.metrics_host) == (bare, "::1" if ":" in host else host)
    # Triton joins the one with a port, and reads the other by the rules of its HTTP server.
    assert f"--grpc-address={f'[{bare}]' if ':' in bare else bare}" in line
    assert f"--metrics-address={'ipv6:::1' if ':' in bare else bare}" in line
