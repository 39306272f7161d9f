"""Which licences allow training, and the SPDX names of what packages say of theirs."""

from __future__ import annotations

import re

_NAMES = """
    0BSD Apache-2.0 BSD BSD-2-Clause BSD-3-Clause BSL-1.0 CC0-1.0 ISC LicenseRef-Repoze-BSD-derived MIT MS-PL PSF-2.0
    Unlicense Zlib
    """
PERMISSIVE = frozenset(_NAMES.split())
"""`BSD` is for those who don't say how many clauses theirs has."""
_CLASSIFIERS = {
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "zlib/libpng License": "Zlib",
}
_APACHE = re.compile(r"Apache(?: Software)?(?: License)?,? *(?:(?:v|version )?2(?:\.0)?)?", re.I)


def permissive(licence: str) -> bool:
    """Whether an SPDX expression without brackets allows what training does: of OR one is enough, of AND all must."""
    return any(
        all(part.strip() in PERMISSIVE for part in re.split(r"\bAND\b", choice))
        for choice in re.split(r"\bOR\b", licence)
    )


def spdx(words: str) -> str:
    """The SPDX name of a trove classifier's last part, or of a few words; other words stay as they are."""
    if _APACHE.fullmatch(words):
        return "Apache-2.0"
    short = re.sub(r"^the |[ -]licen[cs]e$", "", words, flags=re.I).replace(" ", "-")
    return _CLASSIFIERS.get(words) or (short if short in PERMISSIVE else words)
