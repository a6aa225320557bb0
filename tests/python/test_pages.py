"""README.md and the users' pages do what they say: each block of code is run as a reader would, or is listed with the reason why not."""

import re

import numpy as np
import pytest
from support.page_blocks import NOT_RUN, PLACEHOLDERS, STAGES
from support.pages import FILES, Block, Reader, blocks, pattern_of
from support.tool import ROOT, fathom

PAGES = [page for page in FILES if any(block.stage == "python" for block in blocks(page))]


def tokenizer(texts, **options):
    """Letters as tokens, rows of one length."""
    rows = [[ord(letter) % 100 for letter in text] for text in texts]
    longest = max(map(len, rows))
    ids = np.array([row + [0] * (longest - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": (ids > 0).astype(np.int64)}


# What a page's Python takes of the reader's own.
GIVEN = {
    "huggingface.md": {"tokenizer": tokenizer},
    "quickstart.md": {"array": np.ones((2, 16), np.float32)},
    "training.md": {"batches": [(np.ones((8, 16), np.float32), np.zeros(8, np.int64))] * 2},
}


def check_negated(names):
    np.testing.assert_array_equal(names["z"], -names["y"])


def check_generated(names):
    assert names["scores"].shape == (2, 9, 4)
    assert names["tokens"].shape == (1, 16 + 20)


def check_queued(names):
    session = names["fathom"].Session(names["model"])
    for number, result in enumerate(names["results"]):
        want = session.run(["y"], {"x": np.full((1, 16), number, "float32")})[0]
        np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-5)


def check_quantized(names):
    x = np.ones((2, 16), np.float32)
    [want], [got] = (names["fathom"].Session(artifact).run(None, {"x": x}) for artifact in (names["fathom"].compile("model.onnx"), names["artifact"]))
    assert 0 < np.abs(got - want).max() < 0.1 * np.abs(want).max()


def check_shape(name, *shape):
    def check(names):
        assert np.shape(names[name]) == shape

    return check


# What must come of a page's Python.
CHECKS = {
    "README.md": check_shape("y", 2, 8),
    "backend.md": check_negated,
    "decoders.md": check_shape("logits", 1, 3, 1000),
    "huggingface.md": check_generated,
    "onnxruntime.md": check_shape("y", 2, 8),
    "python.md": check_shape("outputs", 1, 1, 4, 1, 1),
    "quantizing.md": check_quantized,
    "quickstart.md": check_shape("outputs", 1, 2, 8),
    "serving.md": check_queued,
    "training.md": check_shape("loss"),
}


@pytest.mark.parametrize("page", PAGES)
def test_page(page, tmp_path, monkeypatch):
    names = Reader(tmp_path, monkeypatch).follow(page, **GIVEN.get(page, {}))
    assert page in CHECKS or "fathom" not in names
    if page in CHECKS:
        CHECKS[page](names)


@pytest.mark.parametrize("page", FILES)
def test_every_block_is_run_or_listed(page):
    found = blocks(page)
    assert found or "```" not in FILES[page].read_text()
    listed = NOT_RUN.get(page, {})
    for block in found:
        assert block.stage or block.first in listed, f"{page}:{block.line} has a block that is neither run nor in page_blocks: {block.first}"
    for first in [*listed, *STAGES.get(page, {})]:
        assert first in [block.first for block in found], f"{page} no longer has the block: {first}"
    for first in STAGES.get(page, {}):
        assert [block.first for block in found].count(first) == 1 and first not in listed, f"{page} has more than one block, or is listed twice: {first}"
    for text in PLACEHOLDERS.get(page, {}):
        assert any(text in block.text for block in found if block.language == "sh"), f"{page} no longer says {text}"


def test_lists_name_pages_and_stages_that_exist():
    assert {*NOT_RUN, *STAGES, *PLACEHOLDERS} <= {*FILES}
    for page, stages in STAGES.items():
        for stage in set(stages.values()):
            assert f'"{page}"' in (ROOT / "tests" / stage / "test_pages.py").read_text()


def test_a_block_that_fails_is_told(tmp_path, monkeypatch):
    reader = Reader(tmp_path, monkeypatch)
    reader.run_console(Block("cli.md", 1, "console", "$ echo one\none\n$ echo 12.5 ms, and more\n3.25   ms, ...\n$ true\n"))
    for language, text in (("sh", "false\ntrue\n"), ("sh", "echo $UNKNOWN\n"), ("sh", "cat missing | cat\n"), ("console", "$ echo one\ntwo\n")):
        with pytest.raises(AssertionError):
            getattr(reader, "run_commands" if language == "sh" else "run_console")(Block("cli.md", 1, language, text))


def test_what_a_page_shows_is_a_pattern():
    same = [("a  b", "a b"), ("0.5 s", "12.25 s"), ("a, ..., z", "a, b\nc, z"), ("(a)\n...", "(a)\nb")]
    others = [("a b", "ab"), ("5 s", "6 s"), ("a, ..., z", "a, b"), ("(a", "(b")]
    for shown, printed, is_same in [(*pair, pair in same) for pair in same + others]:
        assert bool(re.fullmatch(pattern_of(shown), printed)) == is_same, shown


@pytest.fixture(scope="module")
def options_of():
    """The options of each command, by its help."""
    commands = re.findall(r"^  ([a-z]+) +\S", fathom("--help"), re.M)
    return {command: set(re.findall(r"(?<![\w-])--?\w[\w-]*", fathom(command, "--help"))) for command in commands}


@pytest.mark.parametrize("page", FILES)
def test_commands_among_text_have_the_options_that_they_name(page, options_of):
    for command, words in re.findall(r"`fathom ([a-z]+)\b([^`]*)`", FILES[page].read_text()):
        unknown = set(re.findall(r"(?<!\S)--?\w[\w-]*", words)) - options_of.get(command, set())
        assert command in {*options_of, "help"} and (command == "help" or not unknown), f"{page} says fathom {command}{words}; unknown: {unknown}"
