"""The blocks of code of README.md and of the users' pages, and a reader who runs them in order, in a folder that the page's own commands fill.

The language of a block says what it is: `sh` are commands, `console` commands behind `$ ` with what they print, `python` goes on from the blocks of
Python before it, `cmake` is of a project's CMakeLists.txt. Others have nothing to run: page_blocks has them.
"""
import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

import fathom

from support.page_blocks import NOT_RUN, PLACEHOLDERS, STAGES
from support.page_files import provide
from support.tool import ROOT, TOOL

FILES = {path.name: path for path in [ROOT / "README.md", *sorted((ROOT / "docs/user").glob("*.md"))]}
FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.M | re.S)
# What a user of this machine has set or installed changes nothing.
UNSET = ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "FATHOM_DB", "FATHOM_CACHE", "POCL_CACHE_DIR"]


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str

    @property
    def first(self):
        return self.text.split("\n")[0]

    @property
    def stage(self):
        """The stage of the tests that runs it, or None."""
        if self.first in NOT_RUN.get(self.page, {}) or self.language not in KINDS:
            return None
        return STAGES.get(self.page, {}).get(self.first, "python")


def blocks(page):
    text = FILES[page].read_text()
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found[2], re.sub(f"^{found[1]}", "", found[3], flags=re.M)) for found in FENCED.finditer(text)
    ]


def blocks_of(page, stage):
    """Those that a stage runs, which are some."""
    found = [block for block in blocks(page) if block.stage == stage]
    assert found, f"{page} has no block that the stage {stage} runs"
    return found


class Reader:
    """Somebody at a shell and at a prompt of Python, with the tool on the path and at home in a folder that goes away."""

    def __init__(self, folder, monkeypatch, environment=()):
        self.folder, programs, home = (folder / name for name in ("work", "programs", "home"))
        for path in (self.folder, programs, home):
            path.mkdir()
        # As in a checkout that was built.
        (self.folder / "build").mkdir()
        (self.folder / "build/bin").symlink_to(pathlib.Path(TOOL).resolve().parent)
        for name in ("examples", "models", "runtime"):
            (self.folder / name).symlink_to(ROOT / name)
        # What the wheel of the runtime installs.
        script = programs / "fathom-run"
        script.write_text(f"#!{sys.executable}\nfrom fathom.run import main\nraise SystemExit(main())\n")
        script.chmod(0o755)
        path = [programs, pathlib.Path(TOOL).parent, pathlib.Path(sys.executable).parent, os.environ["PATH"]]
        package = pathlib.Path(fathom.__file__).parents[1]
        for name in UNSET:
            monkeypatch.delenv(name, raising=False)
        ours = {"PATH": os.pathsep.join(map(str, path)), "HOME": home, "PYTHONPATH": package, "FATHOM_PYTHON": sys.executable}
        for name, value in {**ours, "EDITOR": "true", "NO_COLOR": "1", **dict(environment)}.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.chdir(self.folder)
        self.names = {}

    def follow(self, page, stage="python", **names):
        """Does what the page says, as far as this stage of the tests can; returns what its Python defined."""
        self.names |= names
        found = blocks_of(page, stage)
        provide(page, "".join(block.text for block in found))
        for block in found:
            print(f"{page}:{block.line}: {block.first}")  # shown where it fails
            KINDS[block.language](self, block)
        return self.names

    def shell(self, page, commands):
        """What commands print, which must succeed."""
        for text, standing_for in PLACEHOLDERS.get(page, {}).items():
            commands = commands.replace(text, standing_for)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"exit code {done.returncode} of {commands}\n{done.stdout}{done.stderr}"
        return done.stdout

    def run_commands(self, block):
        self.shell(block.page, block.text)

    def run_console(self, block):
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.M):
            printed = self.shell(block.page, command)
            assert not shown or re.fullmatch(pattern_of(shown), printed.strip()), f"{command} prints:\n{printed}"

    def run_python(self, block):
        # With the numbers that lines have in the page.
        exec(compile("\n" * block.line + block.text, block.page, "exec"), self.names)

    def run_cmake(self, block):
        """The rest is the least that a project has."""
        lines = ["cmake_minimum_required(VERSION 3.20)", "project(reader CXX)", "set(CMAKE_CXX_STANDARD 20)", "add_executable(program program.cpp)", block.text]
        (self.folder / "CMakeLists.txt").write_text("\n".join(lines))
        self.shell(block.page, "cmake -S . -B build && cmake --build build")


KINDS = {"sh": Reader.run_commands, "console": Reader.run_console, "python": Reader.run_python, "cmake": Reader.run_cmake}


def pattern_of(shown):
    """What may be printed where a page shows this: `...` is anything, numbers with a fraction are measured, and columns as wide as these need."""
    text = re.escape(shown.strip()).replace(r"\.\.\.", "(?s:.*)")
    return re.sub(r"(\\ )+", r"\\s+", re.sub(r"\d+\\\.\d+", r"\\d+\\.\\d+", text))
