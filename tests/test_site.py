"""The documentation as a site: `make docs` builds it, no link in it is dead, it needs no
other host, and its search works from file://. Guides that need Python packages are run."""
import html.parser
import os
import re
import shutil
import subprocess
import unittest
import urllib.parse

import browser
import documents
import support

HTML = os.path.join(support.BUILD, "docs/html")
PLACE = os.path.join(support.BUILD, "docs-guides")
PACKAGES = ["fastapi==0.163.2", "uvicorn==0.54.0", "pandas==3.1.1"]
GUIDES = ("docs/howto/application.md", "docs/howto/from-other-libraries.md")


class Page(html.parser.HTMLParser):
    """The links of a page, what it loads, and the places in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.places = [], [], set()
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places.update(given[k] for k in ("id", "name") if given.get(k))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("href"):
            self.loaded.append(given["href"])
        elif given.get("src"):
            self.loaded.append(given["src"])


def pages():
    return [os.path.join(place, name) for place, _, names in os.walk(HTML)
            for name in names if name.endswith(".html") and "_static" not in place]


@unittest.skipIf(support.SANITIZED, "built by the release build")
class Site(support.Case):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run([os.path.join(support.ROOT, "scripts/docs")], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, EASE_BUILD=support.BUILD))
        if done.returncode:
            raise AssertionError(done.stdout[-6000:])
        cls.pages = {path: Page(path) for path in pages()}

    def test_every_page_of_docs_is_in_it(self):
        for place, folders, names in os.walk(os.path.join(support.ROOT, "docs")):
            folders[:] = [f for f in folders if f != "site"]
            for name in names:
                if name.endswith(".md"):
                    path = os.path.relpath(os.path.join(place, name), os.path.join(support.ROOT, "docs"))
                    self.assertIn(os.path.join(HTML, path[:-3] + ".html"), self.pages)

    def test_links_lead_somewhere(self):
        count = 0
        for path, page in self.pages.items():
            for link in page.links + page.loaded:
                if re.match(r"(https?|mailto|data):", link):
                    continue
                target, _, place = link.partition("#")
                target = urllib.parse.unquote(target.partition("?")[0])
                to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
                self.assertTrue(os.path.isfile(to), f"{path}: {link}")
                if place and to in self.pages:
                    self.assertIn(urllib.parse.unquote(place), self.pages[to].places, f"{path}: {link}")
                count += 1
        self.assertGreater(count, 5000)

    def test_nothing_is_loaded_from_another_host(self):
        for path, page in self.pages.items():
            self.assertEqual([u for u in page.loaded if re.match(r"(https?:)?//", u)], [], path)
        for place, _, names in os.walk(os.path.join(HTML, "_static")):
            for name in names:
                if name.endswith(".css"):
                    with open(os.path.join(place, name), encoding="utf-8") as f:
                        self.assertNotRegex(f.read(), r"url\(['\"]?(https?:)?//", name)

    def test_the_reference_has_what_its_sources_have(self):
        with open(os.path.join(support.ROOT, "include/ease.h")) as f:
            functions = set(re.findall(r"^EASE_API [^;(]*?\b(ease_\w+)\(", f.read(), re.M))
        places = set().union(*(p.places for p in self.pages.values()))
        self.assertGreater(len(functions), 100)
        self.assertEqual({f for f in functions if f"c.{f}" not in places}, set())
        for verb in re.findall(r"^  (\w+) {2,}", support.run("help").out.split("First steps")[0], re.M):
            options = set(re.findall(r"^ .*?(--[a-z][a-z-]*)", support.run("help", verb).out, re.M))
            shown = self.pages[os.path.join(HTML, f"reference/program/{verb}.html")].places
            self.assertIn(f"cmdoption-ease-{verb}-help", shown)
            listed = {o for o in options if re.search(rf"^ {{2,6}}(-\w, )?{o}( |$)",
                                                      support.run("help", verb).out, re.M)}
            self.assertEqual({o for o in listed if f"cmdoption-ease-{verb}-{o[2:]}" not in shown and
                              not any(p.endswith(o) for p in shown)}, set(), verb)

    def test_search_works_without_a_server(self):
        chromium = browser.Browser()
        self.addCleanup(chromium.quit)
        for words, page in {"lambda regularization": "reference/program/train.html",
                            "ease_recommend": "reference/c/recommending.html",
                            "PostgreSQL": "howto/postgresql.html",
                            "leave_one_out": "reference/python/models.html"}.items():
            query = urllib.parse.urlencode({"q": words})
            chromium.open(f"file://{HTML}/search.html?{query}")
            chromium.wait("document.querySelectorAll('ul.search li a').length > 0")
            chromium.wait("document.querySelector('#search-results .search-summary, p.search-summary')"
                          "?.textContent.includes('found') ?? false")
            found = chromium.run("return [...document.querySelectorAll('ul.search li a')]"
                                 ".map((a) => a.href)")
            self.assertTrue(any(page in link for link in found), f"{words}: {found[:10]}")
        self.assertEqual(chromium.console(), [])

    def test_pages_fit_into_narrow_windows(self):
        chromium = browser.Browser()
        self.addCleanup(chromium.quit)
        for width in 360, 1300:
            chromium.set_size(width)
            for path in self.pages:
                if "/design/" in path or "genindex" in path:
                    continue
                chromium.open("file://" + path)
                wide = chromium.run("return document.documentElement.scrollWidth - window.innerWidth")
                self.assertLessEqual(wide, 0, f"{path} at {width}")

    def test_guides_with_python(self):
        shutil.rmtree(PLACE, ignore_errors=True)
        self.addCleanup(shutil.rmtree, PLACE, ignore_errors=True)
        subprocess.run(["/usr/bin/python3", "-m", "venv", PLACE], check=True)
        python = os.path.join(PLACE, "bin/python")
        support.pip(python, "install", *PACKAGES)
        # The module that the site was built with: pure files and one shared object.
        place, = (os.path.join(p, "ease") for p, d, _ in os.walk(
            os.path.join(support.BUILD, "docs/venv/lib")) if p.endswith("site-packages") and "ease" in d)
        shutil.copytree(place, os.path.join(PLACE, "lib", os.path.basename(os.path.dirname(
            os.path.dirname(place))), "site-packages/ease"))
        for page in GUIDES:
            session = documents.Session(path=os.path.join(PLACE, "bin"))
            self.addCleanup(session.close)
            for command, shown, printed in documents.run(page, session):
                self.assertTrue(documents.same(shown, printed),
                                f"{page}: $ {command}\nshows\n{shown}\nbut it prints\n{printed}")


if __name__ == "__main__":
    support.main()
