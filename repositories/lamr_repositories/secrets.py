"""Whether a file's content holds a secret: a private key, a token of a vendor, a password in a file for passwords.

What is looked for has a form of its own, so that code which only speaks of keys isn't taken for one: the block of a
private key with its data, and tokens with the prefixes that their vendors gave them so that they are found. Entropy and
names of variables would find more, and take much code for secrets; they are heeded only in files whose name says that
they are for secrets, or that they may hold some. One pass by an automaton finds all forms, in time linear in the file,
whatever is in it. This module knows bytes and forms; it returns a verdict, and never a value."""

import base64
import enum
import re
from functools import lru_cache
from typing import Any

import re2
from lamr_base.expressions import expression

from lamr_repositories.kinds import is_test


class SecretName(enum.Enum):
    """What a name says."""

    SECRET = "for secrets"
    UNLESS_TEMPLATE = "for secrets, unless it is a template of such a file"
    PERHAPS = "for settings, which may be passwords"
    OTHER = "nothing"


_ALWAYS = expression(
    r"""
    [._]netrc | \.?pgpass(?:\.conf)? | \.git-credentials | \.htpasswd | \.dockercfg
    | \.?vault[-_]pass(?:word)?(?:\.txt)? | \.vault-token | \.mylogin\.cnf | \.s3cfg | \.databrickscfg
    | \.?rclone\.conf | secring\.gpg | id_(?:rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk|xmss)
    | \.(?:ba|z|fi)?sh_history | \.(?:mysql|psql|sqlite|rediscli)_history
    """,
    re.VERBOSE,
)
"""Names."""
_PLACES = """
    .p12 .pfx .pkcs12 .jks .jceks .bks .keystore .kdb .kdbx .ppk .keytab .agekey
    /.aws/credentials /.gem/credentials /.cargo/credentials /.cargo/credentials.toml /.kube/config /.docker/config.json
    /.config/gh/hosts.yml /.config/hub /.azure/accesstokens.json /config/master.key
    """
"""Ends of paths."""
_OUTSIDE_OF_TESTS = expression(
    r"\.env(?:\..+)?|\.envrc\.local|credentials\.json|client_secrets?\.json|service[-_]account\.json|"
    r"application_default_credentials\.json|keystore\.properties"
)
"""Names; a test's files of these names are samples, as long as nothing in them has a secret's form."""
_UNLESS_TEMPLATE = expression(r"\.?(?:secrets?|credentials)\.(?:ya?ml|json|toml|ini|env|properties|cfg|conf)")
_PERHAPS = expression(
    r"""
    \.(?: envrc | npmrc | pypirc | yarnrc(?:\.yml)? | terraformrc | boto | fetchmailrc | (?:ms|es)mtprc | muttrc
      | ftpconfig | renviron | condarc )
    | \.?my\.cnf | \.?bunfig\.toml | terraform\.rc | auth\.json | wp-config\.php | local\.settings\.json | kubeconfig
    | nuget\.config | settings-security\.xml | gradle\.properties | sitemanager\.xml | credentials
    | [^.]+\.(?: env | tfvars | tfstate | kubeconfig | ovpn )
    """,
    re.VERBOSE,
)
_SAMPLE = expression(r"\.env\..*\b(?:examples?|samples?|templates?|tmpl|tpl|dist|defaults|schema|vault)\b.*")
"""Names of files that show which variables there are, or whose values are encrypted."""


@lru_cache(maxsize=65_536)
def named(path: str) -> SecretName:
    """Return what a path from the root, with slashes, says about secrets; capitals don't count."""
    lower = "/" + path.lower()
    name = lower.rsplit("/", 1)[1]
    if _ALWAYS.fullmatch(name) or lower.endswith(tuple(_PLACES.split())):
        return SecretName.SECRET
    if _SAMPLE.fullmatch(name):
        return SecretName.OTHER
    for names, says in (
        (_OUTSIDE_OF_TESTS, SecretName.SECRET),
        (_UNLESS_TEMPLATE, SecretName.UNLESS_TEMPLATE),
    ):
        if names.fullmatch(name):
            return SecretName.PERHAPS if is_test(path) else says
    return SecretName.PERHAPS if _PERHAPS.fullmatch(name) else SecretName.OTHER


_WORD, _BASE64 = r"[0-9A-Za-z_-]", r"[0-9A-Za-z+/]"
_EDGE = r"(?:\b|\\[nrt])"
_ALONE = r"(?:^|[^0-9A-Za-z_-]|\\[nrt])"
"""What stands before a prefix that would else be the end of a word; escapes are white space."""

