"""Every test asserts something: one that only runs code fails by an exception alone, and says nothing of what came out."""

import ast
from functools import cache

import pytest
from support.tool import ROOT

TESTS = ROOT / "tests"
ASSERTING = set()  # functions that were found to


class Source:
    """A file's functions, and the files of the tests that it imports or has fixtures from."""

    def __init__(self, text, path=None):
        tree = ast.parse(text)
        self.functions = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                self.functions.setdefault(node.name, []).append(node)
        modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
        modules += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        folders = [path.parent, TESTS] if path else []
        files = [folder / (module.replace(".", "/") + ".py") for module in modules for folder in folders]
        files += [path.parent / "conftest.py"] if path and path.name.startswith("test_") else []  # fixtures
        self.imported = [read(file) for file in files if file.exists()]

    def find(self, name):
        """Where a function of that name is: here, or where this file has it from."""
        if name in self.functions:
            return [(self, node) for node in self.functions[name]]
        return [found for source in self.imported for found in source.find(name)]


@cache
def read(path):
    return Source(path.read_text(), path)


def called(call):
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def asserts(source, function, seen=()):
    """Whether a function asserts, or one that it calls does; `expect` is that of the tool's results. The fixture `fathom`, which runs
    the tool, looks only whether files are left behind."""
    if function in seen or function in ASSERTING:
        return function in ASSERTING
    nodes = list(ast.walk(function))
    names = [called(node) for node in nodes if isinstance(node, ast.Call)]
    is_asserting = any(isinstance(node, ast.Assert) for node in nodes)
    is_asserting = is_asserting or any(name in ("raises", "fail", "warns", "expect") or name.startswith("assert_") for name in names)
    is_asserting = is_asserting or any(asserts(*found, (*seen, function)) for name in names if name != "fathom" for found in source.find(name))
    if is_asserting:
        ASSERTING.add(function)
    return is_asserting


def without_assertion(source):
    tests = [function for name, functions in source.functions.items() for function in functions if name.startswith("test_")]
    return [function.name for function in tests if not asserts(source, function)]


@pytest.mark.parametrize("text, found", [
    ("def test_a():\n  run()", ["test_a"]),
    ("def test_a():\n  assert run()", []),
    ("def test_a():\n  with pytest.raises(ValueError):\n    run()", []),
    ("def check():\n  assert run()\ndef test_a():\n  check()", []),
    ("def check():\n  inner()\ndef inner():\n  np.testing.assert_array_equal(a, b)\ndef test_a():\n  check()", []),
    ("def check():\n  run()\ndef test_a():\n  check()", ["test_a"]),
    ("def check():\n  check()\ndef test_a():\n  check()", ["test_a"]),
    ("def fathom():\n  assert clean()\ndef test_a(fathom):\n  fathom()", ["test_a"]),
])
def test_finds_tests_that_assert_nothing(text, found):
    assert without_assertion(Source(text)) == found


def test_every_test_asserts_something():
    files = sorted(TESTS.glob("*/test_*.py"))
    assert len(files) > 60
    found = [f"{path.relative_to(ROOT)}: {name}" for path in files for name in without_assertion(read(path))]
    assert not found, "\n".join(found)
