"""Plain text of comments and help texts as reStructuredText."""

import re
import textwrap

LISTED = re.compile(r" ?- ")


def heading(text, line="="):
    return f"{text}\n{line * len(text)}\n"


def indented(text, spaces=3):
    return textwrap.indent(text.rstrip("\n"), " " * spaces) + "\n"


def code(text, language="text", **options):
    lines = [f".. code-block:: {language}", *(f"   :{k}: {v}" for k, v in options.items())]
    return "\n".join(lines) + "\n\n" + indented(textwrap.dedent(text).strip("\n")) + "\n"


def escaped(text):
    return re.sub(r"([\\*`_|<>])", r"\\\1", text)


def inline(text, linked=None):
    """Text of a paragraph: names in backquotes and options are code. `linked(word)` is the
    reStructuredText that replaces a word, or None."""
    parts = re.split(r"(`[^`]+`|(?<![\w-])--[a-z][\w-]*)", " ".join(text.split()))
    out = []
    for part in parts:
        if part.startswith("`") and len(part) > 2:
            name = part[1:-1]
            out.append((linked and linked(name)) or f"``{name}``")
            continue
        if part.startswith("--"):
            out.append(f"``{part}``")
            continue
        for word in re.split(r"(\b[A-Za-z]\w*(?:\(\))?)", part):
            role = linked and linked(word.removesuffix("()"))
            # A role must not touch the letters around it.
            out.append(rf"{role}\ " if role else escaped(word))
    return "".join(out)


def prose(text, linked=None):
    """Paragraphs, lists and indented code, as comments have them."""
    out = []
    for paragraph in re.split(r"\n[ \t]*\n", textwrap.dedent(text).strip("\n")):
        plain, block, items = [], [], []
        for line in paragraph.split("\n"):
            if LISTED.match(line):
                items.append([LISTED.sub("", line, count=1)])
            elif items and line.startswith("  "):
                items[-1].append(line.strip())
            elif line.startswith("    "):
                block.append(line)
            else:
                plain.append(line)
        if plain:
            out.append(inline("\n".join(plain), linked) + "\n")
        for item in items:
            text_of, _, shown = "\n".join(item).partition(":\n    ")
            out.append("- " + inline(text_of + (shown and ":\n" + shown), linked) + "\n")
        if block:
            shown = "\n".join(block)
            out.append(code(shown, "c" if ";\n" in shown + "\n" and "include" in shown else "text"))
    return "\n".join(out)
