"""fathom db: databases of schedules, and what is wrong with them, with lines of them, and with the command."""

import hashlib
import json
import sqlite3

import pytest
from support.networks import relu_model


def entry(kernel="kernel", **changes):
    line = {
        "kernel": hashlib.sha256(kernel.encode()).hexdigest(),
        "class": "contract",
        "sizes": [1, 64],
        "target": "aarch64-unknown-linux-gnu:neoverse-v1",
        "machine": "m1",
        "generator": "1",
        "fp": "fast",
        "threads": 16,
        "schedule": {"tile_m": 4},
        "found": "static",
        "cycles": 1000.5,
        "samples": 0,
        "nanoseconds": 0,
        "spread": 0,
        "time": 1700000000,
        "provenance": "",
    }
    return {**line, **changes}


def lines(*entries, kernel="kernel"):
    text = {"kernel": hashlib.sha256(kernel.encode()).hexdigest(), "text": kernel}
    return "".join(json.dumps(line) + "\n" for line in ({"fathom-schedules": 1}, text, *entries))


@pytest.fixture
def db(fathom, tmp_path):
    """Runs an action on the database x.db, after what it takes is there."""

    def run(*words, text=None, name="x.db"):
        if text is not None:
            (tmp_path / "in.jsonl").write_text(text)
        return fathom("db", *words, "--db", name)

    return run


@pytest.fixture
def filled(db):
    db("import", "in.jsonl", text=lines(entry(), entry(schedule={"tile_m": 5}, samples=3, nanoseconds=1500, found="measured"))).expect(0)
    return db


def test_what_there_is(filled):
    result = filled("list").expect(0, "2 entries in ")
    first, second = result.out.splitlines()
    assert "contract" in first and "1.5 us (measured)" in first and "1000 cycles (static)" in second
    everything = json.loads(filled("list", "--json").expect(0).out)
    assert [e["schedule"]["tile_m"] for e in everything] == [5, 4]
    shown = filled("show", first.split()[0]).expect(0).out
    assert "schedule    tile_m: 5" in shown and "measured, 2023-11-14 22:13 UTC" in shown and "\n  kernel\n" in shown
    whole = json.loads(filled("show", everything[1]["id"], "--json").expect(0).out)
    assert whole["text"] == "kernel" and whole["cycles"] == 1000.5


def test_from_one_to_another(filled, tmp_path):
    text = filled("export").expect(0).out
    filled("export", "-o", "out.jsonl").expect(0)
    assert (tmp_path / "out.jsonl").read_text() == text
    filled("import", "out.jsonl", name="y.db").expect(0, "2 entries read")
    filled("merge", "y.db", name="z.db").expect(0, "2 entries read")
    for name in "y.db", "z.db":
        assert filled("export", name=name).expect(0).out == text
    filled("prune", "--keep", "1").expect(0, "1 entries removed")
    assert '"tile_m":5' in filled("export").expect(0).out
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith(("-wal", "-shm"))]


def test_the_users_database(fathom, tmp_path):
    (tmp_path / "in.jsonl").write_text(lines(entry()))
    env = {"XDG_DATA_HOME": str(tmp_path / "data"), "FATHOM_DB": ""}
    fathom("db", "list", env=env).expect(1, "[F1001]", "there is no database", "schedules.db", "hint:")
    fathom("db", "import", "in.jsonl", env=env).expect(0)
    assert (tmp_path / "data/fathom/schedules.db").exists()
    fathom("db", "list", env=env).expect(0, "1 entries")
    fathom("db", "list", env={**env, "FATHOM_DB": "none"}).expect(2, "[F2001]", "no database is named")
    fathom("db", "list", env={**env, "FATHOM_DB": "other.db"}).expect(1, "[F1001]", "other.db")


