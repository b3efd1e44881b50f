"""The page of a running service in Chromium: search, filters, explanations, keyboard, accessibility.

Needs Chromium, its driver and Selenium; axe-core, for accessibility, is that of the package axe-playwright-python.
"""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.serve.conftest import TEAS

import termwise

BINARY = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
MISSING = [
    name
    for name, found in [
        ("chromium", BINARY),
        ("chromedriver", DRIVER),
        ("selenium", importlib.util.find_spec("selenium")),
    ]
    if not found
]
if MISSING:
    pytest.skip(f"THE PAGE IS NOT TESTED IN A BROWSER: no {', '.join(MISSING)}", allow_module_level=True)

from selenium import webdriver  # noqa: E402
from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

VIEWS = (
    "/",
    "/?q=green+tea&is.kind=green&max.price=50",
    "/?q=pepermint&fuzzy=1",
    "/?q=nothing",
    "/?all=1",
    "/?q=colour:red&is.kind=green",
    "/?like=sencha",
    "/indexes/shop/document?id=sencha&q=green+tea",
    "/indexes/shop",
    "/compare?q=green+tea&a=shop&b=other",
    "/docs",
    "/?page=x",
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start ``termwise serve`` with two indexes, and return its address."""
    folder = tmp_path_factory.mktemp("served")
    termwise.build_index(TEAS, folder / "shop.tw", store_text=True)
    termwise.build_index(TEAS, folder / "other.tw", model="jm", store_text=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-P", "-m", "termwise", "serve", "shop.tw", "other.tw", "--port", str(port)]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    base = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{base}/ready", process, folder / "log")
        yield base
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(url):
                return
        except OSError:
            assert process.poll() is None, log.read_text()
            time.sleep(0.2)
    raise AssertionError(f"the service did not start: {log.read_text()}")


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = BINARY or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def emulate(browser: webdriver.Chrome, width: int, scheme: str) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def console(browser: webdriver.Chrome) -> list[dict[str, Any]]:
    """Return the errors in the log of the browser: of scripts, missing files, and the security policy."""
    return [entry for entry in browser.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]


def shown_titles(browser: webdriver.Chrome) -> list[str]:
    return [each.text for each in browser.find_elements(By.CSS_SELECTOR, "h3")]


def wait(browser: webdriver.Chrome, condition: Callable[[webdriver.Chrome], object]) -> None:
    """Wait for a condition of the whole page; it can ask for elements of the page before."""
    waiting = WebDriverWait(browser, 60, ignored_exceptions=[StaleElementReferenceException])
    waiting.until(condition)
    waiting.until(lambda browser: browser.execute_script("return document.readyState") == "complete")


def test_a_person_searches_filters_and_asks_why(browser: webdriver.Chrome, address: str) -> None:
    emulate(browser, 1200, "light")
    browser.get(address)
    assert browser.switch_to.active_element.get_attribute("id") == "q"
    browser.switch_to.active_element.send_keys("te")
    wait(browser, lambda browser: browser.find_elements(By.CSS_SELECTOR, "#completions option[value=tea]"))
    browser.switch_to.active_element.send_keys("a", Keys.ENTER)
    wait(browser, lambda browser: len(shown_titles(browser)) == 4)
    assert "min.price" not in browser.current_url, "empty inputs are not sent"

    browser.find_element(By.CSS_SELECTOR, 'input[name="is.kind"][value="green"]').click()
    wait(browser, lambda browser: len(shown_titles(browser)) == 2)
    assert "is.kind=green" in browser.current_url

    details = browser.find_element(By.CSS_SELECTOR, ".because")
    table = details.find_element(By.TAG_NAME, "table")
    assert not table.is_displayed()
    details.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    assert table.is_displayed()
    *rows, total = [float(each.text) for each in table.find_elements(By.CSS_SELECTOR, "td.num")]
    assert sum(rows) == pytest.approx(total, abs=1e-9)
    bar = table.find_element(By.CSS_SELECTOR, "rect.exact").rect
    assert bar["width"] > 50

    browser.find_element(By.CSS_SELECTOR, "h3 a").click()
    wait(browser, lambda browser: browser.find_elements(By.CSS_SELECTOR, ".text mark"))
    browser.find_element(By.LINK_TEXT, "More like this").click()
    wait(browser, lambda browser: "Documents like" in browser.page_source)
    assert not console(browser)


def test_words_are_cleared_and_filters_stay(browser: webdriver.Chrome, address: str) -> None:
    emulate(browser, 1200, "light")
    browser.get(f"{address}/?q=tea&is.kind=green")
    box = browser.find_element(By.ID, "q")
    box.clear()
    box.send_keys(Keys.ENTER)
    wait(browser, lambda browser: "2 documents" in browser.find_element(By.ID, "found").text)
    assert len(shown_titles(browser)) == 2
    browser.find_element(By.CSS_SELECTOR, 'input[name="is.kind"][value="green"]').click()
    wait(browser, lambda browser: "5 documents" in browser.find_element(By.ID, "found").text)
    assert not console(browser)


@pytest.mark.parametrize("width", [1200, 390])
def test_lines_join_the_rows_of_the_same_document(
    browser: webdriver.Chrome, address: str, width: int
) -> None:
    emulate(browser, width, "light")
    browser.get(f"{address}/compare?q=green+tea&a=shop&b=other")
    lists = [
        {row.find_element(By.TAG_NAME, "bdi").text: row.rect for row in side.find_elements(By.TAG_NAME, "li")}
        for side in browser.find_elements(By.CSS_SELECTOR, ".ranking")
    ]
    lines = [path.rect for path in browser.find_elements(By.CSS_SELECTOR, ".lines path")]
    assert len(lines) == len(lists[0]) == 4
    for (name, row), line in zip(lists[0].items(), lines, strict=True):
        middles = sorted(each["y"] + each["height"] / 2 for each in (row, lists[1][name]))
        assert line["y"] == pytest.approx(middles[0], abs=2)
        assert line["y"] + line["height"] == pytest.approx(middles[1], abs=2)


def test_the_page_works_without_script(browser: webdriver.Chrome, address: str) -> None:
    emulate(browser, 1200, "light")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(f"{address}/?q=tea")
        browser.find_element(By.CSS_SELECTOR, 'input[name="is.kind"][value="green"]').click()
        browser.find_element(By.CSS_SELECTOR, "button.apply").click()
        wait(browser, lambda browser: len(shown_titles(browser)) == 2)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("width", [1200, 390])
def test_no_view_is_wider_than_the_screen(browser: webdriver.Chrome, address: str, width: int) -> None:
    emulate(browser, width, "light")
    console(browser)
    for view in VIEWS:
        browser.get(address + view)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, view
        failed = [entry for entry in console(browser) if "400 (Bad Request)" not in entry["message"]]
        assert not failed, view


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_axe_finds_nothing_serious(browser: webdriver.Chrome, address: str, width: int, scheme: str) -> None:
    script = _axe()
    emulate(browser, width, scheme)
    for view in VIEWS:
        browser.get(address + view)
        browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
        browser.execute_script(script)
        found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
        serious = [
            (violation["id"], [node["html"][:200] for node in violation["nodes"]])
            for violation in found["violations"]
            if violation["impact"] in ("serious", "critical")
        ]
        assert not serious, view


def _axe() -> str:
    package = importlib.util.find_spec("axe_playwright_python")
    if package is None or package.origin is None:
        pytest.skip("ACCESSIBILITY IS NOT TESTED: axe-playwright-python is not installed: scripts/setup dev")
    return Path(package.origin).with_name("axe.min.js").read_text()
