"""A server of two models in a process of its own, as people start it."""

import re
import signal
import subprocess
import sys

import fathom
import pytest
from support.networks import perceptron


class Server:
    def __init__(self, folder, *words, program=("-m", "fathom.serve", "--port", "0")):
        self.log = open(folder / "server.log", "w+")
        command = [sys.executable, *map(str, program), *map(str, words)]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.line = self.process.stdout.readline()
        found = re.search(r"http://([\d.]+):(\d+)$", self.line.strip())
        assert found, f"{self.line!r}, {self.told()}"
        self.host, self.port = found[1], int(found[2])
        self.url = f"{self.host}:{self.port}"

    def told(self):
        self.log.seek(0)
        return self.log.read()

    def end(self):
        """Asks it to end and gives the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code

    def memory(self):
        """Bytes that the process has in memory."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * 4096


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """The paths of a perceptron, for any batch up to 16, and of one for a fixed batch."""
    folder = tmp_path_factory.mktemp("models")
    fathom.compile(perceptron(), str(folder / "mlp.fathom"), dim={"batch": (1, 16)})
    fathom.compile(perceptron(batch=2, width=40), str(folder / "fixed.fathom"))
    return folder


def starting(folder):
    """Starts servers; at the end each must end well, without a word of what Python says of errors that nobody caught."""
    servers = []

    def start(*words, **options):
        servers.append(Server(folder, *words, **options))
        return servers[-1]

    yield start
    for server in servers:
        assert server.end() == 0, server.told()
        assert "Traceback" not in server.told(), server.told()
        server.log.close()


@pytest.fixture
def serve(tmp_path):
    yield from starting(tmp_path)


@pytest.fixture(scope="module")
def server(models, tmp_path_factory):
    for start in starting(tmp_path_factory.mktemp("server")):
        yield start(models / "mlp.fathom", f"other={models / 'fixed.fathom'}", "--max-batch", "8", "--max-body", "1")
