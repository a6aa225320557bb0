"""docs/reference/ops.md is what the compiler says of every operator."""

import importlib.util

import pytest
from support.tool import ROOT

FOLDER = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def printed():
    spec = importlib.util.spec_from_file_location("ops", FOLDER / "ops.py")
    ops = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ops)
    return ops.page()


def test_the_page_is_what_its_script_prints(printed):
    assert (FOLDER / "ops.md").read_text() == printed, "python docs/reference/ops.py --write"


def test_the_page_says_what_is_there_and_what_is_not(printed):
    """The questions to the compiler are answered as they should be for some operators."""
    rows = {line.split(" | ")[0].strip("| "): line for line in printed.splitlines() if line.startswith("| ")}
    assert "not supported" not in rows["Conv"] and rows["Conv"].split(" | ")[2] == "floats"
    assert "**not supported**" in rows["StringNormalizer"] and "**not supported**" in rows["Adam"]
    assert "string" in rows["Gather"] and "string" not in rows["Cast"].split(" | ")[2]
    assert "small" in rows["Cast"] and "float8" not in rows["Add"]
    assert "constant spatial sizes *(dynamic)*" in rows["ConvTranspose"]
    assert "GroupQueryAttention" in printed and not any(name in rows for name in ("WinogradConv", "Relayout"))
