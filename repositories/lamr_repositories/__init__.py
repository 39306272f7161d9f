"""Whole repositories: a question and a budget in, the code that matters out.

    from lamr_repositories import pack
    print(pack("path/to/repository", "How are retries limited?", 16_000).text)

Importing this package loads no model; a pack loads the line model."""

from lamr_base.cache import default_cache_file

from lamr_repositories.errors import RepositoryError
from lamr_repositories.formats import FORMATS
from lamr_repositories.options import PackOptions
from lamr_repositories.pack import Using, pack, pack_async, prepare
from lamr_repositories.page import render_page
from lamr_repositories.prepared import Prepared
from lamr_repositories.result import PackCounts, PackedFile, PackResult, StageSeconds
from lamr_repositories.walk import WalkOptions

__all__ = [
    "FORMATS",
    "PackCounts",
    "PackOptions",
    "PackResult",
    "PackedFile",
    "Prepared",
    "RepositoryError",
    "StageSeconds",
    "Using",
    "WalkOptions",
    "default_cache_file",
    "pack",
    "pack_async",
    "prepare",
    "render_page",
]
