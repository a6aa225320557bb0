"""What the page on Android says, as far as it can be run here."""
import re
import struct
import subprocess

from support.pages import Reader
from support.tool import run_tool


def alignments(path):
    """Of the segments that are loaded."""
    data = path.read_bytes()
    [start] = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", data, start + i * size) for i in range(count)]
    return [header[7] for header in headers if header[0] == 1]


def test_page(tmp_path, monkeypatch):
    reader = Reader(tmp_path, monkeypatch)
    reader.follow("android.md", stage="cross")
    artifact, program = reader.folder / "model.fathom", reader.folder / "build-arm64/run_model"
    emulated = ["qemu-aarch64", "-cpu", "cortex-a76", "-L", "/usr/aarch64-linux-gnu", program, artifact]
    printed = {subprocess.run([*emulated, threads], check=True, stdout=subprocess.PIPE, text=True).stdout.split("checksum ")[1] for threads in "13"}
    assert len(printed) == 1 and re.fullmatch(r"[0-9a-f]{16}\n", printed.pop())
    assert len(alignments(artifact)) > 2 and min(alignments(artifact)) >= 65536
    subprocess.run(["aarch64-linux-gnu-strip", "-o", reader.folder / "stripped", artifact], check=True)
    run_tool("inspect", reader.folder / "stripped").expect(1, "[F1011]")
