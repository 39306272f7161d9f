"""What looks like the path of a file, for texts that name files: no disk is asked."""

from __future__ import annotations

import re

FILE = r"(?:[A-Za-z]:[\\/])?[^\s:\x00-\x1f][^:\x00-\x1f\r\n]{0,1000}?"
"""A regular expression of what may be a path before a colon, a mark or a line's end; `looks_like_file` judges it."""
_SUFFIX = re.compile(r"[^.\s].*\.(?:[A-Za-z_][\w+~-]{0,14}|7z|3gp|mp[34]|[1-9][a-z]?)$|\.[A-Za-z][\w.+-]*$")
_NAMES = re.compile(
    r"(?:LICEN[CS]E|README|CHANGE(?:LOG|S)|COPYING|NOTICE|AUTHORS|VERSION|CODEOWNERS|INSTALL|TODO|CONTRIBUTING|BUILD|"
    r"WORKSPACE|[A-Z]\w*file|makefile|configure|gradlew|mvnw)(?:\.[\w.]+)?$"
)
"""Names of files without an ending: LICENSE, Dockerfile."""
_PLAIN_FOLDERS = re.compile(r"(?:[A-Za-z]:)?[\w.@+~\\/-]*[A-Za-z][\w.@+~\\/-]*$")
_DATE = re.compile(r"\d{1,4}[/-]\w{1,9}[/-]\d{1,4}$")


def looks_like_file(path: str) -> bool:
    """Whether a path looks like that of a file: by its ending or its name, or by folders around plain names."""
    name = re.split(r"[/\\]", path)[-1]
    if not name or _DATE.search(path):
        return False
    if _SUFFIX.match(name) or _NAMES.match(name):
        return True
    return len(name) < len(path) and bool(_PLAIN_FOLDERS.match(path))
