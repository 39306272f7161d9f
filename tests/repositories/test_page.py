"""The page of a pack: every kept line once, everything escaped, nothing loaded."""

import re
from html import unescape
from pathlib import Path

import pytest
from lamr_postprocess import split_lines
from lamr_repositories import PackOptions, pack, render_page

from tests.repositories.conftest import FILES, POOL, QUERY, write_files


@pytest.mark.parametrize("line_numbers", [False, True])
def test_a_page_shows_what_is_kept_and_what_is_cut(folder: Path, line_numbers: bool) -> None:
    text = POOL + FILES["src/colours.py"]  # of which most is cut
    write_files(folder, {"src/pool.py": text})
    result = pack(folder, QUERY, 900, options=PackOptions(line_numbers=line_numbers))
    page = render_page(result)
    number = [each.path for each in result.files].index("src/pool.py")
    part = page.split(f'id="file-{number}"')[1].split("</details>")[0]
    shown = re.findall(r'<li class=(?:own|repair) value="(\d+)" title="[\w:]+"><code>(.*?)</code>', part)
    lines = split_lines(text)
    assert [(int(row), unescape(text).rstrip()) for row, text in shown] == [
        (row, lines[row - 1].rstrip()) for row in result.files[number].kept_lines
    ]
    assert part.count("<li class=cut") == len(result.files[number].cuts) > 0


def test_a_page_runs_and_loads_nothing(folder: Path) -> None:
    evil = "</code></li></script><script>alert(1)</script><img src=x onerror=alert(2)>\"' --> \x1b[31m \u202e \u2028"
    name = "src/pool<script>alert(1)' onmouseover=x.py"
    write_files(folder, {name: f"closed = 'pool {evil}'\n"})
    query = f"{QUERY} {evil}"
    result = pack(folder, query, 2_600)
    page = render_page(result)
    assert result.outlined
    assert all(path in page for path in result.outlined)
    assert "alert(1)" in page
    assert not re.search(
        r"<(?:script|img|link|iframe)|[\x1b\u202e]|\b(?:src|onload)=\"|' onmouseover=x", page
    )
    assert "default-src 'none'" in page
