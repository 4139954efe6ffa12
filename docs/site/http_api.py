"""The reference of the server's interface, from its OpenAPI description."""

import json

import rst


def schema_name(schema):
    return schema["$ref"].rsplit("/", 1)[1] if "$ref" in schema else None


def reference(name):
    return f":ref:`{name} <schema-{name.lower()}>`"


def kind(schema):
    """A type in words."""
    if isinstance(schema, bool):
        return "any" if schema else "none"
    name = schema_name(schema)
    if name:
        return reference(name)
    for word, between in ("anyOf", " or "), ("oneOf", " or "), ("allOf", " and "):
        if word in schema and all(isinstance(s, dict) and ("$ref" in s or "type" in s)
                                  for s in schema[word]):
            return between.join(kind(s) for s in schema[word])
    if "enum" in schema:
        return " or ".join(f"``{v}``" for v in schema["enum"])
    if "const" in schema:
        return f"``{json.dumps(schema['const'])}``"
    of = schema.get("type", "any")
    if of == "array":
        return f"array of {kind(schema.get('items', {}))}"
    limits = []
    if "minimum" in schema or "maximum" in schema:
        limits.append(f"{schema.get('minimum', '')} .. {schema.get('maximum', '')}")
    if "default" in schema:
        limits.append(f"default {json.dumps(schema['default'])}")
    words = " or ".join(of) if isinstance(of, list) else of
    return words + (f" ({', '.join(limits)})" if limits else "")


def table(rows):
    out = [".. list-table::", "   :widths: 25 30 45", ""]
    for row in rows:
        for i, cell in enumerate(row):
            out.append(("   * - " if i == 0 else "     - ") + cell)
    return "\n".join(out) + "\n"


def schema_section(name, schema):
    out = [f".. _schema-{name.lower()}:\n", rst.heading(name, "~")]
    if "description" in schema:
        out.append(rst.inline(schema["description"]) + "\n")
    properties = schema.get("properties")
    if not properties:
        out.append(kind(schema)[0].upper() + kind(schema)[1:] + ".\n" if "$ref" not in schema
                   else kind(schema) + "\n")
        return "\n".join(out)
    required = schema.get("required", [])
    out.append(table([f"``{member}``" + (" (required)" if member in required else ""), kind(of),
                      rst.inline(of.get("description", "")) or "\\ "]
                     for member, of in properties.items()))
    return "\n".join(out)


def content(body):
    """The type of a body, and an example."""
    (media, of), *_ = body["content"].items()
    words = kind(of["schema"]) if "schema" in of else ""
    shown = rst.code(json.dumps(of["example"], indent=2), "json") if "example" in of else ""
    return media, words, shown


def operation(path, method, of):
    out = [rst.heading(f"{method.upper()} {path}", "~"), rst.inline(of["summary"]) + ".\n"]
    if "description" in of:
        out.append(rst.inline(of["description"]) + "\n")
    if of.get("parameters"):
        out.append(table([f"``{p['name']}`` ({p['in']})", kind(p["schema"]),
                          rst.inline(p.get("description", "")) or "\\ "]
                         for p in of["parameters"]))
    if "requestBody" in of:
        media, words, shown = content(of["requestBody"])
        out.append(f"The body is {media}: {words}.\n\n{shown}")
    answers = []
    for status, answer in of["responses"].items():
        media, words, _ = content(answer) if "content" in answer else ("", "", "")
        answers.append([status, words or media or "\\ ", rst.inline(answer["description"])])
    out.append(table(answers))
    return "\n".join(out)


def pages(path):
    with open(path) as f:
        api = json.load(f)
    out = [rst.heading("The server's interface"),
           "\nThis page is made from the description that the server gives at "
           "``/openapi.json``. :doc:`/server` shows how it is used.\n",
           rst.inline(api["info"]["description"]) + "\n", rst.heading("Requests", "-")]
    for address, methods in api["paths"].items():
        out += [operation(address, method, of) for method, of in methods.items()
                if method in ("get", "post", "put", "delete")]
    out.append(rst.heading("Types", "-"))
    out += [schema_section(name, of) for name, of in api["components"]["schemas"].items()]
    yield "http.rst", "\n".join(out)
