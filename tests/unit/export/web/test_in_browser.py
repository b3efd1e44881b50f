"""The search box in Chromium: results, keyboard, filters, errors, safety and accessibility.

Needs Chromium, its driver and Selenium; axe-core, for accessibility, is that of the package axe-playwright-python.
"""

from __future__ import annotations

import importlib.util
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.unit.export.web.conftest import PAGES, URL, exported, first_documents, questions

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
    pytest.skip(
        f"THE SEARCH BOX IS NOT TESTED IN A BROWSER: no {', '.join(MISSING)}", allow_module_level=True
    )

from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'"
"""Content security policy of all pages: nothing but files of the site."""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>A page</title></head>
<body><main><h1>A page</h1>{box}</main></body></html>
"""


class Site:
    """A folder that is served under ``/a/site/``, and the requests that came."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "a" / "site"
        self.folder.mkdir(parents=True)
        self.requests: list[str] = []
        site = self

        class Handler(SimpleHTTPRequestHandler):
            def end_headers(self) -> None:
                self.send_header("Content-Security-Policy", POLICY)
                self.send_header("Cache-Control", "no-cache")
                super().end_headers()

            def log_request(self, code: Any = "-", size: Any = "-") -> None:
                site.requests.append(f"{self.path} {int(code)}")

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(root)))
        self.address = f"http://127.0.0.1:{self.server.server_port}/a/site"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def page(self, path: str, box: str) -> str:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PAGE.format(box=box))
        return f"{self.address}/{path}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve two searches: ``search`` over pages with attributes, and ``python`` over the documentation of Python."""
    folder = tmp_path_factory.mktemp("site")
    site = Site(folder / "root")
    termwise.build_index(PAGES, folder / "pages.tw", model="bm25", store_text=True, attributes="all")
    exported(folder / "pages.tw", site.folder / "search")
    termwise.build_index(first_documents(3000), folder / "python.tw", model="bm25", store_text=True)
    exported(folder / "python.tw", site.folder / "python", url=URL)
    yield site
    site.server.shutdown()
    site.server.server_close()


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


class Box:
    """The search box of the page that a browser shows."""

    def __init__(self, browser: webdriver.Chrome, address: str) -> None:
        self.browser = browser
        browser.get("about:blank")
        browser.get_log("browser")
        browser.get(address)
        self.root = self.wait(lambda: browser.find_element(By.CSS_SELECTOR, "termwise-search").shadow_root)

    def wait(self, condition: Callable[[], Any]) -> Any:
        return WebDriverWait(self.browser, 30, ignored_exceptions=[Exception]).until(lambda _: condition())

    def all(self, selector: str) -> list[Any]:
        return self.root.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> Any:
        return self.root.find_element(By.CSS_SELECTOR, selector)

    def type(self, *keys: str) -> None:
        self.one("input[type=search]").send_keys(*keys)

    def search(self, text: str) -> None:
        box = self.one("input[type=search]")
        box.clear()
        self.browser.execute_script("arguments[0].querySelector('[role=status]').textContent = ''", self.root)
        box.send_keys(text, Keys.ENTER)
        self.wait(lambda: self.status)

    @property
    def status(self) -> str:
        return str(self.one("[role=status]").text)

    @property
    def titles(self) -> list[str]:
        return [each.text for each in self.all("ol > li > :first-child")]

    @property
    def links(self) -> list[str]:
        return [each.get_attribute("href") for each in self.all("ol > li > a")]

    def focused(self) -> str:
        script = "const e = arguments[0].activeElement; return e ? e.tagName + ' ' + e.textContent : ''"
        return str(self.browser.execute_script(script, self.root))

    def no_errors(self) -> None:
        logged = [each for each in self.browser.get_log("browser") if "favicon" not in each["message"]]
        assert not [each for each in logged if each["level"] in ("WARNING", "SEVERE")]


ONE_LINE = '<script type="module" src="{}search/termwise-search.js"></script>'
PYTHON = '<script type="module" src="python/termwise-search.js"></script>'


def test_results_are_those_of_termwise_at_any_depth_of_the_site(
    browser: webdriver.Chrome, site: Site
) -> None:
    searcher = termwise.open(site.folder.parents[2] / "pages.tw")
    for path, up in (("index.html", ""), ("one/two/page.html", "../../")):
        site.requests.clear()
        box = Box(browser, site.page(path, ONE_LINE.format(up)))
        box.search("merge sorted lists")
        expected = searcher.rank("merge sorted lists", k=10).doc_ids
        box.wait(lambda: len(box.titles) == len(expected))  # noqa: B023
        assert box.status == f"{len(expected)} results."
        assert box.links[0] == f"{site.address}/{expected[0]}"
        assert all(request.startswith(("/a/site/", "/favicon")) for request in site.requests)
        assert {request.split()[0].split("/")[3] for request in site.requests if "search" in request} == {
            "search"
        }
        box.no_errors()


