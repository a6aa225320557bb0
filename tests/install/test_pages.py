"""What the page on installing says of programs that use the runtime, with a prefix that was moved."""
import os
import shutil

from support.pages import Reader
from support.tool import ROOT


def test_page(prefix, tmp_path, monkeypatch):
    [config] = prefix.rglob("fathom_rt.pc")
    reader = Reader(tmp_path, monkeypatch, {"CMAKE_PREFIX_PATH": prefix, "PKG_CONFIG_PATH": config.parent})
    shutil.copy(ROOT / "examples/apply.cpp", reader.folder / "program.cpp")
    reader.follow("install.md", stage="install")
    assert os.access(reader.folder / "build/program", os.X_OK) and os.access(reader.folder / "a.out", os.X_OK)
