"""Debian's Chromium, driven by selenium, which downloads nothing.

`python -m tests.agents.http.browser` makes the page's pictures in docs/images and says how soon scores are shown.
"""

import io
import json
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.processes import eventually

SECONDS = 60  # for whatever the page does
FLAGS = (
    *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-dev-shm-usage"),
    *("disable-background-networking", "disable-component-update", "disable-sync", "no-proxy-server"),
    "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
ROOT = Path(__file__).resolve().parents[3]


class Browser:
    """A page in a browser; elements go by their ids."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def __getitem__(self, name: str) -> WebElement:
        return self.driver.find_element(By.ID, name)

    def run(self, script: str, *values: Any) -> Any:
        """What a script returns; the page's policy doesn't hold for it."""
        return self.driver.execute_script(script, *values)

    def all(self, selector: str) -> list[str]:
        """The texts of all elements that fit, also of those out of sight."""
        script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)"
        return list(self.run(script, selector))

    def shows(self, name: str, words: str) -> None:
        """Wait until an element's text has these words."""
        found = eventually(lambda: words in self[name].get_attribute("textContent"), SECONDS)
        assert found, (name, self[name].get_attribute("textContent"), self["error"].text, self.logs())

    def fill(self, **values: str) -> None:
        """Put texts into fields, at once instead of key by key."""
        for name, value in values.items():
            self.run("document.getElementById(arguments[0]).value = arguments[1]", name, value)

    def ask(self, **values: str) -> None:
        """Fill the fields, ask, and wait for an answer or an error."""
        self.fill(**values)
        self.run("document.getElementById('status').textContent = ''")
        self["ask"].click()
        assert eventually(
            lambda: self["status"].get_attribute("textContent") or self["error"].text, SECONDS
        ), self.logs()

    def drag(self, place: int) -> None:
        """Drag the slider."""
        script = "slider.value = arguments[0]; slider.dispatchEvent(new Event('input'))"
        self.run(script, place)

    def logs(self) -> list[str]:
        """The console's messages that came since this was asked last."""
        return [each["message"] for each in self.driver.get_log("browser")]

    def requested(self) -> set[str]:
        """The origins that were asked since this was asked last."""
        events = [json.loads(each["message"])["message"] for each in self.driver.get_log("performance")]
        urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return {
            "{0.scheme}://{0.netloc}".format(urlsplit(url)) for url in urls if not url.startswith("data:")
        }


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with an empty profile."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"user-data-dir={profile}"):
            options.add_argument(f"--{flag}")
        driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        try:
            driver.set_page_load_timeout(SECONDS)
            driver.set_script_timeout(SECONDS)
            yield Browser(driver)
        finally:
            driver.quit()


FIRST_SCORE = """
const done = arguments[0], begin = performance.now();
document.getElementById('rows').replaceChildren();
shownCode = null;
new MutationObserver((_, watch) => {
  if (!document.querySelector('#rows i:not(:empty)')) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));
}).observe(document.getElementById('rows'), { childList: true, subtree: true });
document.getElementById('form').requestSubmit();
"""  # until they are painted


def first_scores(page: Browser, times: int = 15) -> list[float]:
    """Milliseconds from asking until scores are painted, of the question and code that the page holds."""
    return [page.driver.execute_async_script(FIRST_SCORE) for _ in range(times)]


def _pictures(page: Browser, url: str) -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "client").rglob("*.py")))
    page.driver.get(url)
    page.ask(
        query="Where is a request repeated?", code="".join(code.splitlines(True)[:2000]), path="client.py"
    )
    took = first_scores(page)
    print(f"first score of 2,000 lines: {statistics.median(took):.0f} ms, {min(took):.0f} to {max(took):.0f}")
    code = (ROOT / "client/lamr_client/deadline.py").read_text(encoding="utf-8")
    for name, width, dark in (("light", 1120, False), ("dark", 1120, True), ("narrow", 360, False)):
        scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        size = {"width": width, "height": 640, "deviceScaleFactor": 1, "mobile": False}
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        page.driver.get(url)
        if dark:
            page["repository"].click()
            page.ask(query="Where is a request repeated?", folder="")
        else:
            page.ask(query="How long is waited before a request is repeated?", code=code, path="deadline.py")
            page.drag(62)
            page["fold"].click()
            assert eventually(lambda: page.run("return answer.tokens_out <= budget()"))
        picture = Image.open(io.BytesIO(page.driver.get_screenshot_as_png()))
        picture.quantize(256).save(ROOT / f"docs/images/page-{name}.png", optimize=True)


if __name__ == "__main__":
    from tests.agents.http.test_http import site

    with site(root=ROOT / "client") as served, browser() as own:
        _pictures(own, served.url)
