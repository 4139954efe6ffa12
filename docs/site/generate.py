"""Writes the sources of the site: the pages of docs/, and a reference made from the
header, the program's help, the docstrings of the module and the server's description.

    generate.py ROOT PROGRAM OUT
"""

import json
import os
import posixpath
import re
import shutil
import sys

import c_header
import http_api
import program
import python_api

# Where links out of docs/ lead: pages of the site that are made from these files.
PAGES_OF = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "include/ease.h": "reference/c.rst",
    "python/ease/__init__.py": "reference/python.rst",
    "server/openapi.json": "reference/http.rst",
    "examples/README.md": "reference/examples.md",
}
EXAMPLES = {".py": "python", ".c": "c", ".sh": "sh", "": "dockerfile"}

LINK = re.compile(r"(!?\[[^\]]*\])\(([^()\s:]+)\)")
FENCE = re.compile(r"^```(\w+) ([^\n]+)\n(.*?)^```$", re.M | re.S)
HELP = re.compile(r"(?<!\[)`ease help( [a-z]+)?`(?!\])")


def split_fences(text):
    """Alternates prose and fenced code."""
    return re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)


class Site:
    def __init__(self, root, out):
        self.root, self.out = root, out
        self.examples = {}  # path: anchor
        self.reference = set()
        self.missing = []

    def write(self, name, text):
        path = os.path.join(self.out, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    def address(self, page, target):
        """A link of the page of the repository, as one of the site."""
        place, hash_mark, anchor = target.partition("#")
        if not place:
            return target
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), place))
        if path in self.examples:
            found, anchor, hash_mark = "reference/examples.md", self.examples[path], "#"
        elif path in PAGES_OF:
            found = PAGES_OF[path]
        elif path.startswith("docs/") and os.path.isfile(os.path.join(self.root, path)):
            found = path.removeprefix("docs/")
        elif os.path.exists(os.path.join(self.root, path)):
            return None  # a file of the repository that the site does not have
        else:
            self.missing.append(f"{page}: there is no {target}")
            return None
        return "/" + found + hash_mark + anchor

    def link(self, page, label, target):
        address = self.address(page, target)
        return f"{label}({address})" if address else label.strip("![]")

    def help_link(self, match):
        name = (match[1] or "").strip()
        place = "reference/program.rst"
        for found in (f"reference/program/{name}.rst", f"reference/{name}.rst"):
            if name and found in self.reference:
                place = found
        return f"[{match[0]}](/{place})"

    def markdown(self, page, text):
        parts = split_fences(text)
        for i in range(0, len(parts), 2):
            parts[i] = LINK.sub(lambda m: self.link(page, m[1], m[2]), parts[i])
            parts[i] = HELP.sub(self.help_link, parts[i])
        for i in range(1, len(parts), 2):
            parts[i] = FENCE.sub(self.fence, parts[i])
        return "".join(parts)

    @staticmethod
    def fence(match):
        """Words behind the language: the name of the file, or how tests run a block."""
        language, words, body = match.groups()
        if language == "console":
            return f"```console\n{body}```"
        language = {"csv": "text"}.get(language, language)  # what Pygments does not know
        return f"```{{code-block}} {language}\n:caption: {words}\n\n{body}```"

    # ---- pages -------------------------------------------------------------------------

    def make_reference(self, pages):
        for name, text in pages:
            self.reference.add(f"reference/{name}")
            self.write(f"reference/{name}", text)

    def make_notebook(self, path):
        """A page of the cells of a notebook, without their outputs."""
        with open(os.path.join(self.root, path)) as f:
            cells = json.load(f)["cells"]
        out = []
        for cell in cells:
            text = "".join(cell["source"])
            out.append(text if cell["cell_type"] == "markdown" else f"````python\n{text}\n````")
        name = posixpath.basename(path).removesuffix(".ipynb")
        self.write(f"reference/{name}.md", self.markdown(path, "\n\n".join(out) + "\n"))
        PAGES_OF[path] = f"reference/{name}.md"
        return f"/reference/{name}.md"

    def make_examples(self):
        out, notebooks = ["# Examples", ""], []
        folder = os.path.join(self.root, "examples")
        for place, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                path = posixpath.relpath(posixpath.join(place, name), self.root)
                stem, kind = posixpath.splitext(name)
                if kind == ".ipynb" and "checkpoint" not in path:
                    notebooks.append(self.make_notebook(path))
                if kind not in EXAMPLES or (not kind and stem != "Containerfile"):
                    continue
                with open(os.path.join(place, name)) as f:
                    text = f.read().rstrip("\n")
                anchor = re.sub(r"[^\w-]", "", path.replace("/", "-").lower())
                self.examples[path] = anchor
                out += [f"({anchor})=", f"## {path}", "", f"````{{code-block}} {EXAMPLES[kind]}",
                        text, "````", ""]
        if notebooks:
            out[2:2] = [*(f"- [](<{page}>)" for page in notebooks), toctree(notebooks)]
        self.write("reference/examples.md", "\n".join(out))
        self.reference.add("reference/examples.md")

    def make_page(self, path):
        with open(os.path.join(self.root, path)) as f:
            text = f.read()
        text = self.markdown(path, text)
        name = PAGES_OF.get(path) or path.removeprefix("docs/")
        if name == "index.md":
            text += contents_of_index(text)
        elif os.path.isdir(os.path.join(self.root, "docs", name.removesuffix(".md"))):
            text += contents_of_folder(name, text)
        self.write(name, text)

    def copy(self):
        docs = os.path.join(self.root, "docs")
        for place, folders, names in os.walk(docs):
            folders[:] = sorted(set(folders) - {"site", "__pycache__"})
            for name in sorted(names):
                path = posixpath.relpath(posixpath.join(place, name), self.root)
                if name.endswith(".md"):
                    self.make_page(path)
                elif name.endswith((".svg", ".png")):
                    to = os.path.join(self.out, path.removeprefix("docs/"))
                    os.makedirs(os.path.dirname(to), exist_ok=True)
                    shutil.copy(os.path.join(self.root, path), to)
        for path in ("CONTRIBUTING.md", "CHANGELOG.md"):
            self.make_page(path)


