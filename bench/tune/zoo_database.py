#!/usr/bin/env python3
"""Makes the database of schedules that comes with Fathom, `--db zoo`: networks of models/, tuned for machines that need not be at hand.

    zoo_database.py [NETWORK ...] [--machine CPU ...] [--tune static:N] [--folder share/tuned]

For each machine, what its file has already is kept where nothing better is found, so that networks and machines may be added one by
one; the next build takes the files in. With --tune measure:N [--measure-on ssh://BOARD] the machine itself decides.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from zoo import ALL, BUILD, ROOT, model_file  # noqa: E402

TOOL = BUILD / "bin" / "fathom"


def run(*words, **options):
    return subprocess.run([TOOL, *map(str, words)], check=True, text=True, **options)


def tune(machine, networks, arguments):
    """The entries of the machine's file after all networks, the best of each kernel; and how many there are."""
    file = arguments.folder / f"{machine}.jsonl"
    with tempfile.TemporaryDirectory() as folder:
        database = ["--db", pathlib.Path(folder) / "zoo.db"]
        if file.exists():
            run("db", "import", file, *database, stderr=subprocess.DEVNULL)
        board = ["--measure-on", arguments.measure_on] if arguments.measure_on else []
        for network in networks:
            print(f"\n{network} for {machine}", flush=True)
            run("tune", model_file(network), "--target", machine, "--tune", arguments.tune, *board, *database)
        run("db", "prune", "--keep", "1", *database, stderr=subprocess.DEVNULL)
        lines = run("db", "export", *database, stdout=subprocess.PIPE).stdout
    arguments.folder.mkdir(parents=True, exist_ok=True)
    file.write_text(lines)
    return file, sum('"class"' in line for line in lines.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="all of models/ without any")
    parser.add_argument("--machine", dest="machines", action="append", metavar="CPU", help="repeatable; this machine without it")
    parser.add_argument("--tune", default="static:64", metavar="MODE", help="as `fathom tune` takes it (static:64)")
    parser.add_argument("--measure-on", metavar="ssh://HOST")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "share" / "tuned")
    arguments = parser.parse_args()
    machines = arguments.machines or [run("doctor", "--target", "host", stdout=subprocess.PIPE).stdout.split("cpu:")[1].split()[0]]
    made = [tune(machine, arguments.networks or ALL, arguments) for machine in machines]
    print()
    for file, entries in made:
        print(f"{file}: {entries} kernels, {file.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