_TOKENS = (
    # Clouds
    _ALONE + r"(?:AKIA|ASIA)([0-9A-Z]{16})\b",
    r"(?i:aws_?(?:secret_?)?(?:access_?)?key|secret_?access_?key)[\"']?\s{0,3}(?:[:=]|=>)\s{0,3}[\"']?("
    + _BASE64
    + r"{40})(?:[^0-9A-Za-z+/=]|$)",
    _EDGE + r"ABSK(" + _BASE64 + r"{109,}={0,2})",
    _EDGE + r"AIza(" + _WORD + r"{35})(?:[^0-9A-Za-z_-]|$)",
    _EDGE + r"GOCSPX-(" + _WORD + r"{28})",
    _EDGE + r"ya29\.(" + _WORD + r"{40,})",
    r"(?i:account|shared ?access)[kK]ey=(" + _BASE64 + r"{43,86}={1,2})",
    r"(?:^|[^0-9A-Za-z_~.]|\\[nrt])([0-9A-Za-z_~.]{3}[0-9]Q~[0-9A-Za-z_~.-]{31,34})(?:[^0-9A-Za-z_~.-]|$)",
    _EDGE + r"LTAI([0-9A-Za-z]{20})\b",
    _EDGE + r"do[opr]_v1_([0-9a-f]{64})",
    _EDGE + r"HRKU-(" + _WORD + r"{36,})",
    _EDGE + r"fm[12][ar]?_(" + _BASE64 + r"{100,})",
    _EDGE + r"nfp_([0-9A-Za-z]{36,40})",
    _EDGE + r"sbp_([0-9a-f]{40})",
    _EDGE + r"sb_secret_(" + _WORD + r"{22,})",
    _EDGE + r"tskey-[a-z]{3,12}-(" + _WORD + r"{20,})",
    # Forges and registries
    r"gh[pousr]_([0-9A-Za-z]{36})",
    r"github_pat_([0-9A-Za-z_]{60,})",
    r"gl(?:pat|ptt|rt|dt|cbt|ft|oas|soat|imt|agent|ffct)-(" + _WORD + r"{20,})",
    _EDGE + r"GR1348941(" + _WORD + r"{20})",
    _EDGE + r"ATATT3(" + _WORD + r"{150,})",
    _EDGE + r"npm_([0-9A-Za-z]{36})\b",
    _EDGE + r"pypi-AgE(" + _WORD + r"{50,})",
    _EDGE + r"rubygems_([0-9a-f]{48})",
    _EDGE + r"CLOJARS_([0-9a-f]{60})",
    _EDGE + r"dckr_[po]at_(" + _WORD + r"{27,})",
    _EDGE + r"cio([0-9A-Za-z]{32})\b",
    _EDGE + r"oy2([0-9a-z]{43})\b",
    _EDGE + r"AKCp([0-9A-Za-z]{69})\b",
    # Models
    _EDGE + r"sk-ant-[a-z0-9]{3,10}-(" + _WORD + r"{40,})",
    _ALONE + r"sk-(?:proj|svcacct|admin|or-v1|None)-(" + _WORD + r"{40,})",
    _ALONE + r"sk-([0-9A-Za-z]{32,64})(?:[^0-9A-Za-z_-]|$)",
    _EDGE + r"gsk_([0-9A-Za-z]{52})\b",
    _EDGE + r"xai-([0-9A-Za-z]{80})\b",
    _EDGE + r"pplx-([0-9A-Za-z]{48})\b",
    _ALONE + r"(?:hf|api_org)_([0-9A-Za-z]{34,40})\b",
    _EDGE + r"r8_([0-9A-Za-z]{37})\b",
    # Messages and mail
    _EDGE + r"xox[abeoprs](?:\.xox[bp])?-([0-9][0-9A-Za-z-]{20,})",
    _EDGE + r"xapp-[0-9]-([0-9A-Z]{8,}-[0-9]+-[0-9a-f]{32,})",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/(T[0-9A-Z]{8,}/[0-9A-Z]{8,}/[0-9A-Za-z]{20,})",
    r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/(" + _WORD + r"{60,})",
    _EDGE + r"[0-9]{8,10}:AA(" + _WORD + r"{33})(?:[^0-9A-Za-z_-]|$)",
    _EDGE + r"SG\.(" + _WORD + r"{20,24}\." + _WORD + r"{39,50})",
    _ALONE + r"SK([0-9a-f]{32})\b",
    # Money and shops
    r"[sr]k_live_([0-9A-Za-z]{16,})",
    _EDGE + r"whsec_([0-9A-Za-z+/=]{32,})",
    _EDGE + r"shp(?:at|ca|pa|ss)_([0-9a-fA-F]{32})",
    _EDGE + r"sq0(?:atp|csp)-(" + _WORD + r"{22,})",
    # Operations
    _EDGE + r"dapi([0-9a-f]{32})\b",
    _EDGE + r"glsa_([0-9A-Za-z]{32}_[0-9a-f]{8})",
    _EDGE + r"glc_(eyJ" + _BASE64 + r"{40,})",
    _EDGE + r"hv[sb]\.(" + _WORD + r"{90,})",
    _EDGE + r"([0-9A-Za-z]{14}\.atlasv1\." + _WORD + r"{60,})",
    _EDGE + r"pul-([0-9a-f]{40})\b",
    _EDGE + r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?([0-9A-Za-z]{40,44})",
    _EDGE + r"dt0c01\.([0-9A-Z]{24}\.[0-9A-Z]{64})",
    _EDGE + r"NRAK-([0-9A-Z]{27})",
    _EDGE + r"sntrys_(eyJ" + _BASE64 + r"{60,})",
    _EDGE + r"sntryu_([0-9a-f]{64})",
    _EDGE + r"lin_api_([0-9A-Za-z]{40})",
    _EDGE + r"ntn_([0-9]{11}[0-9A-Za-z]{35})",
    _EDGE + r"pscale_(?:tkn|oauth|pw)_([0-9A-Za-z_.=-]{32,})",
    _EDGE + r"PMAK-([0-9a-f]{24}-[0-9a-f]{34})",
    _EDGE + r"figd_(" + _WORD + r"{40,})",
    _EDGE + r"ops_(eyJ" + _BASE64 + r"{200,})",
)
"""Forms of tokens; a group of each is what its vendor draws by lot."""

