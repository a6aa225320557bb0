"""docs/reference/c.md is what the header says."""

import importlib.util
import re

from support.tool import ROOT

FOLDER = ROOT / "docs" / "reference"
HEADER = ROOT / "runtime" / "fathom_rt.h"


def printed():
    spec = importlib.util.spec_from_file_location("c", FOLDER / "c.py")
    c = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(c)
    return c.page()


def test_the_page_is_what_its_script_prints():
    assert (FOLDER / "c.md").read_text() == printed(), "python docs/reference/c.py --write"


def test_the_page_has_every_name_of_the_header():
    names = set(re.findall(r"\b(fathom_\w+)\(", HEADER.read_text())) | set(re.findall(r"^} (fathom_\w+);", HEADER.read_text(), re.M))
    assert len(names) > 35
    assert names <= set(re.findall(r"\bfathom_\w+", "\n".join(re.findall(r"^```c\n(.*?)^```", printed(), re.M | re.S))))
