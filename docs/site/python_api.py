"""The reference of the Python module: everything in ease.__all__, by its docstrings."""

import inspect

import ease
import rst


def directive(name, thing, *options):
    what = "autoclass" if inspect.isclass(thing) else "autofunction"
    return f".. {what}:: ease.{name}\n" + "".join(f"   :{o}:\n" for o in options)


def page(title, about, entries):
    return (rst.heading(title) + f"\n{about}\n\n.. currentmodule:: ease\n\n" + "\n".join(entries))


def pages():
    things = {name: getattr(ease, name) for name in ease.__all__}
    models = {n: t for n, t in things.items()
              if inspect.isclass(t) and issubclass(t, ease.Recommender)}
    functions = {n: t for n, t in things.items() if inspect.isfunction(t)}
    others = {n: t for n, t in things.items() if n not in models and n not in functions}
    first = ["Recommender", "EASE"]
    order = first + sorted(set(models) - set(first))
    yield "python.rst", (
        rst.heading("The Python API") +
        "\nThese pages are made from the docstrings of the module. :doc:`/python` is the manual: "
        "what data may be, updating, threads and errors.\n\n.. toctree::\n\n"
        "   python/functions\n   python/models\n   python/objects\n")
    yield "python/functions.rst", page(
        "Functions", "Reading and dividing data, choosing parameters, measuring.",
        [directive(n, functions[n]) for n in sorted(functions)])
    yield "python/models.rst", page(
        "Models", "All classes have the methods of :class:`Recommender`.",
        [directive(n, models[n], "members",
                   *(["show-inheritance"] if n != "Recommender" else [])) for n in order])
    yield "python/objects.rst", page(
        "Data and results", "What functions and methods return.",
        [directive(n, others[n], "members") for n in sorted(others)])
