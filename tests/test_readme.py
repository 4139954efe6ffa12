"""What the README shows is what happens."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import unittest

import support


def blocks():
    with open(os.path.join(support.ROOT, "README.md")) as f:
        text = f.read()
    return re.findall(r"```console\n(.*?)```", text, re.S)


def masked(text):
    """Times and the memory of the day differ from run to run, last digits from one kind
    of processor to another, and the memory that a plan counts for threads with their
    number."""
    text = re.sub(r"plan: \d[\d.]* MB of memory", "plan: ? of memory", text)
    text = re.sub(r"\d[\d.,]* GB available", "? available", text)
    text = re.sub(r"(about|in) \d[\d.]* (s|min)( \d+ s)?", r"\1 ?", text)
    text = re.sub(r"\d+\.\d{4,}", lambda m: f"{float(m[0]):.3f}", text)
    return re.sub(r"residual \d\S*", "residual ?", text).rstrip()


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
    def test_console_blocks_show_true_output(self):
        shutil.copy(os.path.join(support.ROOT, "examples/npm.tsv.gz"), self.dir)
        env = dict(os.environ, PATH=support.BUILD + ":" + os.environ["PATH"])
        count = 0
        for block in blocks():
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, shown = part.partition("\n")
                done = subprocess.run(shlex.split(command), cwd=self.dir, env=env, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
                self.assertEqual(masked(done.stdout), masked(shown), command)
                count += 1
        self.assertGreaterEqual(count, 3)

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
