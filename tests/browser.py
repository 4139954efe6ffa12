"""A headless Chromium, driven by Selenium, and axe-core in it."""

import glob
import os
import shutil
import sys
import time
import unittest

import support

PLACE = os.path.join(support.BUILD, "page-tests")
PATIENCE = 60  # seconds until a page that does not get there has failed
CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
           "--hide-scrollbars", "--force-device-scale-factor=1", "--lang=en",
           "--disable-background-networking", "--disable-component-update")


def axe_source():
    """axe-core, of the package of PyPI that has it."""
    shutil.rmtree(PLACE, ignore_errors=True)
    support.pip(sys.executable, "install", "--no-deps", "--target", PLACE,
                "axe-playwright-python>=0.1.4,<1")
    path, = glob.glob(f"{PLACE}/**/axe.min.js", recursive=True)
    with open(path, encoding="utf-8") as f:
        source = f.read()
    shutil.rmtree(PLACE)
    return source


class Browser:
    def __init__(self):
        """Raises SkipTest where no Chromium can run."""
        if not (os.path.exists(CHROMIUM) and os.path.exists(DRIVER)):
            raise unittest.SkipTest("chromium and chromium-driver are not installed")
        try:
            from selenium import webdriver
        except ImportError:
            raise unittest.SkipTest("python3-selenium is not installed") from None
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for option in OPTIONS:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        try:
            self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        except Exception as e:
            raise unittest.SkipTest(f"chromium does not run: {e}") from None

    def quit(self):
        self.driver.quit()

    # ---- what it looks like ----------------------------------------------------------

    def set_size(self, width, height=900):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def set_scheme(self, scheme, still=True):
        """light or dark; `still`: as for people who want nothing to move."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else ""}]})

    def save(self, path):
        self.driver.save_screenshot(path)

    # ---- what is in it ---------------------------------------------------------------

    def open(self, address):
        """Loads a page anew, also if only the part behind # differs."""
        self.driver.get("about:blank")
        self.driver.get(address)

    def run(self, script, *args):
        return self.driver.execute_script(script, *args)

    def wait(self, script, *args):
        """Until an expression is true; returns its value."""
        end = time.monotonic() + PATIENCE
        while not (value := self.run(f"return {script}", *args)):
            assert time.monotonic() < end, f"not so after {PATIENCE} s: {script} {args}"
            time.sleep(0.02)
        return value

    def texts(self, selector):
        return self.run("return Array.from(document.querySelectorAll(arguments[0]), "
                        "(e) => e.textContent)", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def click(self, selector):
        """Also what is drawn anew just then."""
        from selenium.common.exceptions import StaleElementReferenceException
        while True:
            try:
                self.driver.find_element("css selector", selector).click()
                return
            except StaleElementReferenceException:
                continue

    def keys(self, *keys):
        """To whatever has the focus; names as in KeyboardEvent.key, or text."""
        from selenium.webdriver.common.keys import Keys
        for key in keys:
            self.driver.switch_to.active_element.send_keys(
                getattr(Keys, key, key) if key.isupper() else key)

    def console(self):
        """What the page has written there since the last call."""
        return [line["message"] for line in self.driver.get_log("browser")]

    # ---- accessibility ---------------------------------------------------------------

    def violations(self, axe):
        """What axe-core finds in the page: the rule, and the elements."""
        if not self.run("return 'axe' in window"):
            self.driver.execute_script(axe)
        done = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run().then(done, (error) => done({violations: [{id: String(error), nodes: []}]}))")
        return [f"{v['id']}: " + "; ".join(n["html"][:200] for n in v["nodes"])
                for v in done["violations"]]
