"""A server of PostgreSQL of its own: in a folder that goes away with it, on a socket there, for nobody else."""
import contextlib
import getpass
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time


def programs():
    """The folder of the newest server that is installed."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    assert found, "the tests need the Debian package postgresql, which ./dev installs"
    return found[-1].parent


class Server:
    def __init__(self, folder):
        self.folder, self.data, self.process = folder, folder / "data", None
        # It refuses to be run by root; the package brings a user for it.
        self.user = "postgres" if os.geteuid() == 0 else getpass.getuser()
        self.options = {"user": self.user, "group": self.user, "extra_groups": []} if os.geteuid() == 0 else {}
        if self.options:
            shutil.chown(folder, self.user, self.user)
        self.run("initdb", "-D", self.data, "-U", "fathom", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        self.start()

    def run(self, program, *words, **options):
        result = subprocess.run([programs() / program, *map(str, words)], capture_output=True, text=True, cwd=self.folder, **self.options, **options)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def start(self):
        """Waits until it answers."""
        settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off"]
        with open(self.folder / "log", "ab") as log:
            words = [programs() / "postgres", "-D", self.data, *settings]
            self.process = subprocess.Popen(words, stdout=log, stderr=log, cwd=self.folder, start_new_session=True, **self.options)
        for _ in range(300):
            ready = subprocess.run([programs() / "pg_isready", "-q", "-h", self.folder], check=False)
            if ready.returncode == 0:
                return
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        raise AssertionError("the server does not start:\n" + (self.folder / "log").read_text())

    def stop(self):
        """At once: whoever is connected is cut off."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(30)

    def address(self, database="postgres", user="fathom"):
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def sql(self, text, database="postgres"):
        """What psql prints of it, without ornament."""
        return self.run("psql", "-h", self.folder, "-U", "fathom", "-qAtX", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", text)

    def fresh(self, name):
        """The address of a new database."""
        self.sql(f'CREATE DATABASE "{name}"')
        return self.address(name)


@contextlib.contextmanager
def server():
    # The names of sockets are short.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fathom-pg-", dir="/tmp"))
    made = None
    try:
        made = Server(folder)
        yield made
    finally:
        if made:
            made.stop()
        shutil.rmtree(folder, ignore_errors=True)
