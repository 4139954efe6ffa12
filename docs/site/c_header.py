"""The reference of the C library, from the declarations and comments of ease.h."""

import re

import rst

SECTION = re.compile(r"^/\* -{4} (.*?) -* \*/$", re.M)
# In this order: what stands in front of it, a comment of its own, a macro, a declaration.
TOKEN = re.compile(r"(?P<blank>\n[ \t]*\n)|(?P<space>\s+)|(?P<comment>/\*.*?\*/)"
                   r"|(?P<macro>\#(?:[^\\\n]|\\.|\\\n)*)", re.S)


def comment_text(comment):
    lines = comment[2:-2].split("\n")
    return "\n".join([lines[0].removeprefix(" ")] +
                     [re.sub(r"^ \* ?", "", line) for line in lines[1:]])


def declaration_end(text, at):
    """Behind the semicolon, or the brace of a function, that ends the declaration at `at`."""
    depth, end = 0, "}" if text.startswith("static inline", at) else ";"
    while True:
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if text[at - 1] == end and depth == 0:
            return at


def groups(text):
    """(comment or "", [declarations]): those without a blank line between them."""
    at, comment, declared = 0, "", []
    while at < len(text):
        m = TOKEN.match(text, at)
        if m is None:
            end = declaration_end(text, at)
            declared.append(text[at:end])
            at = end
            # A comment on the same line belongs to the declaration.
            behind = re.compile(r"[ \t]*(/\*.*?\*/)", re.S).match(text, at)
            if behind:
                declared[-1] += " " + behind[1]
                at = behind.end()
            continue
        at = m.end()
        if m["macro"]:
            declared.append(m["macro"])
        elif m["comment"]:
            if declared or comment:
                yield comment, declared
                declared = []
            comment = comment_text(m["comment"])
        elif m["blank"] and (declared or comment):
            yield comment, declared
            comment, declared = "", []
    if declared or comment:
        yield comment, declared


class Header:
    def __init__(self, text):
        start = text.index("*/") + 2
        self.about = comment_text(text[:start])
        parts = SECTION.split(text[start:])
        self.sections = list(zip(parts[1::2], parts[2::2]))
        self.functions = set(re.findall(r"\b(ease_[a-z]\w*)\(", " ".join(
            d for _, body in self.sections for d in re.findall(r"EASE_API[^;]*;", body))))
        self.types = set(re.findall(r"(?:struct|enum) (ease_\w+)", text))

    def linked(self, word):
        if word in self.functions:
            return f":c:func:`{word}`"
        if word in self.types:
            return f":c:type:`{word}`"
        return None

    def declared(self, text):
        """The directive of a declaration, and what stands in it."""
        plain = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        plain = " ".join(re.sub(r"\bEASE_(?:API|MUST_USE)\b", "", plain).split()).rstrip("; ")
        shown = rst.code(text, "c")
        if text.startswith("#define"):
            return f".. c:macro:: {text.split()[1].split('(')[0]}", shown
        if text.startswith("#"):
            return None
        if text.startswith("static inline"):
            return f".. c:function:: {plain.split(' {')[0]}", ""
        if text.startswith("EASE_API"):
            notes = re.findall(r"/\*(.*?)\*/", text, re.S)
            return f".. c:function:: {plain}", rst.prose(" ".join(notes), self.linked) if notes else ""
        m = re.match(r"(?:typedef )?(struct|enum) (\w+)", plain)
        if m:
            return f".. c:{m[1]}:: {m[2]}", "" if "{" not in text else shown
        return None if not plain else ("", shown)

    def page(self, title, body):
        out = [rst.heading(title[0].upper() + title[1:])]
        body = re.sub(r"#ifdef __cplusplus.*|#endif.*", "", body, flags=re.S)
        for comment, declarations in groups(body):
            text = rst.prose(comment, self.linked) if comment else ""
            found = [d for d in map(self.declared, declarations) if d]
            if not found:
                out.append(text)
                continue
            alike = all(d.startswith(".. c:function::") and not shown for d, shown in found)
            if alike:  # one description of several functions
                first, *more = (d for d, _ in found)
                more = [" " * 17 + d.removeprefix(".. c:function:: ") for d in more]
                out.append("\n".join([first, *more]) + "\n\n" + rst.indented(text or "") + "\n")
                continue
            for directive, shown in found:
                inside = text + ("\n" if text else "") + shown
                out.append(directive + "\n\n" + rst.indented(inside) + "\n" if directive
                           else inside)
                text = ""
        return "\n".join(out)


def about_page(header):
    lines = header.about.split("\n")
    return (rst.heading("The C library") +
            "\nEverything here is in ``ease.h``, which this part of the documentation is made "
            "from.\n\n" + rst.prose("\n".join(lines[2:]), header.linked))


def pages(path):
    """File names and texts; the first page has the contents of the others."""
    with open(path) as f:
        header = Header(f.read())
    names = [re.sub(r"\W+", "-", title.split(":")[0].strip().lower()) for title, _ in header.sections]
    contents = "\n".join(["", ".. toctree::", "   :maxdepth: 1", "",
                          *(f"   c/{name}" for name in names), ""])
    yield "c.rst", about_page(header) + contents
    for name, (title, body) in zip(names, header.sections):
        yield f"c/{name}.rst", header.page(title, body)
