#!/usr/bin/env python3
"""How the ratios to ONNX Runtime change over commits.

    history.py [--by PERCENT]          what is slower or faster in the last record of each CPU than in the one before
    history.py --record RESULTS.json   adds what `./dev bench models --json RESULTS.json` measured of this commit

Records are lines of JSON in bench/history, a file for each CPU. Ratios are compared, not times: both sides took turns on the same machine, and
machines of one CPU differ in their clocks. A ratio is less than another where it is so by more than --by percent (5 without it) and by more than
the medians' own spread in the two records.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

from report import geometric_mean
from timing import positive

FOLDER = pathlib.Path(__file__).with_name("history")
REFERENCE = "onnxruntime"


def commit():
    """The commit that is measured; one with changes is none."""
    git = lambda *words: subprocess.run(["git", *words], cwd=FOLDER.parent, check=True, capture_output=True, text=True).stdout.strip()
    try:
        return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: git does not say which commit this is: {getattr(error, 'stderr', None) or error}".rstrip())


def record_of(data, named):
    """What is kept of a measurement: {threads: {model: [ratio, spread]}}, and Fathom's times for the gallery, which are never compared.
    The spread is how far both sides' tenth and ninetieth percentiles lie apart."""
    rows = {(row["model"], row["threads"], row["peer"]): row for row in data["benchmarks"] if "peer" in row}
    ratios, times = {}, {}
    for (model, threads, peer), ours in rows.items():
        theirs = rows.get((model, threads, REFERENCE))
        if peer == "fathom" and theirs:
            # Of so many runs the median is known better than one of them.
            spread = sum((row["p90"] - row["p10"]) / row["real_time"] / row["iterations"] ** 0.5 for row in (ours, theirs))
            ratios.setdefault(str(threads), {})[model] = [round(theirs["real_time"] / ours["real_time"], 3), round(spread, 3)]
            times.setdefault(str(threads), {})[model] = float(f"{ours['real_time']:.4g}")
    if not ratios:
        raise ValueError(f"it has no model that both fathom and {REFERENCE} ran")
    context = data["context"]
    return {
        "commit": named, "date": context["date"], "cpu": context["cpu"], "num_cpus": context["num_cpus"], "clock": context["clock"],
        REFERENCE: context["versions"].get(REFERENCE), "ratios": ratios, "milliseconds": times,
    }


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def changes(before, now, percent):
    """(threads, model, ratio before, ratio now) of those that differ by more than that and by more than they are known; the worst first."""
    found = []
    for threads, models in now["ratios"].items():
        for model, (ratio, spread) in models.items():
            old, old_spread = before["ratios"].get(threads, {}).get(model, (None, 0))
            if old and abs(ratio / old - 1) > max(percent / 100, spread + old_spread):
                found.append((threads, model, old, ratio))
    return sorted(found, key=lambda change: change[3] / change[2])


def told(path, percent):
    """The lines about one CPU."""
    *earlier, now = records(path)
    mean = lambda record: {threads: geometric_mean(ratio for ratio, _ in models.values()) for threads, models in record["ratios"].items()}
    means = ", ".join(f"{value:.2f} with {threads} thread{'s' if threads != '1' else ''}" for threads, value in mean(now).items())
    yield f"{now['cpu']}: {now['commit']}, {now['date'][:10]}: {sum(map(len, now['ratios'].values()))} ratios to ONNX Runtime {now[REFERENCE]}, geometric mean {means}"
    # What was measured by another clock cannot be compared.
    comparable = [record for record in earlier if record["clock"] == now["clock"]]
    if not comparable:
        yield "  the first record"
        return
    before = comparable[-1]
    found = changes(before, now, percent)
    yield f"  since {before['commit']}, {before['date'][:10]}: {sum(new < old for *_, old, new in found)} slower, {sum(new > old for *_, old, new in found)} faster"
    for threads, model, old, new in found:
        yield f"    {'slower' if new < old else 'faster'} {model:28} {threads} threads  {old:.2f} -> {new:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=pathlib.Path, metavar="RESULTS.json", help="add what bench models --json wrote")
    parser.add_argument("--by", type=positive, default=5, metavar="PERCENT", help="tell changes of more than this (default: 5)")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.record:
        try:
            new = record_of(json.loads(arguments.record.read_text()), commit())
        except (OSError, ValueError, KeyError, TypeError) as error:
            sys.exit(f"error: {arguments.record} is not what ./dev bench models --json writes: {error}")
        arguments.folder.mkdir(exist_ok=True)
        with open(arguments.folder / f"{re.sub(r'[^a-z0-9]+', '-', new['cpu'])}.jsonl", "a") as file:
            file.write(json.dumps(new) + "\n")
    paths = sorted(arguments.folder.glob("*.jsonl"))
    if not paths:
        sys.exit(f"error: {arguments.folder} has no records yet; --record adds one")
    for path in paths:
        print("\n".join(told(path, arguments.by)))


if __name__ == "__main__":
    main()
