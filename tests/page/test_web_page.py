"""The page in Chromium, on its software adapter: a search with a reload in its middle, its results, and their import."""
import json
import os
import pathlib
import signal
import subprocess

import pytest

from chromium import chromium  # skips this file where there is no browser
from conftest import PROGRAM, need_assets, rooftile
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE_S = 200


@pytest.fixture(scope="module")
def address():
    need_assets()
    server = subprocess.Popen([PROGRAM, "web", "--serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().split()[0]
    finally:
        server.terminate()
        assert server.wait(timeout=30) == 0


@pytest.fixture(scope="module")
def browser():
    need_assets()
    with chromium("--enable-unsafe-webgpu") as driver:
        yield driver


def text(browser, identity):
    return browser.execute_script("return document.getElementById(arguments[0])?.textContent ?? ''", identity)


def wait(browser, condition, what):
    WebDriverWait(browser, PATIENCE_S, poll_frequency=0.1).until(lambda _: condition(), what)


def measured(browser):
    shown = text(browser, "figure-kernels").split(" of ")[0]
    return int(shown.replace(",", "")) if shown else 0


def fill(browser, **values):
    for name, value in values.items():
        field = browser.find_element(By.ID, name)
        field.clear()
        field.send_keys(str(value))


# Delays of a timer that the main thread owes are how long it was blocked.
WATCH = """
  window.blocked = 0;
  let last = performance.now();
  setInterval(() => { const now = performance.now(); window.blocked = Math.max(window.blocked, now - last - 20); last = now; }, 20);
"""


def start(browser, **values):
    """Starts a search that lasts until stop(), however slow the machine is, unless a budget is among the values."""
    fill(browser, **{"budget": 300, **values})
    browser.find_element(By.ID, "start").click()


def stop(browser):
    browser.find_element(By.ID, "stop").click()


def assert_silent(browser):
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.fixture(scope="module")
def exported(browser, address):
    """The whole journey: start, reload in the middle, stop, start again until the budget is spent, export."""
    browser.get(address)
    wait(browser, lambda: browser.find_element(By.ID, "start").is_enabled(), "an adapter")
    browser.execute_script(WATCH)
    start(browser, m=256, n=256, k=256)
    wait(browser, lambda: measured(browser) >= 1, "a measured kernel")
    before = measured(browser)
    browser.refresh()
    wait(browser, lambda: measured(browser) >= before, "the measurements of before the reload")
    stop(browser)
    wait(browser, lambda: text(browser, "phase").startswith("Stopped."), "the end after Stop")
    start(browser, budget=2)
    wait(browser, lambda: text(browser, "phase").startswith("Finished."), "the end of the budget")
    return json.loads(browser.execute_script("return JSON.stringify(rooftile.exported())"))


def test_a_search_survives_a_reload_and_ends_with_a_certified_winner(browser, exported):
    assert "software adapter" in text(browser, "adapter")
    (problem,) = exported["problems"]
    assert problem["winner"] in [kernel["variant"] for kernel in problem["kernels"] if kernel["certified"]]
    assert len([kernel for kernel in problem["kernels"] if kernel["samples_ns"]]) >= 1
    assert problem["baseline_ns"] > 0 and problem["cpu_ns"] > 0
    assert "@group(0) @binding(0)" in text(browser, "source")  # Its beginning: unrolled kernels have thousands of lines.
    assert browser.execute_script("return rooftile.results().winner.plan.programs.every(({wgsl}) => wgsl.includes('@compute'))")
    assert browser.execute_script("return document.querySelectorAll('#roofline circle').length") == 3
    assert_silent(browser)


def test_the_export_feeds_a_native_database(exported, tmp_path):
    results = tmp_path / "results.json"
    results.write_text(json.dumps(exported))
    database = tmp_path / "ours.db"
    imported = rooftile("--db", database, "db", "import", results)
    assert imported.returncode == 0, imported.stderr
    assert "1 run," in imported.stdout
    report = rooftile("--db", database, "report").stdout
    assert "HeadlessChrome" in report  # The origin of the measurements.
    assert "fastest kernel elsewhere" in report and "256x256x256 nn" in report
    again = rooftile("--db", database, "db", "import", results)
    assert again.returncode == 0 and "nothing new" in again.stdout


def test_the_page_is_usable_at_every_width(browser, exported):
    for width in (360, 1200):
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    unnamed = browser.execute_script("""return [...document.querySelectorAll('button, input, select')]
        .filter(field => !(field.labels?.length || field.textContent.trim() || field.ariaLabel)).length""")
    assert unnamed == 0


def gpu_process(driver):
    """The process that runs the browser's graphics."""
    def parent(process):
        return int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])

    family = {driver.service.process.pid}
    for _ in range(4):  # chromedriver, its browser, a zygote, the process.
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if parent(process) in family:
                    family.add(int(process.name))
            except OSError:
                pass  # It ended meanwhile.
    for number in family:
        try:
            if b"--type=gpu-process" in pathlib.Path(f"/proc/{number}/cmdline").read_bytes():
                return number
        except OSError:
            pass
    pytest.fail("the browser has no GPU process")


def test_a_lost_gpu_process_costs_a_kernel_and_not_the_search(address):
    need_assets()
    with chromium("--enable-unsafe-webgpu") as driver:
        driver.get(address)
        wait(driver, lambda: driver.find_element(By.ID, "start").is_enabled(), "an adapter")
        start(driver, m=192, n=256, k=256)
        wait(driver, lambda: measured(driver) >= 2, "two measured kernels")
        before = measured(driver)
        os.kill(gpu_process(driver), signal.SIGKILL)
        wait(driver, lambda: measured(driver) > before, "a kernel measured by the next GPU process")
        stop(driver)
        wait(driver, lambda: driver.execute_script("return rooftile.results() !== null"), "results")
        (problem,) = json.loads(driver.execute_script("return JSON.stringify(rooftile.exported())"))["problems"]
        assert problem["winner"] in [kernel["variant"] for kernel in problem["kernels"] if kernel["certified"]]
        assert text(driver, "failure") == ""
