"""Databases of schedules on a server: the same answers as from a file, many programs at once, and what goes wrong on the way."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import threading
import time

import numpy as np
import pytest
from support import board, models, postgres
from support.networks import relu_model
from support.tool import TOOL
from test_database import entry, lines

ON_BOARD = ["--tune", "measure:26", "--measure-on", "ssh://board", "-q"]
MEASURED = dict(samples=3, nanoseconds=1500, found="measured")


@pytest.fixture
def product(save):
    """A single kernel, whose candidates differ."""
    weights = {"w": models.floats(np.random.default_rng(5), 32, 16)}
    return save(models.model([models.node("MatMul", "x w", "y")], [("x", models.FLOAT, [16, 32])], [("y", models.FLOAT, [16, 16])], weights))


@pytest.fixture(scope="session")
def server():
    with postgres.server() as running:
        yield running


@pytest.fixture
def address(server, tmp_path):
    """Of a database of this test's own."""
    return server.fresh(tmp_path.name)


@pytest.fixture
def db(fathom, tmp_path, address):
    def run(*words, text=None, name=address):
        if text is not None:
            (tmp_path / "in.jsonl").write_text(text)
        return fathom("db", *words, "--db", name)

    return run


def test_a_server_answers_like_a_file(db, address, tmp_path):
    # Names that collations of languages would put in another order.
    text = lines(entry(), entry(target="B"), entry(target="a"), entry(target="_", schedule={"tile_m": 5}, **MEASURED))
    db("list").expect(0, "0 entries")
    for name in address, "x.db":
        db("import", "in.jsonl", text=text, name=name).expect(0, "4 entries read")
    exported = db("export").expect(0).out
    assert exported == db("export", name="x.db").expect(0).out and exported.count("\n") == 6
    assert db("list").expect(0, f"4 entries in {address}").out == db("list", name="x.db").expect(0).out
    one = json.loads(db("list", "--json").expect(0).out)[0]["id"]
    assert db("show", one[:10], "--json").expect(0).out == db("show", one[:10], "--json", name="x.db").expect(0).out
    # Of two entries of one schedule, both keep the same one.
    for name in address, "x.db":
        db("import", "in.jsonl", text=lines(entry(time=1800000000, cycles=7), entry(target="_", schedule={"tile_m": 5}, samples=2, nanoseconds=1, found="measured")), name=name).expect(0)
    assert db("export").expect(0).out == db("export", name="x.db").expect(0).out
    db("merge", address, name="y.db").expect(0, "4 entries read")
    assert db("export", name="y.db").expect(0).out == db("export").expect(0).out
    db("prune", "--keep", "1").expect(0)
    db("prune", "--keep", "1", name="x.db").expect(0)
    assert db("export").expect(0).out == db("export", name="x.db").expect(0).out
    db("merge", "y.db").expect(0, "4 entries read")
    assert db("export").expect(0).out == db("export", name="y.db").expect(0).out


def test_eight_processes_write_into_one_server(db, address, tmp_path):
    """All of them make the tables, and none loses what another wrote."""
    per_import, imports, processes = 25, 3, 8

    def write(process):
        for round_ in range(imports):
            path = tmp_path / f"{process}.{round_}.jsonl"
            path.write_text(lines(*(entry(machine=f"{process}.{round_}.{i}") for i in range(per_import))))
            subprocess.run([TOOL, "db", "import", path, "--db", address], check=True, capture_output=True)

    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        for done in [pool.submit(write, process) for process in range(processes)]:
            done.result()
    machines = {found["machine"] for found in json.loads(db("list", "--json").expect(0).out)}
    assert machines == {f"{p}.{r}.{i}" for p in range(processes) for r in range(imports) for i in range(per_import)}


