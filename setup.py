"""The one thing that pyproject.toml can't say: an index shows the README without the files that it links to."""

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent


def readme() -> str:
    """The README; where pyproject.toml names a repository, its relative links lead there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    home = re.search(r'^Repository = "(.+?)/?"$', project, re.MULTILINE)
    if home is None:
        return text
    text = re.sub(r"(!\[[^\]]*\]\()(?!\w+:|#)", rf"\1{home[1]}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?!\w+:|#)", rf"\1{home[1]}/blob/main/", text)


setup(long_description=readme(), long_description_content_type="text/markdown")
