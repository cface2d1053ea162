"""Debian's Chromium, headless, for tests of pages."""
import contextlib
import pathlib
import tempfile

import pytest

if not pathlib.Path("/usr/bin/chromium").exists():
    pytest.skip("no browser is installed: run scripts/test --web", allow_module_level=True)
from selenium import webdriver
from selenium.webdriver.chrome.service import Service


@contextlib.contextmanager
def chromium(*arguments):
    """A driver of one browser with a new profile. The browser's console is kept for get_log("browser")."""
    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
                         "--disable-background-networking", "--disable-component-update", "--disable-sync", f"--user-data-dir={profile}",
                         *arguments):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        try:
            yield driver
        finally:
            driver.quit()