def test_many_queries_have_the_scores_of_termwise(browser: webdriver.Chrome, site: Site) -> None:
    searcher = termwise.open(site.folder.parents[2] / "python.tw")
    box = Box(browser, site.page("python.html", PYTHON))
    script = """
        const [texts, done] = arguments;
        const box = document.querySelector("termwise-search");
        (async () => {
            await (box.opening ??= box.open());
            const answers = [];
            for (const text of texts) {
                answers.push(await new Promise((resolve) => {
                    box.worker.onmessage = ({ data }) => resolve(data);
                    const options = { k: 10, fuzzy: false };
                    box.worker.postMessage({ id: answers.length, manifest: box.manifest, text, options });
                }));
            }
            done(answers);
        })();
    """
    texts = questions(60)
    browser.set_script_timeout(120)
    answers = browser.execute_async_script(script, texts)
    for text, answer in zip(texts, answers, strict=True):
        expected = searcher.rank(text, k=10)
        found = [searcher.index.doc_id(each["document"]) for each in answer["results"]]
        assert found == list(expected.doc_ids), text
        assert [each["score"] for each in answer["results"]] == list(expected.scores), text
    box.no_errors()


def test_a_person_types_corrects_and_asks_why(browser: webdriver.Chrome, site: Site) -> None:
    box = Box(browser, site.page("python.html", PYTHON))
    box.type("decode byt")
    box.wait(lambda: any("decode bytes" in each.text for each in box.all("[role=group] button")))
    next(each for each in box.all("[role=group] button") if each.text == "decode bytes").click()
    box.wait(lambda: box.titles)
    assert "q=decode+bytes" in browser.current_url
    box.search("encodng of a strng")
    box.wait(lambda: "encoding" in box.status)
    assert "No document has “encodng”: “encoding” is searched for." in box.status
    assert box.all("mark")
    box.one("ol summary").click()
    box.wait(lambda: box.all("ol table"))
    *shares, total = [float(each.text) for each in box.all("ol table td:last-child")]
    assert sum(shares) == pytest.approx(total, abs=0.003)
    assert "resembles encodng" in box.one("ol table").text
    box.all(".panel > button")[-1].click()
    box.wait(lambda: len(box.titles) == 20)
    browser.get(browser.current_url)
    box.root = box.wait(lambda: browser.find_element(By.CSS_SELECTOR, "termwise-search").shadow_root)
    box.wait(lambda: len(box.titles) == 10)
    box.no_errors()


def test_more_results_are_offered_once_there_are_some(browser: webdriver.Chrome, site: Site) -> None:
    box = Box(browser, site.page("python.html", PYTHON))
    script = """
        const [root, done] = arguments;
        const [panel, more] = [root.querySelector(".panel"), root.querySelector(".panel > button")];
        const seen = [];
        new MutationObserver(() => panel.hidden || seen.push(more.hidden)).observe(panel, { attributes: true });
        const wait = () => (root.querySelector("li") ? done([...seen, more.hidden]) : setTimeout(wait, 20));
        root.querySelector("input").value = "list";
        root.querySelector("form").requestSubmit();
        wait();
    """
    assert browser.execute_async_script(script, box.root) == [True, False]


def test_the_keyboard_is_enough(browser: webdriver.Chrome, site: Site) -> None:
    box = Box(browser, site.page("index.html", ONE_LINE.format("")))
    browser.find_element(By.TAG_NAME, "body").send_keys("/")
    assert box.focused().startswith("INPUT")
    box.search("lists")
    box.wait(lambda: len(box.titles) > 2)
    active = browser.switch_to.active_element
    active.send_keys(Keys.ARROW_DOWN)
    assert box.focused() == f"A {box.titles[0]}"
    active.send_keys(Keys.ARROW_DOWN)
    assert box.focused() == f"A {box.titles[1]}"
    active.send_keys(Keys.ARROW_UP)
    active.send_keys(Keys.ESCAPE)
    assert box.focused().startswith("INPUT")
    active.send_keys(Keys.ESCAPE)
    assert not box.one(".panel").is_displayed()
    box.no_errors()