_WRITTEN = r"[A-Za-z_][0-9A-Za-z_.$]{0,30} ?(?:[+.]?=|\(|<<)? ?[bru]{0,2}[\"']|>>? ?[^\s\"']{1,60}"
_GAP = rf"(?:\\[nrt\\]|{_WRITTEN}|[\s\"'`,;.+\\#*|>()&$-]|//|%0[AD]|&#1[03];|<br ?/?>)*"
"""What stands between the lines of a key that is written into code, a script, a notebook or a URL."""
_FIELD = r"[A-Z][0-9A-Za-z-]{1,30}: [^\n\"\\]*"
_BLOCK = r"-{4,5} ?BEGIN (?:[0-9A-Z]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_ENCODED = "|".join(
    base64.b64encode(f"-----BEGIN {kind}PRIVATE KEY".encode()[: -((len(kind) + 22) % 3) or None]).decode()
    for kind in ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "PGP ")
)
_KEYS = (
    f"{_BLOCK}{_GAP}(?:{_FIELD}{_GAP})*({_BASE64}{{24,}}{_GAP}[0-9A-Za-z+/=]{{16,}}|{_BASE64}{{40,}})",
    rf"(?:{_ENCODED})({_BASE64}{{80,}})",
    rf"Private-Lines: [0-9]{{1,3}}{_GAP}({_BASE64}{{40,}})",
    r"AGE-SECRET-KEY-1([0-9A-Z]{58})",
    rf"(?:^|\n)[ \t]{{0,8}}PrivateKey[ \t]{{0,4}}=[ \t]{{0,4}}({_BASE64}{{43}}=)",
)
"""Forms of private keys; a group of each is the key."""
_FORMS = "|".join((*_TOKENS, *_KEYS))

_PASSWORD = (
    r"(?i:pass(?:word|wd|phrase)?|pwd|secret|token|credential|_auth|api_?key|access_?key|private_?key|client-key-data|"
    r"_key|secret_key_base)[0-9A-Za-z_.-]*[\"']?(?: value)?[ \t]*(?:[:=,]|=>)[ \t]*[\"']?"
    r"([^\s\"'`#<>{}$%(),;\\]{6,512})(?:[\s\"'`,;<&]|$)|"
    r"://[^\s/:@\"']{0,64}:([^\s/@\"'${}<>%]{6,128})@"
)
"""A value by its name, or in an address: in files for such values."""
_TEMPLATE = expression(rb"\{\{|<%|\{%")
_PLACEHOLDER = expression(
    rb"example|placeholder|redacted|dummy|fake|sample|your|change.?me|replace|insert|x{4}|\*{3}|\.{3}",
    re.IGNORECASE,
)
_PUBLIC = frozenset(
    [b"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="]
)
"""Values with a secret's form that everybody knows: the key of Azure's emulator."""
_NO_VALUES = frozenset(b"default disabled enabled required optional string password secret".split())
_LEAST_DISTINCT = 8
"""Characters that differ, in the shortest value by lot; what is typed by hand, as `0000` or `abcabc`, has fewer."""
_MOST_MEMORY = 64 << 20  # bytes that the automaton may grow to; where it needs more it goes on, slower


def holds_secret(path: str, data: bytes) -> bool:
    """Return whether a file's content holds a secret; what its path says decides how much is looked for."""
    name = named(path)
    if name is SecretName.SECRET or (name is SecretName.UNLESS_TEMPLATE and not _TEMPLATE.search(data)):
        return True
    if any(map(_by_lot, _compiled(_FORMS).finditer(data))):
        return True
    return name is not SecretName.OTHER and any(map(_is_given, _compiled(_PASSWORD).finditer(data)))


def _by_lot(match: Any) -> bool:
    """Return whether a form's group was drawn by lot, and is no placeholder."""
    value = _value(match)
    return len(set(value)) >= _LEAST_DISTINCT and not _PLACEHOLDER.search(value) and value not in _PUBLIC


def _is_given(match: Any) -> bool:
    """Return whether a password is one, and no placeholder."""
    value = _value(match)
    return value.lower() not in _NO_VALUES and not _PLACEHOLDER.search(value)


def _value(match: Any) -> bytes:
    value: bytes = next(each for each in match.groups() if each is not None)
    return value


@lru_cache(maxsize=2)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.max_mem = _MOST_MEMORY
    options.encoding = re2.Options.Encoding.LATIN1  # any bytes will do
    options.log_errors = False
    return re2.compile(pattern.encode("ascii"), options)
