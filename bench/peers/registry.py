"""Whom models can be measured beside, and how a peer is installed: from PyPI, into an environment of its own, when it is asked for."""

import dataclasses
import pathlib
import subprocess
import sys


class Unavailable(Exception):
    """Why a peer cannot take part."""


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    environment: str = ""  # empty: the project's own has what it needs
    packages: tuple = ()


_TORCH = ("torch==2.15.0", "onnx2torch==1.5.15", "onnx==1.23.2")
PEERS = {
    peer.name: peer
    for peer in (
        Peer("onnxruntime"),
        Peer("torch", "torch", _TORCH),
        Peer("torch-compile", "torch", _TORCH),
        Peer("openvino", "openvino", ("openvino==2026.4.1",)),
        Peer("iree", "iree", ("iree-base-compiler[onnx]==3.13.0", "iree-base-runtime==3.13.0")),
        Peer("tvm", "tvm", ("apache-tvm==0.27.0.post1", "onnx==1.23.2")),
    )
}
# Every comparison has it: results are checked against its.
REFERENCE = "onnxruntime"


def parse_peers(text):
    """Names separated by commas, or `all`; the reference comes first and always."""
    names = list(PEERS) if text == "all" else [name for name in text.split(",") if name]
    for name in names:
        if name not in PEERS:
            raise ValueError(f"there is no peer '{name}'; known are {', '.join(PEERS)} and all")
    return [PEERS[name] for name in dict.fromkeys([REFERENCE, *names])]


def last_words(text):
    """The line of a failed installation that says why."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it says nothing"])[-1].removeprefix("ERROR:").strip()


def install(peer, folder):
    """The interpreter to run the peer with; installs what is missing."""
    if not peer.environment:
        return pathlib.Path(sys.executable)
    home = pathlib.Path(folder) / peer.environment
    python, stamp, wanted = home / "bin/python", home / "installed", "\n".join(peer.packages)
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"installing {' '.join(peer.packages)} into {home}", file=sys.stderr)
    for command in (
        [sys.executable, "-m", "venv", home],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.packages],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"cannot be installed: {last_words(done.stderr)}")
    stamp.write_text(wanted)
    return python
