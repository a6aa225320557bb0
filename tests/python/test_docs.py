"""The commands of the architecture's page do what the page says, and the pages keep their form."""

import re
import shlex
import subprocess

import pytest
from support.tool import ROOT

DOCS = sorted((ROOT / "docs").rglob("*.md"))


def commands(page):
    """The lines of code blocks that call fathom or Python."""
    blocks = re.findall(r"^```\n(.*?)^```", page, re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if line.startswith(("fathom ", "python "))]


def test_the_network_that_is_followed(tmp_path):
    page = (ROOT / "docs/dev/architecture.md").read_text()
    lines = commands(page)
    assert {"--emit " + stage for stage in ("graph", "plan", "kernels", "loops", "llvm", "asm")} <= {
        part for line in lines for part in re.findall(r"--emit \w+", line)
    }
    printed = ""
    for line in lines:
        words = shlex.split(line.replace("examples/", f"{ROOT}/examples/"))
        words[0] = {"fathom": str(ROOT / "build/bin/fathom"), "python": "python"}[words[0]]
        result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert result.returncode == 0, f"{line}\n{result.stderr}"
        printed += result.stdout
    printed += (tmp_path / "small.plan").read_text()
    # What the page quotes of the output, line by line; `...` stands for more.
    quoted = [line for block in re.findall(r"^```\n(.*?)^```", page, re.M | re.S) for line in block.splitlines()]
    quoted = [line for line in quoted if re.match(r"%|  +- kernel: |    class: |      tile_", line)]
    assert len(quoted) >= 6
    for line in quoted:
        start = line.split(" : ...")[0].rstrip()
        assert start in printed, f"nothing prints: {start}"


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def pages_of(toctree):
    """The pages that a list of contents has, as Sphinx reads it: a pattern adds those that are not in it yet."""
    found = []
    for entry in re.findall(r"^   ([\w/*-]+)$", toctree, re.M):
        paths = sorted((ROOT / "docs").glob(entry + ".*"))
        assert paths, f"docs/index.rst has {entry}, which there is not"
        names = [str(path.relative_to(ROOT / "docs").with_suffix("")) for path in paths if path.suffix in (".md", ".rst")]
        found += [name for name in names if "*" not in entry or name not in found]
    return found


def test_every_page_is_in_one_table_of_contents():
    index = (ROOT / "docs/index.rst").read_text()
    found = sorted(name for toctree in index.split(".. toctree::")[1:] for name in pages_of(toctree))
    sources = [*DOCS, *(path for path in (ROOT / "docs").rglob("*.rst") if path.stem != "index")]
    assert found == sorted(str(path.relative_to(ROOT / "docs").with_suffix("")) for path in sources)


def test_rooms_have_pages():
    pages = {path.stem for path in (ROOT / "docs/dev/rooms").glob("*.md")}
    architecture = (ROOT / "docs/dev/architecture.md").read_text()
    for page in pages:
        assert f"rooms/{page}.md" in architecture


@pytest.mark.parametrize("path", [path for path in DOCS if "dev" in path.parts], ids=lambda path: path.stem)
def test_lines_of_developers_pages_are_short(path):
    in_code = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        in_code ^= line.startswith("```")
        if not (in_code or line.startswith("|") or re.search(r"\]\(|`[^`]{60,}`", line)):
            assert len(line) < 120, f"{path.name}:{number} has {len(line)} characters"


def test_paths_in_pages_exist():
    """`compiler/...` and files of rooms that pages name are there."""
    for path in DOCS:
        for name in re.findall(r"`((?:compiler|tests|bench|tools|runtime|python|examples|models|docs)/[\w./-]+\.\w+)`", path.read_text()):
            assert "NAME" in name or (ROOT / name).exists(), f"{path.name} names {name}"


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_blocks_have_lines_of_their_own(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "```" in line:
            assert re.fullmatch(r" *```\w*", line), f"{path.name}:{number} has code among text"
