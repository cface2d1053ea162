"""The page in a headless browser: drawings, colours, widths, and use by keyboard alone."""
import json

import pytest

from chromium import chromium  # skips this file where there is no browser
from conftest import NASTY, Reporter
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

CHARTS = ["roofline", "gains", "bounds", "search", "waves", "map", "boundary", "factors", "calibration"]
PHONE = 360


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of this file; it opens local files only."""
    with chromium("--disable-gpu") as driver:
        yield driver


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A machine with two devices, of which one is untuned."""
    rooftile = Reporter(tmp_path_factory.mktemp("page"))
    rooftile.simulate("--name", NASTY)
    rooftile.simulate("--name", "Another GPU", "--uuid", "other", "--problems", 0, "--calibrations", 0)
    rooftile.run("report", "--html", "report.html")
    return rooftile.folder / "report.html"


def show(browser, path, width=1200, scheme="light"):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.get(path.as_uri())


def inked(browser, chart):
    """Counts the pixels of a chart that are not transparent."""
    return browser.execute_script("""
        const canvas = document.querySelector(`[data-chart="${arguments[0]}"] canvas`);
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        let count = 0;
        for (let i = 3; i < pixels.length; i += 4) count += pixels[i] > 0;
        return count;""", chart)


def data(browser):
    return json.loads(browser.execute_script("return document.getElementById('data').textContent"))


def assert_silent(browser):
    assert browser.get_log("browser") == []


def test_every_chart_is_drawn_without_an_error(browser, page):
    show(browser, page)
    for chart in CHARTS:
        assert inked(browser, chart) > 2000, chart
    assert_silent(browser)


def test_roofline_has_a_dot_for_each_winner_and_level(browser, page):
    show(browser, page)
    [device, _] = data(browser)["devices"]
    wanted = {level["level"]: 0 for level in device["roofs"]["levels"]}
    for problem in device["problems"]:
        for level in problem["levels"]:
            wanted[level["level"]] += 1
    assert set(wanted) == {"memory", "cache2", "cache", "shared", "link"} and wanted["memory"] == 6
    drawn = browser.execute_script("""
        const chart = charts.roofline;
        return chart.data.datasets.map((set, i) => [set.type, set.label, chart.getDatasetMeta(i).data
          .filter((dot) => dot.x > chart.chartArea.left && dot.x < chart.chartArea.right &&
                           dot.y > chart.chartArea.top && dot.y < chart.chartArea.bottom).length]);""")
    assert {label: dots for kind, label, dots in drawn if kind == "scatter"} == wanted
    lines = [label for kind, label, _ in drawn if kind == "line"]
    assert len(lines) == 6  # five levels and one peak rate
    assert any(line.startswith("cache level 2 ") for line in lines)
    assert_silent(browser)


def test_bars_curves_and_cells_are_as_many_as_the_data(browser, page):
    show(browser, page)
    [device, _] = data(browser)["devices"]
    counts = browser.execute_script(
        "return Object.fromEntries(Object.entries(charts).map(([name, chart]) => [name, chart.data.datasets.map((d) => d.data.length)]))")
    problems = len(device["problems"])
    assert counts["gains"] == [problems] * 3 and counts["waves"] == [problems] * 2
    assert counts["search"] == [len(s["steps"]) + 1 for s in device["searches"]]
    assert counts["map"] == [14] * 14
    assert counts["factors"] == [8]
    assert counts["calibration"] == [len(device["calibration"])] * 2
    assert counts["bounds"] == [1 + sum(b["ns"] > 0 for b in device["problems"][0]["bounds"])]


def test_names_of_devices_are_text(browser, page):
    show(browser, page)
    assert NASTY in browser.find_element(By.ID, "cards").text
    options = [option.text for option in Select(browser.find_element(By.ID, "device")).options]
    assert options == [f"{NASTY} (driver 1)", "Another GPU (driver 1)"]
    assert browser.execute_script("return document.scripts.length") == 3  # The database adds no script.
    assert_silent(browser)


def test_a_device_of_which_nothing_is_known(browser, page):
    show(browser, page)
    Select(browser.find_element(By.ID, "device")).select_by_visible_text("Another GPU (driver 1)")
    notices = browser.find_element(By.ID, "notices").text
    assert "Not calibrated" in notices and "No certified kernel" in notices
    assert browser.execute_script("return Object.keys(charts)") == []
    assert len(browser.find_elements(By.CSS_SELECTOR, ".empty")) == len(CHARTS)
    assert_silent(browser)


def test_a_database_without_a_device(browser, tmp_path):
    rooftile = Reporter(tmp_path)
    rooftile.simulate("--empty")
    rooftile.run("report", "--html", "report.html")
    show(browser, tmp_path / "report.html")
    assert "No device in this database yet" in browser.find_element(By.ID, "notices").text
    assert_silent(browser)