def test_usage(filled):
    filled().expect(2, "[F2001]", "ACTION is missing")
    filled("frob").expect(2, "[F2001]", "no action 'frob'")
    filled("show").expect(2, "[F2001]", "ENTRY is missing")
    filled("import").expect(2, "[F2001]", "FILE is missing")
    filled("list", "x").expect(2, "[F2001]", "unexpected argument 'x'")
    filled("merge", "y.db", "z.db").expect(2, "[F2001]", "unexpected argument 'z.db'")
    filled("prune", "--keep", "-1").expect(2, "[F2001]", "a whole number")
    filled("list", name="none").expect(2, "[F2001]", "'none'")
    filled("show", "f00d").expect(1, "[F1016]", "no entry 'f00d'")
    filled("show", "").expect(1, "[F1016]", "2 entries begin with ''")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "does not begin with"),
        ("hello\n", "line 1 of 'in.jsonl' is not JSON"),
        ('{"fathom-schedules": 2}\n', "has version 2"),
        (lines(entry("another kernel")), "line 3 of 'in.jsonl': no line before it has the kernel"),
        (lines(entry(schedule={"tile_m": 99})), "line 3 of 'in.jsonl': tile_m = 99 is outside [1, 32]"),
        (lines(entry(schedule={"tile": 4})), "has no knob 'tile'"),
        (lines(entry(**{"class": "poetry"})), "no class of kernels 'poetry'"),
        (lines(entry(cycles=0)), "neither cycles nor nanoseconds"),
        (lines(entry(), entry(threads=0)), "line 4 of 'in.jsonl': the entry's threads are 0"),
        (lines(entry()) + "[" * 1000000, "nests too deeply"),
    ],
)
def test_wrong_lines(db, tmp_path, text, message):
    db("import", "in.jsonl", text=text).expect(1, "[F1016]", message)
    assert db("list").expect(0).out == ""


def test_files_that_are_missing(filled, tmp_path):
    filled("import", "nothing.jsonl").expect(1, "[F1001]", "nothing.jsonl")
    filled("merge", "nothing.db").expect(1, "[F1001]", "nothing.db")
    filled("prune", name="nothing.db").expect(1, "[F1001]", "nothing.db")
    assert not (tmp_path / "nothing.db").exists()
    filled("import", "in.jsonl", name="no/where.db").expect(1, "[F1014]", "where.db")
    filled("export", "-o", "no/where.jsonl").expect(1, "[F1014]", "where.jsonl")
    filled("list", name=".").expect(1, "[F1001]", "not a regular file")


def change(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_files_that_are_no_databases(filled, tmp_path):
    (tmp_path / "text.db").write_text("not a database, but a long text. " * 100)
    change(tmp_path / "songs.db", "CREATE TABLE songs (name TEXT)")
    (tmp_path / "half.db").write_bytes((tmp_path / "x.db").read_bytes()[:5000])
    for words in ("list",), ("export",), ("show", "0"), ("import", "in.jsonl"), ("merge", "x.db"), ("prune",):
        for name in "text.db", "songs.db", "half.db":
            filled(*words, name=name).expect(1, "[F1015]", name, "hint:")
    filled("merge", "text.db").expect(1, "[F1015]", "text.db")


def test_a_newer_version(filled, tmp_path):
    change(tmp_path / "x.db", "PRAGMA user_version = 99")
    for words in ("list",), ("import", "in.jsonl"), ("prune",):
        filled(*words).expect(1, "[F1015]", "has version 99", "hint: use the newer fathom")


@pytest.mark.parametrize(
    "statement, message",
    [
        ("UPDATE entries SET schedule = 'tile_m'", "its schedule cannot be read"),
        ("UPDATE entries SET sizes = 'many'", "its sizes cannot be read"),
        ("UPDATE entries SET fp = 'sloppy'", "its floating-point mode cannot be read"),
        ("UPDATE entries SET target = x'ff'", "the entry's target is not UTF-8"),
        ("UPDATE entries SET cycles = 9e999", "the entry's cycles are not a number"),
    ],
)
def test_damaged_entries(filled, tmp_path, statement, message):
    change(tmp_path / "x.db", statement)
    filled("list").expect(1, "[F1016]", "is damaged", message)
    filled("merge", "x.db", name="y.db").expect(1, "[F1016]", message)
    assert filled("list", name="y.db").expect(0).out == ""


def test_entries_that_another_database_should_not_have(filled, tmp_path):
    change(tmp_path / "x.db", "UPDATE entries SET schedule = 'tile_m: 99'")
    filled("list").expect(0)
    filled("merge", "x.db", name="y.db").expect(1, "[F1016]", "of '", "tile_m = 99 is outside [1, 32]")


def test_names_do_not_steer_the_terminal(db):
    db("import", "in.jsonl", text=lines(entry(target="\x1b[31mred", provenance="\x1b[2J"))).expect(0)
    shown = db("list").expect(0).out
    assert "\x1b" not in shown + db("show", shown.split()[0]).expect(0).out and "\\x1b[31mred" in shown


def test_a_compilation_takes_the_option(fathom, save):
    fathom("compile", save(relu_model()), "-o", "x.fathom", "--db", "none").expect(0)
    fathom("compile", save(relu_model()), "-o", "x.fathom", "--db", "none", "--db", "none").expect(2, "given twice")
