"""The README, the demo, and the links of all pages. test_documents.py runs the commands."""
import glob
import os
import re
import subprocess
import unittest

import support


def pages_of_docs():
    return [os.path.relpath(page, support.ROOT)
            for page in sorted(glob.glob(os.path.join(support.ROOT, "docs/**/*.md"),
                                         recursive=True))]


def anchors(path):
    """What links into a page of Markdown may end in: its headings, as GitHub names them."""
    with open(path) as f:
        titles = re.findall(r"^#+ (.*)$", f.read(), re.M)
    return [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]


@unittest.skipIf(support.SANITIZED, "shown by the release build")
class Readme(support.Case):
    def test_the_demo_runs_without_a_complaint(self):
        done = subprocess.run([os.path.join(support.ROOT, "examples/demo.sh"), support.EASE],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        for words in ("plan:", "trained in"):
            self.assertIn(words, done.stderr)
        for words in ("react-redux", "because of redux", "ease help"):
            self.assertIn(words, done.stdout)
        self.assertNotIn("warning", done.stderr)

    def test_the_measured_table_is_there(self):
        with open(os.path.join(support.ROOT, "README.md")) as f:
            rows = re.findall(r"^\| [\w-]+ \| [\d,]+ \| [\d.]+ s \|", f.read(), re.M)
        self.assertGreaterEqual(len(rows), 3)

    def test_links_lead_somewhere(self):
        for name in ("README.md", "CONTRIBUTING.md", *pages_of_docs()):
            path = os.path.join(support.ROOT, name)
            with open(path) as f:
                for link in re.findall(r"\]\(([^):]+)\)", f.read()):
                    target, _, anchor = link.partition("#")
                    page = os.path.join(os.path.dirname(path), target) if target else path
                    self.assertTrue(os.path.exists(page), f"{name}: {link}")
                    if anchor:
                        self.assertIn(anchor, anchors(page), f"{name}: {link}")


if __name__ == "__main__":
    support.main()