def toctree(pages, caption=""):
    lines = ["", "```{toctree}", ":hidden:"] + ([f":caption: {caption}"] if caption else [])
    return "\n".join([*lines, "", *pages, "```", ""])


def linked_pages(text):
    found = []
    for target in re.findall(r"\]\((/[^)#]+\.(?:md|rst))\)", text):
        if target not in found and target != "/index.md":
            found.append(target)
    return found


def contents_of_index(text):
    """The navigation: below each heading, the pages that the index links to there."""
    out, seen = [], set()
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        pages = [p for p in linked_pages(section) if p not in seen]
        seen.update(pages)
        out.append(toctree(pages, section.split("\n")[0]))
    return "".join(out)


def contents_of_folder(name, text):
    """A page with a folder of its name leads to the pages of this folder that it links to."""
    folder = "/" + name.removesuffix(".md") + "/"
    pages = [p for p in linked_pages(text) if p.startswith(folder)]
    return toctree(pages) if pages else ""


def main():
    root, program_path, out = map(os.path.abspath, sys.argv[1:4])
    shutil.rmtree(out, ignore_errors=True)
    site = Site(root, out)
    site.make_reference(c_header.pages(os.path.join(root, "include/ease.h")))
    site.make_reference(program.pages(program_path))
    site.make_reference(http_api.pages(os.path.join(root, "server/openapi.json")))
    site.make_reference(python_api.pages())
    site.make_examples()
    site.copy()
    for line in site.missing:
        print(f"generate.py: {line}", file=sys.stderr)
    return 1 if site.missing else 0


if __name__ == "__main__":
    sys.exit(main())
