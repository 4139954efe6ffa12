"""The reference of the program, from its help."""

import re
import subprocess

import rst

ENTRY = re.compile(r"^ {2,6}(-\S.*?|[A-Z]\S*(?: \.\.\.)?(?: [A-Z]\S*)*(?: \.\.\.)?)(?: {2,}(\S.*))?$")
SUBJECTS = {"models": "Models and their settings", "metrics": "Metrics",
            "formats": "Formats of data"}


def printed(program, *args):
    return subprocess.run([program, *args], check=True, text=True, encoding="utf-8",
                          stdout=subprocess.PIPE).stdout


def verbs(program):
    """(name, summary) of each."""
    return re.findall(r"^  (\w+) {2,}(\S.*)$", printed(program, "help").split("First steps:")[0],
                      re.M)


def entries(lines):
    """(head, text) of a list of options or arguments, whose texts are wrapped."""
    found = []
    for line in lines:
        m = ENTRY.match(line) if len(line) - len(line.lstrip()) < 20 else None
        if m:
            found.append([m[1], m[2] or ""])
        elif found:
            found[-1][1] += " " + line.strip()
    return found


class Verb:
    def __init__(self, name, text):
        self.name = name
        parts = re.split(r"(?<=\n\n)([A-Z].*):\n(?=  )", text.strip("\n"))
        self.top = parts[0]
        self.groups = list(zip(parts[1::2], parts[2::2]))

    def page(self):
        first, _, rest = self.top.partition("\n\n")
        usage, _, about = rest.partition("\n\n")
        summary = first.partition(": ")[2]
        out = [rst.heading(f"ease {self.name}"), f".. program:: ease {self.name}\n",
               rst.inline(summary[0].upper() + summary[1:]) + ".\n",
               rst.code(usage.replace("Usage: ", "").replace("\n       ", "\n"), "text")]
        if about.strip():
            out.append(rst.prose(about))
        for title, body in self.groups:
            out.append(rst.heading(title, "-"))
            lines = body.strip("\n").split("\n")
            if title == "Examples":
                out.append(rst.code("\n".join(line.strip() for line in lines), "sh"))
                continue
            for head, text in entries(lines):
                if head.startswith("-"):
                    out.append(f".. option:: {head}\n\n" + rst.indented(rst.inline(text)))
                else:
                    out.append(f"``{head}``\n" + rst.indented(rst.inline(text)))
        return "\n".join(out)


def subject_page(title, text):
    """Lines `name: text`, and what is indented below them."""
    out = [rst.heading(title)]
    for line in text.rstrip("\n").split("\n"):
        if not line.startswith(" "):
            name, _, about = line.partition(": ")
            out.append(f"``{name}``\n" + rst.indented(rst.inline(about[0].upper() + about[1:])))
        else:
            setting = re.match(r"    ([a-z][\w-]*)  +(\S.*)$", line)
            out.append(rst.indented(f"- ``{setting[1]}``: {rst.inline(setting[2])}" if setting
                                    else f"- {rst.inline(line.strip())}"))
    return "\n".join(out)


def exit_codes(program):
    """The table of the manual."""
    manual = printed(program, "generate", "man")
    section = re.search(r"^\.SH EXIT STATUS\n(.*?)^\.SH", manual, re.M | re.S)[1]
    return re.findall(r"^\.TP\n(.*)\n(.*)$", section, re.M)


def overview(program, found):
    rows = "".join(f"   * - :doc:`ease {name} <program/{name}>`\n     - {rst.inline(about)}\n"
                   for name, about in found)
    codes = "".join(f"   * - {code}\n     - {rst.inline(about)}\n"
                    for code, about in exit_codes(program))
    contents = "".join(f"   program/{name}\n" for name, _ in found)
    subjects = "".join(f"   {name}\n" for name in SUBJECTS)
    return (rst.heading("The program") +
            "\nThese pages are made from ``ease help``, and say the same.\n\n"
            ".. list-table::\n   :widths: 20 80\n\n" + rows +
            "\n" + rst.heading("Exit codes", "-") + "\n.. list-table::\n   :widths: 20 80\n\n" +
            codes + "\n.. toctree::\n   :hidden:\n\n" + contents + subjects)


def pages(program):
    found = verbs(program)
    yield "program.rst", overview(program, found)
    for name, _ in found:
        yield f"program/{name}.rst", Verb(name, printed(program, "help", name)).page()
    for name, title in SUBJECTS.items():
        yield f"{name}.rst", subject_page(title, printed(program, "help", name))
