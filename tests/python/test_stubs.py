"""The stubs of the extension modules name what these have, no more and no less."""

import ast
import importlib

import pytest
from support.tool import ROOT


def declared(body, prefix=""):
    for entry in body:
        if isinstance(entry, ast.ClassDef):
            yield prefix + entry.name
            yield from declared(entry.body, entry.name + ".")
        elif isinstance(entry, ast.FunctionDef) and entry.name != "__init__":
            yield prefix + entry.name


@pytest.mark.parametrize("name", ["_runtime", "_compiler"])
def test_stubs(name):
    module = importlib.import_module(f"fathom.{name}")
    there = set()
    for member, found in vars(module).items():
        if not member.startswith("_"):
            there.add(member)
            if isinstance(found, type):
                there |= {f"{member}.{part}" for part in vars(found) if not part.startswith("_")}
    tree = ast.parse((ROOT / "python/fathom" / f"{name}.pyi").read_text())
    assert set(declared(tree.body)) == there


def test_all_that_is_exported_is_there():
    import fathom
    import fathom.onnxruntime

    for module in (fathom, fathom.onnxruntime):
        for name in module.__all__:
            assert getattr(module, name) is not None
