"""The page of `lamr http`, and those that `lamr view` and `lamr pack --html` write, in Debian's Chromium."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from lamr_base.errors import visible
from lamr_postprocess import prune_lines, render_html
from lamr_repositories import pack, render_page

from tests.agents.http.browser import Browser, browser
from tests.agents.http.test_http import Site, site
from tests.agents.samples import CODE
from tests.processes import eventually
from tests.repositories.conftest import FILES, write_files

pytestmark = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="these are Debian's packages chromium and chromium-driver",
)
TOTAL = len(CODE.splitlines())
QUERY = "What does handler_30 write?"
POOL_QUERY = "What happens to waiting callers when the pool is closed?"
EVIL = "<img src=x onerror=alert(1)>\u202e</code><script>alert(2)</script>\x1b[31m\u200b"


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("root")
    write_files(folder / "pools", {**FILES, "src/evil<b>.py": f"pool = {EVIL!r}  # closed pool {EVIL}\n"})
    (folder / "pools" / ".git").mkdir()
    with site(root=folder) as started:
        yield started


@pytest.fixture
def page(opened: Browser, served: Site) -> Browser:
    """The page as it is at first."""
    opened.driver.get(served.url)
    opened.logs(), opened.requested()
    return opened


def shown_rows(page: Browser) -> list[str]:
    return page.all("#rows li:not(.gap) code")


def test_a_file_that_is_opened_is_shown_with_scores_and_reasons(
    page: Browser, served: Site, tmp_path: Path
) -> None:
    (tmp_path / "handlers.py").write_text(CODE, encoding="utf-8")
    page.fill(query=QUERY)
    page["open"].send_keys(str(tmp_path / "handlers.py"))
    page.shows("status", f"of {TOTAL} lines")
    _, answer, _ = served.post(
        "/v1/prune", {"query": QUERY, "code": CODE, "path": "handlers.py", "effort": "instant"}
    )
    rows = shown_rows(page)
    assert rows == [line or " " for line in CODE.splitlines()]
    reasons = page.all("#rows li:not(.gap) i")
    for number, said in enumerate(reasons, 1):
        why = answer["reasons"].get(str(number), "").replace("repair:", "+ ")
        assert said == f"{answer['line_scores'][number - 1]:.2f} {why}"
    assert page.run("return document.getElementById('text').textContent") == answer["text"]
    assert not page["source"].get_attribute("open")


def test_a_file_that_is_dropped_is_asked_about(page: Browser) -> None:
    page.fill(query=QUERY)
    script = """const data = new DataTransfer();
    data.items.add(new File([arguments[0]], 'dropped.py'));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))"""
    page.run(script, CODE)
    page.shows("status", f"of {TOTAL} lines")
    assert page["path"].get_attribute("value") == "dropped.py"


def test_dragging_the_budget_changes_the_text_and_late_answers_are_dropped(page: Browser) -> None:
    page.ask(query=QUERY, code=CODE, path="a.py")
    assert page["shown"].text == "no budget"
    # From here on, requests can't be called off, and the first answer comes late.
    page.run("""const real = window.fetch;
    window.sent = window.came = 0;
    window.fetch = async (path, { signal, ...options }) => {
      window.sent += 1;
      const late = window.sent === 1, got = await real(path, options);
      if (late) await new Promise((go) => { window.release = go; });
      window.came += 1;
      return got;
    }""")
    for place in range(90, 70, -1):
        page.drag(place)
    assert eventually(lambda: page.run("return Boolean(window.release)"))
    page.ask(query=f"{QUERY} ")
    asked = page["status"].text
    page.run("window.release()")
    assert eventually(lambda: page.run("return window.came") == 2)
    assert page.run("return window.sent") == 2
    assert page["status"].text == asked
    page.drag(40)
    assert eventually(lambda: page.run("return answer.tokens_out <= budget()"))
    assert page["shown"].text == f"{page.run('return budget()')} tokens"
    assert f"{page.run('return answer.tokens_out')} of" in page["status"].text
    assert page.run("return document.getElementById('text').textContent === answer.text")
    assert page["slider"].get_attribute("aria-valuetext") == page["shown"].text
    page["fold"].click()
    gaps = page.all(".gap button")
    assert gaps
    hidden = page.run("return items.filter((each) => each.hidden).length")
    assert hidden == TOTAL - len(page.run("return answer.kept_lines"))
    page.run("document.querySelector('.gap button').click()")
    assert page.run("return items.filter((each) => each.hidden).length") < hidden
    assert len(page.all(".gap button")) == len(gaps) - 1


def test_the_text_is_copied(page: Browser) -> None:
    page.ask(query=QUERY, code=CODE, path="a.py")
    page["copy"].click()
    page.shows("status", "Copied")
    text = page.run("return answer.text")
    page.run("document.getElementById('source').open = true; document.getElementById('code').value = ''")
    page["code"].send_keys("\ue009v")  # control and V
    assert eventually(lambda: page["code"].get_attribute("value") == text)


def test_errors_are_shown_and_go_again(page: Browser, served: Site) -> None:
    page.ask(query=QUERY)
    assert "no code yet" in page["error"].text
    page.ask(code="a = 1\0\n")
    assert "NUL" in page["error"].text
    page.ask(code=CODE)
    assert page["error"].text == ""
    page.run("window.fetch = () => Promise.reject(new TypeError('gone'))")
    page.ask()
    assert "Is lamr http still running?" in page["error"].text
    assert page["error"].get_attribute("role") == "alert"


def test_a_repository_is_shown_by_relevance_and_within_the_budget(page: Browser, served: Site) -> None:
    page["repository"].click()
    assert page.run("return [...document.querySelectorAll('#folders option')].map((each) => each.value)") == [
        "pools"
    ]
    page.ask(query=POOL_QUERY, folder="pools")
    assert page["error"].text == ""
    _, answer, _ = served.post("/v1/pack", {"query": POOL_QUERY, "folder": "pools", "max_tokens": 8000})
    names = page.all("#rows summary b")
    files = sorted(answer["files"], key=lambda each: -each["score"])
    assert names == [visible(each["path"]) for each in files]
    assert names[0] == "src/pool.py"
    assert "src/evil<b>.py" in names
    evil = names.index("src/evil<b>.py")
    page.run("document.querySelectorAll('#rows details')[arguments[0]].open = true", evil)
    assert eventually(
        lambda: any("<img" in each for each in page.all(f"#rows details:nth-child({evil + 1}) code"))
    )
    assert not page.all("#rows img, #rows script")
    before = page["text"].get_attribute("textContent")
    assert before == visible(answer["text"], lines=True)
    page.drag(0)
    page.shows("status", "of 1,000 tokens")
    assert page["text"].get_attribute("textContent") != before
    page.ask(folder="../..\u202e")
    assert "../..<202e> is no folder below the root" in page["error"].text


def test_what_cannot_be_seen_and_html_are_shown_as_text(page: Browser) -> None:
    unseen = "".join(
        map(chr, [*range(0x2FF), *range(0x600, 0x700), *range(0x1700, 0x1900), *range(0x2000, 0x2100)])
    )
    more = [
        0x2800,
        0x3164,
        0xFE00,
        0xFE0F,
        0xFEFF,
        0xFFA0,
        0xFFF9,
        0x1BCA0,
        0x1D173,
        0xE0001,
        0x1F600,
        0x200D,
        0x1F600,
    ]
    joined = f"{unseen}{''.join(map(chr, more))}a\u200db\u2764\ufe0f1\ufe0f\u20e3\r\nx\ty"
    assert page.run("return visible(arguments[0])", joined) == visible(joined, lines=True)
    code = f"x = 1  # {EVIL}\n".replace("\x1b", "")
    page.ask(query=f"What is x? {EVIL}", code=code, path=f"{EVIL}.py")
    assert shown_rows(page) == [visible(code.rstrip("\n"), lines=True)]
    assert not page.all("#rows img, #rows script")
    assert page.run("return window.alerted") is None


def test_the_policy_lets_nothing_foreign_in(page: Browser, served: Site) -> None:
    page.ask(query=QUERY, code=CODE, path="a.py")
    assert page.requested() <= {served.url}
    assert not page.logs()
    script = """const done = arguments[1], refused = new Set();
    document.addEventListener('securitypolicyviolation', (event) => {
      refused.add(event.effectiveDirective);
      if (refused.size === 4) done([...refused].sort());
    });
    const add = (tag, values) => document.body.append(Object.assign(document.createElement(tag), values));
    add('script', { src: arguments[0] + '/script.js' });
    add('script', { textContent: 'window.alerted = 1' });
    add('style', { textContent: 'body { color: red }' });
    add('img', { src: arguments[0] + '/image.png' });
    fetch(arguments[0]).catch(() => 0);"""
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        foreign.settimeout(0.5)
        refused = page.driver.execute_async_script(script, f"http://127.0.0.1:{foreign.getsockname()[1]}")
        with pytest.raises(TimeoutError):
            foreign.accept()
    assert refused == ["connect-src", "img-src", "script-src-elem", "style-src-elem"]
    assert page.run("return window.alerted") is None


def test_of_a_long_file_only_what_is_in_sight_is_laid_out(page: Browser) -> None:
    page.ask(
        query="Where is line 2500?", code="".join(f"line_{n} = {n}\n" for n in range(5_000)), path="a.py"
    )
    laid_out = "return items.map((each) => each.checkVisibility({ contentVisibilityAuto: true }))"
    first = page.run(laid_out)
    assert first[0]
    assert sum(first) < 1_000
    page.run("items.at(-1).scrollIntoView()")
    assert eventually(lambda: page.run(laid_out)[-1])
    assert sum(page.run(laid_out)) < 1_000


def test_it_is_usable_with_keys_and_narrow(page: Browser) -> None:
    page.ask(query=QUERY, code=CODE, path="a.py")
    assert page.run("return answer.threshold") is not None
    page["slider"].send_keys("\ue012")  # arrow to the left
    assert eventually(lambda: page.run("return answer.threshold === null"))
    for width in (360, 1280):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert page.run("return document.documentElement.scrollWidth") <= width
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    unnamed = """return [...document.querySelectorAll('input, select, textarea, button')].filter((each) =>
      !each.labels?.length && !each.ariaLabel && !each.textContent).map((each) => each.id)"""
    assert page.run(unnamed) == []
    assert page["status"].get_attribute("role") == "status"


def test_the_pages_of_commands_are_the_same_and_ask_nobody(opened: Browser, tmp_path: Path) -> None:
    write_files(tmp_path / "pools", FILES)
    made = pack(tmp_path / "pools", POOL_QUERY, 2_000)
    scores = [0.9 if "30" in line else 0.01 for line in CODE.splitlines()]
    kept = prune_lines(CODE, scores, path="a.py", answering=0.4).kept_lines
    pages = {
        "view": render_html(CODE, scores, path="a\u202e.py", query=EVIL, threshold=0.4),
        "pack": render_page(made),
    }
    opened.requested()
    for name, text in pages.items():
        file = tmp_path / f"{name}.html"
        file.write_text(text, encoding="utf-8")
        opened.driver.get(file.as_uri())
        assert opened["status"].text
        assert not opened.logs()
    assert opened.all("#rows summary b")[0] == made.files[0].path
    opened.driver.get((tmp_path / "view.html").as_uri())
    assert opened["shown"].text == "0.400"
    assert "a<202e>.py" in opened["about"].text
    assert [number for number, why in enumerate(opened.all("#rows i"), 1) if why[5:]] == list(kept)
    assert opened["status"].text == f"{len(kept)} of {TOTAL} lines"
    last = int(opened["slider"].get_attribute("max"))
    opened.drag(last)
    assert opened["status"].text == f"0 of {TOTAL} lines"
    assert opened.requested() <= {"file://"}


def test_without_a_root_no_repository_can_be_asked(opened: Browser) -> None:
    with site() as rootless:
        opened.driver.get(rootless.url)
        assert not opened["repository"].is_enabled()
        assert opened["repository"].get_attribute("title") == "Start lamr http with --root DIR."
