"""The page of a pack holds its result; a browser shows it in `tests/agents/http/test_page.py`."""

import json
import re
from pathlib import Path

from lamr_repositories import pack, render_page

from tests.repositories.conftest import QUERY, write_files


def test_a_page_holds_the_result_and_no_markup_of_the_code(folder: Path) -> None:
    evil = "</code></li></script><script>alert(1)</script><img src=x onerror=alert(2)>\"' --> \x1b[31m \u202e \u2028"
    name = "src/pool<script>alert(1)' onmouseover=x.py"
    write_files(folder, {name: f"closed = 'pool {evil}'\n"})
    result = pack(folder, f"{QUERY} {evil}", 2_600)
    page = render_page(result)
    assert not re.search(
        r"<(?:img|link (?!rel=\"icon\")|iframe)|<script>alert|[\x1b\u202e]|' onmouseover=x\.py>", page
    )
    assert page.count("</script>") == 2
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found
    assert json.loads(found[1])["pack"] == json.loads(result.to_json())
    assert "default-src 'none'" in page