def luminance(colour):
    red, green, blue = (int(part) for part in colour[colour.index("(") + 1:-1].split(",")[:3])
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def test_dark_and_light_follow_the_system(browser, page):
    for scheme, darker in (("light", False), ("dark", True)):
        show(browser, page, scheme=scheme)
        ground, ink = (browser.execute_script(f"return getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
        assert (luminance(ground) < luminance(ink)) == darker
        assert (browser.execute_script("return charts.gains.options.color")
                == browser.execute_script("return getComputedStyle(document.documentElement).getPropertyValue('--muted').trim()"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]})
    drawn_again = WebDriverWait(browser, 10, poll_frequency=0.02)  # The page is not reloaded.
    drawn_again.until(lambda _: browser.execute_script("return charts.gains.options.color") == "#5b6678")
    assert_silent(browser)


def test_paper_is_white(browser, page):
    """Pages are printed in light colours, also in the dark colour scheme."""
    show(browser, page, scheme="dark")
    def grounds():
        return [browser.execute_script("return getComputedStyle(document.documentElement).getPropertyValue('--page').trim()"),
                browser.execute_script("return charts.waves.options.color")]
    dark = grounds()
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert grounds() == ["#f6f7f9", "#5b6678"]
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert grounds() == dark == ["#10141b", "#9aa7ba"]
    assert_silent(browser)


@pytest.mark.parametrize("width", [PHONE, 1200])
def test_nothing_overflows_the_page(browser, page, width):
    show(browser, page, width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    wide = browser.execute_script("""
        return [...document.querySelectorAll("body *")].filter((e) => !e.closest(".table, .skip, .spoken, noscript, select, script") &&
          e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.outerHTML.slice(0, 80))""")
    assert wide == []
    for details in browser.find_elements(By.TAG_NAME, "summary"):
        browser.execute_script("arguments[0].click()", details)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_keyboard_reaches_everything(browser, page):
    show(browser, page)
    reached = []
    for _ in range(120):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(browser.execute_script("""
            const e = document.activeElement, chart = e.closest("[data-chart]");
            return chart ? `${chart.dataset.chart} ${e.tagName}` : e.id || e.getAttribute("href") || e.type"""))
        if reached.count("calibration SUMMARY"):
            break
    for chart in CHARTS:
        assert f"{chart} CANVAS" in reached and f"{chart} SUMMARY" in reached, reached
    for control in ("device", "problem-select", "search-select", "search-axis", "map-class", "map-depth", "map-colour", "boundary-class",
                    "boundary-depth", "boundary-size", "problem-levels", "problem-ranked", "checkbox", "#main", "#roofline"):
        assert control in reached, control


def test_arrow_keys_read_a_chart(browser, page):
    show(browser, page)
    for chart in CHARTS:
        canvas = browser.find_element(By.CSS_SELECTOR, f'[data-chart="{chart}"] canvas')
        canvas.send_keys(Keys.ARROW_RIGHT)
        first = browser.find_element(By.ID, "spoken").get_attribute("textContent")
        canvas.send_keys(Keys.ARROW_RIGHT)
        second = browser.find_element(By.ID, "spoken").get_attribute("textContent")
        assert first and second and first != second, chart
        assert browser.execute_script("return charts[arguments[0]].tooltip.opacity", chart) > 0
    assert_silent(browser)


def test_enter_on_a_dot_shows_its_problem(browser, page):
    show(browser, page)
    canvas = browser.find_element(By.CSS_SELECTOR, '[data-chart="roofline"] canvas')
    for _ in range(3):
        canvas.send_keys(Keys.ARROW_RIGHT)
    canvas.send_keys(Keys.ENTER)
    assert Select(browser.find_element(By.ID, "problem-select")).first_selected_option.get_attribute("value") == "2"
    kernel = data(browser)["devices"][0]["problems"][2]["kernel"]
    assert kernel in browser.find_element(By.ID, "problem-text").text


def test_controls_change_what_is_drawn(browser, page):
    show(browser, page)
    browser.find_element(By.CSS_SELECTOR, "#roofline-levels input").click()
    assert "memory" not in browser.execute_script("return charts.roofline.data.datasets.map((d) => d.label)")
    Select(browser.find_element(By.ID, "map-class")).select_by_value("1")
    Select(browser.find_element(By.ID, "map-colour")).select_by_value("score")
    assert "host" in browser.find_element(By.ID, "map-legend").text
    before = browser.find_element(By.ID, "boundary-text").text
    browser.find_element(By.ID, "boundary-size").send_keys(Keys.HOME)
    after = browser.find_element(By.ID, "boundary-text").text
    assert after != before and after.startswith("1×1×1: host")
    values = browser.execute_script("return charts.factors.data.datasets[0].data")
    product = 1
    for value in values[:7]:
        product *= value
    assert product == pytest.approx(values[7], rel=1e-3)
    Select(browser.find_element(By.ID, "search-select")).select_by_value("0")
    assert browser.execute_script("return charts.search.data.datasets.length") == 1
    assert_silent(browser)


def test_counters_are_a_table_where_there_are_any(browser, page, tmp_path):
    def tables():
        return [t.text for t in browser.find_elements(By.CSS_SELECTOR, "#problem-levels table")]
    show(browser, page)
    assert len(tables()) == 1 and "counted" not in tables()[0]
    rooftile = Reporter(tmp_path)
    rooftile.simulate("--problems", 1, "--counters", 25)
    rooftile.run("report", "--html", "report.html")
    show(browser, tmp_path / "report.html")
    levels, counters = tables()
    assert "counted" in levels and "modelled" in levels
    assert "VRAM read size" in counters and "<b>Counter</b> 19 Memory 12.5 percent" in counters
    assert "5 more" in counters and "Counter</b> 20" not in counters
    assert_silent(browser)


def test_every_chart_has_its_table(browser, page):
    show(browser, page)
    tables = browser.execute_script("""
        return Object.fromEntries([...document.querySelectorAll("[data-chart]")].map((place) =>
          [place.dataset.chart, place.querySelectorAll("details tbody tr").length]))""")
    assert set(tables) == set(CHARTS) and min(tables.values()) >= 3, tables
    ragged = browser.execute_script("""
        return [...document.querySelectorAll("table")].filter((t) => [...t.rows].some((row) => row.cells.length !== t.rows[0].cells.length))
          .map((t) => t.getAttribute("aria-label"))""")
    assert ragged == []
