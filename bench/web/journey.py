#!/usr/bin/env python3
"""The journey of a user of `rooftile web` in headless Chromium, with its figures.

    python3 bench/web/journey.py [--program build/rooftile] [--budget 20] [--problem 256x256x256 ...] [--json FILE]

Opens the page, tunes each problem (m x n x k) for the budget in seconds, reloads the page in the middle of the first search, exports,
and imports into a new database. Prints for each problem the winner, what it gains over the untuned 4x4 kernel in one interleaved run,
and how many kernels were measured; then the longest task of the main thread, errors of the console, and the size of the page.
Needs scripts/build-web and the packages of scripts/packages-test.
"""
import argparse
import gzip
import json
import pathlib
import subprocess
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

# Tasks of the main thread that last longer than 50 ms; of all pages, because a reload begins a new one.
WATCH = """
  window.tasks = JSON.parse(sessionStorage.tasks ?? '[]');
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) window.tasks.push([Math.round(entry.startTime), Math.round(entry.duration)]);
    sessionStorage.tasks = JSON.stringify(window.tasks);
  }).observe({type: 'longtask', buffered: true});
"""


def browser(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--enable-unsafe-webgpu", "--no-first-run", "--disable-dev-shm-usage",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    return driver


def value(driver, script, *arguments):
    return driver.execute_script(f"return {script}", *arguments)


def until(driver, script, seconds=600):
    WebDriverWait(driver, seconds, poll_frequency=0.2).until(lambda _: value(driver, script), script)


def tune(driver, problem, budget, reload):
    until(driver, "!document.getElementById('start').disabled")
    for name, text in zip(("m", "n", "k", "budget"), (*problem.split("x"), budget)):
        driver.execute_script("document.getElementById(arguments[0]).value = arguments[1]", name, text)
    begin = time.monotonic()
    driver.find_element(By.ID, "start").click()
    if reload:
        time.sleep(budget / 2)
        driver.refresh()
    until(driver, "globalThis.rooftile?.results() && document.getElementById('start').disabled === false")
    return json.loads(value(driver, "JSON.stringify(rooftile.exported())")), time.monotonic() - begin


def line(problem, exported, seconds):
    (one,) = exported["problems"]
    measured = [kernel for kernel in one["kernels"] if kernel["samples_ns"]]
    winner = next((kernel for kernel in one["kernels"] if kernel["variant"] == one["winner"]), None)
    if winner is None:
        return f"{problem}: no winner after {seconds:.0f} s; {len(measured)} kernels measured"
    times = sorted(winner["samples_ns"])
    ns = times[len(times) // 2]
    gain = f"{one['baseline_ns'] / ns:.2f} times the 4x4 kernel" if one["baseline_ns"] else "no 4x4 kernel"
    return f"{problem}: {winner['name']}, {ns / 1e6:.3f} ms, {gain}; {len(measured)} kernels measured in {seconds:.0f} s"


def compressed(folder):
    return sum(len(gzip.compress(file.read_bytes())) for file in pathlib.Path(folder).rglob("*") if file.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/rooftile")
    parser.add_argument("--budget", type=float, default=20)
    parser.add_argument("--problem", nargs="+", default=["256x256x256", "1x1024x1024"])
    parser.add_argument("--json", help="the last export")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([arguments.program, "web", "-o", f"{scratch}/page"], check=True, stdout=subprocess.DEVNULL)
        print(f"page: {compressed(f'{scratch}/page') / 1e6:.2f} MB with gzip")
        server = subprocess.Popen([arguments.program, "web", "--serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
        driver = browser(f"{scratch}/profile")
        try:
            driver.get(server.stdout.readline().split()[0])
            for index, problem in enumerate(arguments.problem):
                exported, seconds = tune(driver, problem, arguments.budget, reload=index == 0)
                print(line(problem, exported, seconds), flush=True)
                results = pathlib.Path(arguments.json or f"{scratch}/results.json")
                results.write_text(json.dumps(exported))
                imported = subprocess.run([arguments.program, "--db", f"{scratch}/ours.db", "db", "import", results],
                                          capture_output=True, text=True, check=True)
                print(f"  import: {imported.stdout.strip()}")
            tasks = value(driver, "window.tasks")
            print(f"longest task of the main thread: {max((task[1] for task in tasks), default=0)} ms ({len(tasks)} over 50 ms: {tasks})")
            errors = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
            print(f"errors of the console: {len(errors)} {errors if errors else ''}")
        finally:
            driver.quit()
            server.terminate()
            server.wait(timeout=30)


if __name__ == "__main__":
    main()
