"""Small programs, well and ill typed, with what becomes of each (typing.txt)."""
import pathlib
import re

import pytest

import fathom

PROGRAMS = pathlib.Path(__file__).with_name("typing.txt").read_text().splitlines()
CASES = [(number, *line.split(" | ", 1)) for number, line in enumerate(PROGRAMS, 1) if line and not line.startswith("#")]


def outcome(path):
    """'ok', or the code and place of the error."""
    try:
        fathom.compile(str(path), emit="graph")
    except fathom.Error as error:
        place = re.search(r"program\.fir:(\d+:\d+)", str(error))
        return f"{error.code} {place.group(1) if place else ''}"
    return "ok"


@pytest.mark.parametrize("number, expected, text", CASES, ids=[f"line {number}" for number, *_ in CASES])
def test_typing(program, number, expected, text):
    got = outcome(program(text))
    assert got.split()[:len(expected.split())] == expected.split(), text


def test_there_are_enough():
    """Of both kinds, and no program twice."""
    texts = [text for *_, text in CASES]
    assert len(texts) >= 300 and len(set(texts)) == len(texts)
    assert 100 <= sum(expected == "ok" for _, expected, _ in CASES) <= 200
