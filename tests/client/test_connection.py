"""Addresses, keys and certificates: what is taken, and what is refused before anything is sent."""

import pytest
from lamr_client import InvalidInputError, Pruner, parse_connection


@pytest.mark.parametrize(
    ("server", "address", "tls"),
    [
        ("localhost:8001", "localhost:8001", False),
        ("http://127.0.0.1:80/", "127.0.0.1:80", False),
        ("https://prune.example", "prune.example:443", True),
        ("https://prune.example:8443", "prune.example:8443", True),
        ("[::1]:8001", "[::1]:8001", False),
        ("https://[2001:db8::1]", "[2001:db8::1]:443", True),
    ],
)
def test_addresses(server: str, address: str, tls: bool) -> None:
    connection = parse_connection(server)
    assert (connection.address, connection.tls) == (address, tls)


@pytest.mark.parametrize(
    "server", ["", "localhost", "localhost:http", "host:70000", "grpc://host:1", "https://host/path", "https://", "https://u:p@h"]
)  # fmt: skip
def test_what_is_no_address(server: str) -> None:
    with pytest.raises(InvalidInputError, match="host:port") as error:
        parse_connection(server)
    assert error.value.argument == "server"


@pytest.mark.parametrize("server", ["10.0.0.1:8001", "prune.example:443", "http://prune.example"])
def test_a_key_never_travels_in_the_clear(server: str) -> None:
    with pytest.raises(InvalidInputError, match="unencrypted"):
        parse_connection(server, api_key="lamr_x")
    for safe in (f"https://{server.removeprefix('http://')}", "localhost:1", "127.0.0.2:1", "[::1]:1"):
        assert parse_connection(safe, api_key="lamr_x").metadata == {"authorization": "Bearer lamr_x"}


@pytest.mark.parametrize("key", ["", "secret\n", "sec ret", "секрет", "secret\x7f"])
def test_what_is_no_key(key: str) -> None:
    with pytest.raises(InvalidInputError, match="API key") as error:
        parse_connection("localhost:1", api_key=key)
    assert not key or key[:3] not in str(error.value)


def test_files(tmp_path) -> None:
    file = tmp_path / "a.pem"
    with pytest.raises(InvalidInputError, match=r"ca: .*a\.pem: No such file"):
        parse_connection("https://h", ca=file)
    file.touch()
    with pytest.raises(InvalidInputError, match="give both"):
        parse_connection("https://h", cert=file)
    with pytest.raises(InvalidInputError, match="https://"):
        parse_connection("localhost:1", ca=file)
    assert parse_connection("https://h", ca=str(file), cert=file, key=file).client_arguments() == {
        "url": "h:443",
        "ssl": True,
        "root_certificates": str(file),
        "private_key": str(file),
        "certificate_chain": str(file),
    }


def test_a_key_without_a_server_is_a_mistake() -> None:
    with pytest.raises(InvalidInputError, match="api_key is for a server"):
        Pruner(api_key="lamr_x")
