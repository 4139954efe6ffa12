"""The examples of the docstrings, and that nothing lacks one."""

import doctest
import importlib
import inspect
import os
import pkgutil
import sys
import typing

import pytest

import ease
from conftest import ROOT

# libease-python.so, which a wheel has beside the modules, is none.
MODULES = ["ease"] + ["ease." + m.name for m in pkgutil.iter_modules(ease.__path__)
                      if m.name.isidentifier() and m.name != "_ease"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_is_described():
    for name in ease.__all__:
        thing = getattr(ease, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in inspect.getmembers(thing):
                ours = inspect.isfunction(value) and value.__module__.startswith("ease")
                if ours and not member.startswith("_"):
                    assert typing.get_type_hints(value), f"{name}.{member}"
        else:
            assert typing.get_type_hints(thing), name


def test_the_classes_are_those_of_the_library():
    sys.path.insert(0, os.path.join(ROOT, "python"))
    try:
        source = importlib.import_module("generate").source()
    finally:
        sys.path.pop(0)
    with open(os.path.join(ROOT, "python", "ease", "methods.py")) as f:
        assert f.read() == source
    assert {m[0] for m in ease._ease.methods()} == set(ease._base.CLASSES)


def test_the_wheel_is_typed(tmp_path):
    place = os.path.dirname(ease.__file__)
    assert os.path.exists(os.path.join(place, "py.typed"))
    api = pytest.importorskip("mypy.api")
    out, err, status = api.run(["--config-file", os.path.join(ROOT, "pyproject.toml"),
                                "--cache-dir", str(tmp_path), "-p", "ease"])
    assert status == 0, out + err


def test_every_format_is_described():
    text = " ".join(ease.interactions.__doc__.split())
    assert len(ease._ease.formats()) > 4
    for name, about in ease._ease.formats():
        assert f"{name} ({about})" in text
    assert "FORMATS" not in text


def test_every_metric_is_named():
    for name, _ in ease._ease.metrics():
        assert f" {name}," in " ".join(ease.evaluate.__doc__.split())