def test_tuning_fills_a_server_that_compiling_takes(fathom, product, address, tmp_path):
    fathom("tune", product, *ON_BOARD, "--db", address, env=board.environment(tmp_path)).expect(0)
    listed = {found["id"] for found in json.loads(fathom("db", "list", "--json", "--db", address).expect(0).out)}
    fathom("db", "merge", address, "--db", "x.db").expect(0)
    # By the environment as by the option, from the server as from a file.
    fathom("compile", product, "-q", "-o", "a.fathom", env={"FATHOM_DB": address}).expect(0)
    fathom("compile", product, "--db", "x.db", "-q", "-o", "b.fathom").expect(0)
    assert (tmp_path / "a.fathom").read_bytes() == (tmp_path / "b.fathom").read_bytes()
    kernels = json.loads(fathom("inspect", "a.fathom", "--json").expect(0).out)["kernels"]
    assert {kernel["schedule_entry"] for kernel in kernels if "schedule_entry" in kernel} <= listed


def test_wrong_lines_and_entries(db, address, server, tmp_path):
    db("import", "in.jsonl", text=lines(entry(), entry(schedule={"tile_m": 99}))).expect(1, "[F1016]", "tile_m = 99")
    db("import", "in.jsonl", text=lines(entry(provenance="zero \0 byte"))).expect(1, "[F1015]", "0x00")
    assert db("list").expect(0).out == ""
    db("import", "in.jsonl", text=lines(entry(provenance="'; DROP TABLE fathom.entries; --"))).expect(0)
    server.sql("UPDATE fathom.entries SET sizes = 'many'", tmp_path.name)
    db("list").expect(1, "[F1016]", "is damaged", "its sizes cannot be read")


def test_other_tables_and_versions(db, address, server, tmp_path, fathom, save):
    db("import", "in.jsonl", text=lines(entry())).expect(0)
    server.sql("UPDATE fathom.schedules_version SET number = 99", tmp_path.name)
    for words in ("list",), ("import", "in.jsonl"), ("prune",):
        db(*words).expect(1, "[F1015]", "has version 99", "hint: use the newer fathom")
    server.sql("DROP TABLE fathom.schedules_version", tmp_path.name)
    db("list").expect(1, "[F1015]", "is not one of schedules")
    fathom("compile", save(relu_model()), "-o", "x.fathom", "--db", address).expect(0, "warning: [F1015]", "is not one of schedules")


def test_who_may_only_read(db, address, server, tmp_path):
    db("import", "in.jsonl", text=lines(entry())).expect(0)
    server.sql(f'CREATE ROLE "reads {tmp_path.name}" LOGIN', tmp_path.name)
    reader = server.address(tmp_path.name, user=f"reads%20{tmp_path.name}")
    db("list", name=reader).expect(1, "[F1001]", "may not be read", "hint:")
    server.sql(f'GRANT USAGE ON SCHEMA fathom TO "reads {tmp_path.name}"; GRANT SELECT ON ALL TABLES IN SCHEMA fathom TO "reads {tmp_path.name}"', tmp_path.name)
    db("list", name=reader).expect(0, "1 entries")
    db("import", "in.jsonl", name=reader).expect(1, "[F1014]", "may not be written", "permission denied")


@pytest.mark.parametrize(
    "name, texts",
    [
        ("postgresql://nobody.invalid/x", ["[F1001]", "cannot be reached", "nobody.invalid"]),
        ("postgresql://127.0.0.1:1/x", ["[F1001]", "cannot be reached", "refused"]),
        ("postgresql://127.0.0.1:port/x", ["[F1001]", "port"]),
        ("postgresql://[::1/x", ["[F1015]", "no address of a database"]),
        ("postgresql://h/x?color=red", ["[F1015]", "no address of a database", "color"]),
        ("postgresql:x", ["[F1015]", "no address of a database"]),
    ],
)
def test_addresses_that_lead_nowhere(fathom, save, name, texts):
    fathom("db", "list", "--db", name).expect(1, *texts)
    result = fathom("compile", save(relu_model()), "-o", "x.fathom", "--db", name).expect(0, "warning: " + texts[0], *texts[1:])
    assert "going on without it" in result.err


