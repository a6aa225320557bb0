"""What comes with Fathom (`--db zoo`): taken only where it is named, of use for the networks it was made of, and not to be written."""
import json
import subprocess
import sys

import pytest
from support.tool import ROOT, fill

FILES = sorted((ROOT / "share" / "tuned").glob("*.jsonl"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_is_whole_and_part_of_the_program(fathom, file):
    """Its knobs are those of this version, all of it is for its machine, and a kernel has one entry."""
    fathom("db", "import", file, "--db", "x.db").expect(0)
    fathom("db", "prune", "--keep", "1", "--db", "x.db").expect(0, "0 entries removed")
    assert fathom("db", "export", "--db", "x.db").expect(0).out == file.read_text()
    entries = [json.loads(line) for line in file.read_text().splitlines() if '"class"' in line]
    assert entries and {entry["target"].split(":")[1] for entry in entries} == {file.stem}
    shipped = json.loads(fathom("db", "list", "--json", "--db", "zoo").expect(0).out)
    assert len([entry for entry in shipped if entry["target"].endswith(":" + file.stem)]) == len(entries)


def test_it_decides_only_where_it_is_named(fathom):
    """Names of entries in the plan's manifest are those of the database; without it nothing changes."""
    model = fill("gru_2x512")
    words = ["compile", model, "--target", "neoverse-v1", "--emit", "plan"]
    draft = fathom(*words, "--db", "none").expect(0).out
    assert fathom(*words, env={"FATHOM_DB": "", "XDG_DATA_HOME": "/nowhere"}).expect(0).out == draft
    named = fathom(*words, "--db", "zoo").expect(0)
    assert named.out != draft and "warning" not in named.err
    fathom("db", "merge", "zoo", "--db", "copy.db").expect(0)
    assert fathom(*words, "--db", "copy.db").expect(0).out == named.out
    # For another machine there is nothing.
    words[3] = "cortex-a53"
    assert fathom(*words, "--db", "zoo").expect(0).out == fathom(*words, "--db", "none").expect(0).out


def test_it_is_not_written(fathom, tmp_path):
    for words in ("import", FILES[0]), ("merge", "zoo"), ("prune",):
        fathom("db", *words, "--db", "zoo").expect(1, "[F1014]", "part of fathom", "hint:")
    assert not (tmp_path / "zoo").exists()


def test_it_is_made_by_a_command(tmp_path, fathom):
    """Twice the same, but for the time."""
    command = [sys.executable, ROOT / "bench/tune/zoo_database.py", "gru_2x512", "--machine", "cortex-a53", "--tune", "static:2", "--folder", tmp_path]
    made = []
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "cortex-a53.jsonl: " in done.stdout, done.stderr
        made.append([json.loads(line) for line in (tmp_path / "cortex-a53.jsonl").read_text().splitlines()])
    assert len(made[0]) > 4 and [{**line, "time": 0} for line in made[0]] == [{**line, "time": 0} for line in made[1]]
