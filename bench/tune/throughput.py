#!/usr/bin/env python3
"""How many schedules a second are judged, by the draft and by their code, with one thread and with all.

    throughput.py [GOOGLE BENCHMARK'S OPTIONS]

"items_per_second" is schedules; that of `code` with all threads over that with one is how far a search scales.
"""
import os
import pathlib
import sys

BUILD = pathlib.Path(os.environ.get("FATHOM_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))

if __name__ == "__main__":
    if {"-h", "--help"} & set(sys.argv[1:]):
        sys.exit(print(__doc__))
    os.execv(BUILD / "bin/judge_bench", ["judge_bench", *sys.argv[1:]])