def test_passwords_are_told_to_nobody(fathom):
    for name in "postgresql://me:secret@127.0.0.1:1/x", "postgresql://127.0.0.1:1/x?password=secret", "postgresql://me:sec@ret@[::1/x", "postgresql://me:secret%zz@h/x":
        result = fathom("db", "list", "--db", name)
        result.expect(1, "***")
        assert "secret" not in result.err and "sec@" not in result.err and "ret@" not in result.err


def test_without_the_library(fathom):
    fathom("db", "list", "--db", "postgresql://h/x", env={"FATHOM_LIBPQ": "no-such-library.so"}).expect(1, "[F1001]", "client library", "libpq5")


def test_a_server_that_says_nothing(fathom):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        name = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/x?connect_timeout=2"
        fathom("db", "list", "--db", name).expect(1, "[F1001]", "timeout expired")


@contextlib.contextmanager
def cut_at(server, word, once=False):
    """The port of a way to the server that is cut as soon as somebody sends the word, each time or once."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(server.folder / ".s.PGSQL.5433"))
    listener.listen()
    was_cut = threading.Event()

    def pump(source, sink, stop):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if stop and word in data and not (once and was_cut.is_set()):
                    was_cut.set()
                    break
                sink.sendall(data)
        for end in source, sink:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                upstream = socket.socket(socket.AF_UNIX)
                upstream.connect(str(server.folder / ".s.PGSQL.5432"))
                for words in (client, upstream, True), (upstream, client, False):
                    threading.Thread(target=pump, args=words, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield was_cut
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        pathlib.Path(server.folder / ".s.PGSQL.5433").unlink()


def test_a_server_that_goes_away_while_it_is_asked(fathom, product, server, address, tmp_path):
    fathom("db", "prune", "--db", address).expect(0)
    draft = fathom("compile", product, "--emit", "plan", "--db", "none").expect(0).out
    with cut_at(server, b"SELECT text") as was_cut:
        result = fathom("compile", product, "--emit", "plan", "--db", address + "&port=5433").expect(0, "warning: [F1001]", "went away", "going on without it")
    assert was_cut.is_set() and result.out == draft
    # What was not committed is not there.
    with cut_at(server, b"COMMIT") as was_cut:
        fathom("tune", product, *ON_BOARD, "--db", address + "&port=5433", env=board.environment(tmp_path)).expect(0, "warning: [F1014]", "went away")
    assert was_cut.is_set() and fathom("db", "list", "--db", address).expect(0).out == ""


def test_a_connection_that_is_lost_is_opened_again(fathom, product, server, address, tmp_path):
    fathom("db", "prune", "--db", address).expect(0)
    with cut_at(server, b"COMMIT", once=True) as was_cut:
        result = fathom("tune", product, *ON_BOARD, "--db", address + "&port=5433", env=board.environment(tmp_path)).expect(0, "went away", "opened once again")
    assert was_cut.is_set() and "going on without it" not in result.err
    assert len(json.loads(fathom("db", "list", "--json", "--db", address).expect(0).out)) > 1


def test_a_server_that_is_stopped_while_a_model_is_tuned(product, tmp_path):
    with postgres.server() as own:
        options = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1", **board.environment(tmp_path, "slow")})
        tuning = subprocess.Popen([TOOL, "tune", product, *ON_BOARD, "--db", own.address()], **options)
        while own.sql("SELECT to_regclass('fathom.entries')").strip() == "" or own.sql("SELECT count(*) FROM fathom.entries").strip() == "0":
            assert tuning.poll() is None, tuning.communicate()
            time.sleep(0.02)
        own.stop()
        out, err = tuning.communicate(timeout=120)
        assert tuning.returncode == 0 and "warning: [F1014]" in err and "went away" in err, err
        assert "contract" in out and "ratio" in out
        # What was written before is there when it comes back.
        own.start()
        assert int(own.sql("SELECT count(*) FROM fathom.entries")) > 0
