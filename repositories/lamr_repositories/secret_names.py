"""What a file's name says about secrets: it is a file for secrets, it may hold some, or nothing.

Names of the first kind stand for the content. Those of the second kind are as often harmless (settings, templates,
states), so that a password in the content decides; `secrets` looks for it.
"""

from __future__ import annotations

import enum
import re
from functools import lru_cache

from lamr_repositories.kinds import is_test


class Named(enum.Enum):
    """What a name says."""

    SECRET = "for secrets"
    UNLESS_TEMPLATE = "for secrets, unless it is a template of such a file"
    PERHAPS = "for settings, which may be passwords"
    OTHER = "nothing"


_ALWAYS = re.compile(
    r"""
    [._]netrc | \.?pgpass(?:\.conf)? | \.git-credentials | \.htpasswd | \.dockercfg
    | \.?vault[-_]pass(?:word)?(?:\.txt)? | \.vault-token | \.mylogin\.cnf | \.s3cfg | \.databrickscfg
    | \.?rclone\.conf | secring\.gpg | id_(?:rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk|xmss)
    | \.(?:ba|z|fi)?sh_history | \.(?:mysql|psql|sqlite|rediscli)_history
    """,
    re.VERBOSE,
)
"""Names."""
_STORES = ".p12 .pfx .pkcs12 .jks .jceks .bks .keystore .kdb .kdbx .ppk .keytab .agekey"
_PLACES = (
    *_STORES.split(),
    *(
        "/.aws/credentials",
        "/.gem/credentials",
        "/.cargo/credentials",
        "/.cargo/credentials.toml",
        "/.kube/config",
    ),
    *("/.docker/config.json", "/.config/gh/hosts.yml", "/.config/hub", "/.azure/accesstokens.json"),
    "/config/master.key",
)
"""Ends of paths."""
_OUTSIDE_OF_TESTS = re.compile(
    r"\.env(?:\..+)?|\.envrc\.local|credentials\.json|client_secrets?\.json|service[-_]account\.json|"
    r"application_default_credentials\.json|keystore\.properties"
)
"""Names; a test's files of these names are samples, as long as nothing in them has a secret's form."""
_UNLESS_TEMPLATE = re.compile(r"\.?(?:secrets?|credentials)\.(?:ya?ml|json|toml|ini|env|properties|cfg|conf)")
_PERHAPS = re.compile(
    r"""
    \.(?: envrc | npmrc | pypirc | yarnrc(?:\.yml)? | terraformrc | boto | fetchmailrc | (?:ms|es)mtprc | muttrc
      | ftpconfig | renviron | condarc )
    | \.?my\.cnf | \.?bunfig\.toml | terraform\.rc | auth\.json | wp-config\.php | local\.settings\.json | kubeconfig
    | nuget\.config | settings-security\.xml | gradle\.properties | sitemanager\.xml | credentials
    | [^.]+\.(?: env | tfvars | tfstate | kubeconfig | ovpn )
    """,
    re.VERBOSE,
)
_SAMPLE = re.compile(r"\.env\..*\b(?:examples?|samples?|templates?|tmpl|tpl|dist|defaults|schema|vault)\b.*")
"""Names of files that show which variables there are, or whose values are encrypted."""


@lru_cache(maxsize=65_536)
def named(path: str) -> Named:
    """Return what a path from the root, with slashes, says about secrets; capitals don't count."""
    lower = "/" + path.lower()
    name = lower.rsplit("/", 1)[1]
    if _ALWAYS.fullmatch(name) or lower.endswith(_PLACES):
        return Named.SECRET
    if _SAMPLE.fullmatch(name):
        return Named.OTHER
    for names, says in ((_OUTSIDE_OF_TESTS, Named.SECRET), (_UNLESS_TEMPLATE, Named.UNLESS_TEMPLATE)):
        if names.fullmatch(name):
            return Named.PERHAPS if is_test(path) else says
    return Named.PERHAPS if _PERHAPS.fullmatch(name) else Named.OTHER
