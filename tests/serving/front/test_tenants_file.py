"""The file of tenants: what it means, the line that a mistake is on, and the windows that follow from weights."""

import datetime
from pathlib import Path

import pytest
from lamr_serving.errors import TenantsFileError
from lamr_serving.front.fleet import (
    KEY_PREFIX,
    ApiKey,
    Fleet,
    FrontSettings,
    Replica,
    Tenant,
    TenantLimits,
    hash_of,
    make_key,
)
from lamr_serving.front.tenants_file import add_keys, parse_fleet, read_fleet

HASH = "sha256:" + "a" * 64
REPLICA = '[replicas.one]\ngrpc = "10.0.0.1:8001"\n'


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "server.pem").touch()
    (tmp_path / "ca.pem").touch()
    fleet = parse_fleet(
        tmp_path / "tenants.toml",
        f"""
[front]
listen = "0.0.0.0:443"
certificate = "server.pem"
client_ca = "ca.pem"
quota_seconds = 60

[replicas.one]
grpc = "triton-0:8001"
capacity = 12

[tenants.alice]
weight = 2
window = 5
models = ["lamr", "lamr-large"]
certificates = ["agent a"]
limits = {{ concurrent = 3, requests = 100, bytes = 1_000_000 }}

[[tenants.alice.keys]]
hash = "{HASH}"
expires = 2027-01-31

[tenants.bob]
""",
    )
    expires = datetime.datetime(2027, 1, 31, tzinfo=datetime.timezone.utc)
    assert fleet == Fleet(
        FrontSettings(
            listen="0.0.0.0:443",
            certificate=tmp_path / "server.pem",
            client_ca=tmp_path / "ca.pem",
            quota_seconds=60,
        ),
        (Replica("one", "triton-0:8001", 12),),
        (
            Tenant(
                "alice", 2.0, 5, ("lamr", "lamr-large"), (ApiKey("a" * 64, expires),), ("agent a",),
                TenantLimits(3, 100, 1_000_000),
            ),
            Tenant("bob"),
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[front\n", 1, "not TOML"),
        (f"{REPLICA}[tenants.a]\nweight = 0", 4, "tenants.a.weight: must be between"),
        (f"{REPLICA}[tenants.a]\n\nwieght = 1", 5, "did you mean weight?"),
        (f"{REPLICA}[tenants.A]", 3, "a name has"),
        (f"{REPLICA}[tenants.'a b']", 3, "a name has"),
        (f'{REPLICA}[tenants.a]\nwindow = "3"', 4, "must be a whole number"),
        (f"{REPLICA}[tenants.a]\nwindow = true", 4, "must be a whole number"),
        (f"{REPLICA}[tenants.a.limits]\nrequests = 0", 4, "tenants.a.limits.requests: must be between"),
        (f"{REPLICA}[tenants.a]\nlimits = {{ request = 2 }}", 4, "did you mean requests?"),
        (f"{REPLICA}[tenants.a]\nmodels = ['a\"b']", 4, "no model's name"),
        (f'{REPLICA}[tenants.a]\ncertificates = ["a\\nb"]', 4, "no common name"),
        (f"{REPLICA}[[tenants.a.keys]]\nhash = 'lamr_secret'", 4, "a key itself never stands here"),
        (f"{REPLICA}[[tenants.a.keys]]\nexpires = 2027-01-01", 3, "give hash"),
        (f"{REPLICA}[[tenants.a.keys]]\nhash = '{HASH}'\nexpires = 'soon'", 5, "must be a date"),
        (
            f"{REPLICA}[[tenants.a.keys]]\nhash = '{HASH}'\n[[tenants.b.keys]]\nhash = '{HASH}'",
            6,
            "tenant a has the same key",
        ),
        ('[replicas.one]\ngrpc = "8001"', 2, '"host:port"'),
        ('[replicas.one]\ngrpc = "a:99999"', 2, '"host:port"'),
        ('[replicas.one]\ngrpc = "a b:1\\nserver x"', 2, '"host:port"'),
        ("[replicas.one]", 1, "give the address"),
        (f'{REPLICA}[replicas.two]\ngrpc = "10.0.0.1:8001"', 4, "replica one has the same address"),
        ("", None, "no replica"),
        (f'[front]\nlisten = "0.0.0.0:443"\n{REPLICA}', 2, "unencrypted"),
        (f'[front]\n\ncertificate = "no.pem"\n{REPLICA}', 3, "there is no file"),
        (f'front = 1\n{REPLICA}', 1, "must be a table"),
        (f'{REPLICA}[tenant.a]', None, "did you mean tenants?"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_line(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    path = tmp_path / "tenants.toml"
    with pytest.raises(TenantsFileError, match=r"tenants\.toml") as error:
        parse_fleet(path, text)
    assert message in str(error.value)
    if line is not None:
        assert error.value.line == line
        assert f"line {line}:" in str(error.value)


def test_a_missing_or_binary_file(tmp_path: Path) -> None:
    with pytest.raises(TenantsFileError, match="lamr front key"):
        read_fleet(tmp_path / "tenants.toml")
    (tmp_path / "tenants.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TenantsFileError, match="UTF-8"):
        read_fleet(tmp_path / "tenants.toml")


def test_keys_are_added_and_the_rest_stays(tmp_path: Path) -> None:
    path = tmp_path / "tenants.toml"
    first, second, third = (make_key() for _ in range(3))
    add_keys(path, {"alice": first[1], "bob": second[1]})
    text = path.read_text() + "# a comment, and no line end"
    path.write_text(text)
    add_keys(
        path, {"alice": ApiKey(third[1].sha256, datetime.datetime(2030, 1, 1, tzinfo=datetime.timezone.utc))}
    )
    assert path.read_text().startswith(text)
    alice, bob = read_fleet(path).tenants
    assert [key.sha256 for key in alice.keys] == [hash_of(first[0]), hash_of(third[0])]
    assert alice.keys[1].expires.year == 2030
    assert [key.sha256 for key in bob.keys] == [hash_of(second[0])]
    for key, _ in (first, second, third):
        assert key.startswith(KEY_PREFIX)
        assert key not in path.read_text()


def test_a_file_that_cannot_take_a_key_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "tenants.toml"
    text = f"{REPLICA}[tenants.alice]\nkeys = [{{ hash = '{HASH}' }}]\n"
    path.write_text(text)
    with pytest.raises(TenantsFileError, match=r"\[\[tenants.NAME.keys\]\]"):
        add_keys(path, {"alice": make_key()[1]})
    with pytest.raises(TenantsFileError, match="a name has"):
        add_keys(path, {"no name": make_key()[1]})
    assert path.read_text() == text
    assert [each.name for each in tmp_path.iterdir()] == ["tenants.toml"]


def windows(*tenants: Tenant, capacity: int = 12, **settings: int) -> dict[str, int]:
    return Fleet(FrontSettings(**settings), (Replica("one", "a:1", capacity),), tenants).windows()


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ((1,), [12]),
        ((1, 1), [6, 6]),
        ((1, 3), [3, 9]),
        ((1, 2, 4), [2, 4, 8]),
        ((1, 1, 1, 1, 1, 1, 1, 1), [3] * 8),
        ((0.1, 100), [1, 12]),
    ],
)
def test_windows_follow_weights(weights: tuple[float, ...], expected: list[int]) -> None:
    tenants = [Tenant(str(index), weight) for index, weight in enumerate(weights)]
    assert list(windows(*tenants).values()) == expected


def test_windows_keep_the_ratios_of_weights_and_a_given_one_is_taken_as_it_is() -> None:
    tenants = [Tenant(str(index), 1 + index % 4) for index in range(200)]
    found = windows(*tenants, capacity=6)
    assert [found[str(index)] for index in range(4)] == [1, 2, 3, 4]
    assert windows(Tenant("a", window=40), Tenant("b"), busy_tenants=1) == {"a": 40, "b": 12}
    assert windows(Tenant("a", window=2)) == {"a": 2}
