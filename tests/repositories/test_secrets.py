"""Files that hold secrets: found by name and by form, however they are written; code that speaks of them stays."""

import json
import time
from pathlib import Path

import pytest
from lamr_repositories import PackOptions, WalkOptions, pack
from lamr_repositories.secrets import SecretName, holds_secret, named

from tests.repositories.made_secrets import Lot

LOT = Lot()
KEY = LOT.key()
KINDS = [
    ("", ""),
    ("RSA ", ""),
    ("EC ", ""),
    ("DSA ", ""),
    ("OPENSSH ", ""),
    ("ENCRYPTED ", ""),
    ("PGP ", " BLOCK"),
]
_LINES = KEY.splitlines()
WRITTEN: dict[str, str] = {
    "as it is": KEY,
    "with carriage returns": LOT.key(newline="\r\n"),
    "in one line of JSON": json.dumps({"type": "service_account", "private_key": KEY}),
    "in a notebook": json.dumps({"cells": [{"source": [f"{line}\n" for line in _LINES]}]}, indent=1),
    "in Python, line by line": "KEY = (\n" + "".join(f'    b"{line}\\n"\n' for line in _LINES) + ")\n",
    "in Java": "String k =\n" + " +\n".join(f'        "{line}\\n"' for line in _LINES) + ";\n",
    "in Go": "const k = `" + KEY + "`\n",
    "in C": "".join(f'"{line}\\n" \\\n' for line in _LINES),
    "in PHP": " .\n".join(f"'{line}'" for line in _LINES),
    "in Python, added up": "".join(f'K += "{line}\\n"\n' for line in _LINES),
    "in a shell script": "".join(f'echo "{line}" >> key\n' for line in _LINES),
    "in JavaScript, in a list": "[" + ", ".join(f"'{line}'" for line in _LINES) + "].join('\\n')",
    "in a comment": "".join(f"# {line}\n" for line in _LINES),
    "indented in YAML": "key: |\n" + "".join(f"      {line}\n" for line in _LINES),
    "in one line": " ".join(_LINES),
    "with PEM's fields": KEY.replace(
        "\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n", 1
    ),
    "with a version": LOT.key("PGP ", block=" BLOCK").replace("\n", "\nVersion: GnuPG v2\n\n", 1),
    "in base64": f"  tls.key: {LOT.in_base64()}\n",
    "in HTML": KEY.replace("\n", "<br/>\n"),
    "in an address": "".join(f"{line}%0A" for line in _LINES),
    "after much else": "x = 1\n" * 50_000 + KEY,
    "in a long line": "x" * 300_000 + KEY.replace("\n", "\\n"),
    "behind bytes of another code page": "é" * 100 + KEY,
    "PuTTY's": f"PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 14\n{LOT.draw(64)}\n{LOT.draw(63)}\n",
    "SSH2's": KEY.replace("-----BEGIN RSA PRIVATE KEY-----", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----"),
}


@pytest.mark.parametrize("how", WRITTEN)
def test_a_private_key_is_found_however_it_is_written(how: str) -> None:
    assert holds_secret("src/app.txt", WRITTEN[how].encode())


@pytest.mark.parametrize(("kind", "block"), KINDS)
def test_every_kind_of_private_key_is_found(kind: str, block: str) -> None:
    assert holds_secret("src/app.py", LOT.key(kind, block=block).encode())


@pytest.mark.parametrize("vendor", LOT.tokens())
def test_a_vendors_token_is_found_in_code(vendor: str) -> None:
    token = LOT.tokens()[vendor]
    for text in (
        token,
        f'x = "{token}"\n',
        f"{{'a': '{token}'}}",
        f'"first\\n{token}\\nlast"',
        f"k={token}&x=1",
    ):
        assert holds_secret("src/app.py", text.encode()), text.replace(token, "…")


HARMLESS: dict[str, str] = {
    "a marker that code looks for": 'if text.startswith("-----BEGIN PRIVATE KEY-----"):\n    return load(text)\n',
    "markers around a variable": '"-----BEGIN RSA PRIVATE KEY-----\\n" + body + "\\n-----END RSA PRIVATE KEY-----"',
    "a constant before long names": (
        'String HEADER = "-----BEGIN PRIVATE KEY-----";\nprivate static final Pattern certificateAuthorityKeyPattern;\n'
    ),
    "an example in prose": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA...\n-----END RSA PRIVATE KEY-----\n",
    "dots for a key": "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n",
    "a certificate": KEY.replace("RSA PRIVATE KEY", "CERTIFICATE"),
    "a public key": KEY.replace("RSA PRIVATE KEY", "PUBLIC KEY"),
    "AWS's example": "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "crosses for a token": "ghp_" + "x" * 36 + " glpat-" + "x" * 20 + " sk_live_" + "0" * 24,
    "an expression that finds tokens": r're.compile(r"ghp_[0-9A-Za-z]{36}|AKIA[0-9A-Z]{16}|xox[baprs]-[0-9-]+")',
    "classes of a style sheet": ".sk-folding-cube .sk-cube-grid-transition-container-element { color: red }",
    "words with the ends of prefixes": "task-" + "a1b2c3d4" * 5 + " risk-" + LOT.draw(40),
    "a variable": 'token = os.environ["GITHUB_TOKEN"]\npassword = settings.password\n',
    "the key of Azure's emulator": (
        "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    ),
    "a digest": "sha256:" + "0123456789abcdef" * 4,
    "a password in code": 'connect(user="root", password="hunter22")\n',
}


@pytest.mark.parametrize("what", HARMLESS)
def test_code_that_speaks_of_secrets_holds_none(what: str) -> None:
    assert not holds_secret("src/app.py", HARMLESS[what].encode())


@pytest.mark.parametrize(
    "path",
    [
        *(".env", "app/.env", ".ENV", "a/.Env.Production", ".env.local", "id_rsa", "k/ID_ED25519"),
        *(".netrc", "_netrc", ".pgpass", ".git-credentials", ".htpasswd", "a.p12", "a.PFX", "a.jks", "b.kdbx"),
        *("credentials.json", "client_secret.json", "service-account.json", ".aws/credentials", ".docker/config.json"),
        *(".kube/config", "config/master.key", ".bash_history", ".vault-token", ".s3cfg", "a.ppk", "my.keystore"),
    ],
)  # fmt: skip
def test_names_that_stand_for_secrets(path: str) -> None:
    assert named(path) is SecretName.SECRET
    assert holds_secret(path, b"A=1\n")


@pytest.mark.parametrize(
    "path",
    [
        *(".env.example", ".env.sample", "a/.env.template", ".env.dist", ".env.local.example", "env.py"),
        *(".env/lib/site.py", "environment.ts", "id_rsa.pub", "credentials.py", "secrets.go", "netrc.py"),
        *("keystore.go", "tokens.py", "config.json", "docker/config.json", "known_hosts", "auth.py", "src/keytab.c"),
    ],
)  # fmt: skip
def test_names_that_do_not(path: str) -> None:
    assert named(path) is SecretName.OTHER
    assert not holds_secret(path, b"PASSWORD=hunter2222\n")


@pytest.mark.parametrize(
    ("path", "text", "secret"),
    [
        ("secrets.yaml", "kind: Secret\ndata:\n  a: aHVudGVy\n", True),
        ("chart/templates/secrets.yaml", "data:\n  password: {{ .Values.password | b64enc }}\n", False),
        (
            "config/secrets.yml",
            "development:\n  secret_key_base: 0a1b2c3d4e\nproduction: <%= ENV['X'] %>\n",
            True,
        ),
        ("config/secrets.yml", "production:\n  secret_key_base: <%= ENV['X'] %>\n", False),
        (".npmrc", "registry=https://r.example.org\n//r/:_authToken=${NPM_TOKEN}\n", False),
        (".npmrc", "//r/:_authToken=0a1b2c3d4e5f\n", True),
        (".pypirc", "[pypi]\nusername = me\npassword = hunter22\n", True),
        ("prod.tfvars", 'region = "eu"\ndb_password = "hunter22"\n', True),
        ("prod.tfvars", 'region = "eu"\n', False),
        ("wp-config.php", "define('DB_PASSWORD', 'hunter22');\n", True),
        ("wp-config.php", "define('DB_PASSWORD', getenv('X'));\n", False),
        ("docker.env", "VERSION=1\n", False),
        ("docker.env", "DATABASE_URL=postgres://me:hunter22@db/app\n", True),
        ("tests/fixtures/.env", "FOO=bar\n", False),
        ("tests/fixtures/.env", "API_KEY=0a1b2c3d4e\n", True),
        (".env.example", "API_KEY=your-key-here\n", False),
        (".env.example", "API_KEY=" + LOT.tokens()["stripe"], True),
        ("nuget.config", '<add key="ClearTextPassword" value="hunter22" />', True),
    ],
)
def test_in_files_for_settings_the_content_decides(path: str, text: str, secret: bool) -> None:
    assert holds_secret(path, text.encode()) is secret


@pytest.mark.parametrize(
    "data",
    [
        b"AKIA" * 250_000,
        b"-----BEGIN PRIVATE KEY-----" * 37_000,
        b"-----BEGIN RSA PRIVATE KEY-----" + b"\n\\n\"'+ " * 150_000,
        b"-----BEGIN RSA PRIVATE KEY-----\n" + b"A: b\n" * 200_000,
        b"password" * 120_000,
        b"://a:" * 200_000,
        b"1Q~" * 330_000,
        b"123456789:AA" * 80_000,
        b"a" * 1_000_000,
    ],
)
def test_hostile_files_cost_no_more_than_others(data: bytes) -> None:
    begin = time.process_time()
    holds_secret("prod.tfvars", data)
    assert time.process_time() - begin < 5  # a backtracking engine takes hours


def _repository(folder: Path) -> dict[str, str]:
    token = LOT.tokens()["github"]
    files = {
        ".env": "LAUNCH=zebra7391\n",
        "deploy/key.pem": KEY,
        "src/launch.py": f'def launch():\n    return "{token}"\n',
        "src/rocket.py": "def rocket():\n    return launch()\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return files


def test_a_pack_leaves_them_out_says_so_and_takes_them_when_asked(tmp_path: Path) -> None:
    _repository(tmp_path / "r")
    cache = tmp_path / "c.sqlite"
    query = "How does a rocket launch?"
    words = (LOT.tokens()["github"], "zebra7391", _LINES[1])
    for form in ("xml", "markdown", "plain", "json"):
        for _ in range(2):
            result = pack(tmp_path / "r", query, options=PackOptions(form=form), cache=cache)
            assert result.counts.left_out == {"with secrets": 3}
            assert "left out 3 with secrets" in result.summary()
            assert result.notes == (
                "left out for the secrets in them: .env, deploy/key.pem, src/launch.py "
                "(include_secrets, --include-secrets takes them)",
            )
            assert "def rocket" in result.text
            assert not any(word in result.text + result.to_json() for word in words)
    assert not any(
        word.encode() in file.read_bytes() for file in tmp_path.glob("c.sqlite*") for word in words
    )
    everything = WalkOptions(include_secrets=True)
    taken = pack(tmp_path / "r", query, options=PackOptions(walk=everything), cache=cache)
    assert taken.counts.left_out == {}
    assert words[0] in taken.text
    again = pack(tmp_path / "r", query, cache=cache)
    assert again.counts.left_out == {"with secrets": 3}


def test_a_file_that_gets_a_secret_leaves_the_pack(tmp_path: Path) -> None:
    _repository(tmp_path / "r")
    (tmp_path / "r/src/launch.py").write_text("def launch():\n    return 1\n")
    options = PackOptions()
    assert "def launch" in pack(tmp_path / "r", "launch", options=options, cache=tmp_path / "c").text
    _repository(tmp_path / "r")
    assert "def launch" not in pack(tmp_path / "r", "launch", options=options, cache=tmp_path / "c").text