def test_filters_narrow_the_results_and_count_them(browser: webdriver.Chrome, site: Site) -> None:
    box = Box(browser, site.page("index.html", ONE_LINE.format("")))
    box.search("lists")
    box.wait(lambda: len(box.titles) == 5)
    box.one(".panel > details > summary").click()
    labels = box.all("fieldset[data-field=section] label")
    box.wait(lambda: all("(" in each.text for each in labels))
    assert [each.text.strip() for each in labels] == ["guide (2)", "api (1)", "api <b>& (1)"]
    labels[0].find_element(By.TAG_NAME, "input").click()
    box.wait(lambda: len(box.titles) == 2)
    assert [each.text.strip() for each in labels] == ["guide (2)", "api (1)", "api <b>& (1)"]
    years = box.all("fieldset[data-field=year] input")
    years[0].send_keys("2022", Keys.TAB)
    box.wait(lambda: len(box.titles) == 1)
    assert box.titles == ["Heaps"]
    labels[0].find_element(By.TAG_NAME, "input").click()
    box.wait(lambda: len(box.titles) == 3)
    box.no_errors()


def test_markup_in_documents_is_text(browser: webdriver.Chrome, site: Site) -> None:
    box = Box(browser, site.page("index.html", ONE_LINE.format("")))
    box.search("<b>merge</b> lists")
    box.wait(lambda: any("onerror" in title for title in box.titles))
    assert "<script>window.broken=1</script>" in box.one("ol").text
    assert not box.all("ol img, ol script, ol i, ol b")
    assert browser.execute_script("return window.broken") is None
    assert "?a=1&b=2" in " ".join(box.links)
    box.no_errors()


def test_a_missing_file_is_reported_and_read_again(browser: webdriver.Chrome, site: Site) -> None:
    hidden = [
        (path, path.with_name(f"hidden-{path.name}")) for path in (site.folder / "search").glob("documents-*")
    ]
    for path, other in hidden:
        path.rename(other)
    box = Box(browser, site.page("index.html", ONE_LINE.format("")))
    box.type("lists", Keys.ENTER)
    box.wait(lambda: "404" in box.one("[role=alert]").text)
    assert hidden[0][0].name in box.one("[role=alert]").text
    for path, other in hidden:
        other.rename(path)
    box.one("[role=alert] button").click()
    box.wait(lambda: len(box.titles) == 5)
    assert box.one("[role=alert]").text == ""


def test_a_damaged_file_is_reported(browser: webdriver.Chrome, site: Site) -> None:
    (path,) = (site.folder / "search").glob("index-*")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    box = Box(browser, site.page("index.html", ONE_LINE.format("")))
    box.type("lists", Keys.ENTER)
    box.wait(lambda: "damaged" in box.one("[role=alert]").text)
    path.write_bytes(data)
    box.one("[role=alert] button").click()
    box.wait(lambda: len(box.titles) == 5)


def test_a_box_in_a_pop_up_closes(browser: webdriver.Chrome, site: Site) -> None:
    element = '<termwise-search popup label="Find" results="2"></termwise-search><a href="#x">after</a>'
    box = Box(browser, site.page("popup.html", element + ONE_LINE.format("")))
    box.search("lists")
    box.wait(lambda: len(box.titles) == 2)
    assert "q=" not in browser.current_url
    browser.execute_script("document.querySelector('main > a').focus()")
    box.wait(lambda: not box.one(".panel").is_displayed())
    assert len(browser.find_elements(By.CSS_SELECTOR, "termwise-search")) == 1


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (360, "dark")])
def test_axe_finds_nothing_serious_on_a_desk_and_a_phone(
    browser: webdriver.Chrome, site: Site, width: int, scheme: str
) -> None:
    package = importlib.util.find_spec("axe_playwright_python")
    if package is None or package.origin is None:
        pytest.skip("ACCESSIBILITY IS NOT TESTED: axe-playwright-python is not installed: scripts/setup dev")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    for element in ("", "<termwise-search popup></termwise-search>"):
        box = Box(browser, site.page("axe.html", element + ONE_LINE.format("")))
        box.search("merge lists")
        box.wait(lambda: len(box.titles) >= 5)  # noqa: B023
        box.one(".panel > details > summary").click()  # which searches again
        box.wait(lambda: "(" in box.one("fieldset[data-field=section] label").text)  # noqa: B023
        box.one("ol summary").click()
        box.wait(lambda: box.all("table"))  # noqa: B023
        # Selenium runs scripts outside the policy of the page.
        browser.execute_script(Path(package.origin).with_name("axe.min.js").read_text())
        found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
        serious = [
            (violation["id"], [(node["html"][:200], node["failureSummary"]) for node in violation["nodes"]])
            for violation in found["violations"]
            if violation["impact"] in ("serious", "critical")
        ]
        assert not serious
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
