"""Fuzzing by hand; ./dev fuzz calls it.

  run.py SECONDS [graphs|files|targets]        new cases for so long, of one kind or all; each failure is made small and saved
  run.py --count N [--first M] [graphs|files]  so many new cases of one kind or both, from the seed's number M on where it is given
  run.py graphs|files SEED NUMBER              one case again
  run.py FOLDER                                a saved case again

--report FILE, with SECONDS or --count: how far it is and what failed as JSON, written anew with every failure and every few seconds, so that a run
that is cut off keeps what it found; FATHOM_TEST_SEED gives the seed."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import campaign
import generate
import mutate
import reduce

ROOT = Path(__file__).parents[2]
TARGETS = ["importer", "program", "artifact", "npy", "plan", "machine"]
REDUCE_SECONDS = 60


class Report:
    """What a campaign has found so far, in a file: complete whenever it is looked at."""

    def __init__(self, path):
        self.path, self.campaigns = path, {}

    def write(self, run, seconds, is_done=False):
        if self.path is None:
            return
        self.campaigns[run.kind] = {"seed": run.seed, "seconds": round(seconds, 1), "done": is_done, "cases": run.kinds.total(), "outcomes": run.kinds,
                                    "operators": len(run.operators), "refusals": dict(run.refusals.most_common(20)),
                                    "failures": [job | {"outcome": outcome.kind, "detail": outcome.detail} for job, outcome in run.failures]}
        fresh = self.path.with_name(self.path.name + ".new")
        fresh.write_text(json.dumps(self.campaigns, indent=1) + "\n")
        fresh.replace(self.path)


def cases(kind, seed, told, count=None, seconds=None, first=0):
    """So many cases, or for so long. True where nothing failed."""
    start = last = time.monotonic()
    failures = 0

    def report(run):
        nonlocal last, failures
        now = time.monotonic()
        if now - last > 30 or len(run.failures) > failures:
            told.write(run, now - start)
        if now - last > 30:
            last = now
            print(f"  {run.summary()}", flush=True)
        failures = len(run.failures)

    print(f"{kind}: {f'{count} cases' if count else f'{seconds:.0f} s'} with seed {seed}{f' from {first} on' if first else ''}", flush=True)
    run = campaign.Campaign(kind, seed).run(count=count, seconds=seconds, first=first, report=report)
    told.write(run, time.monotonic() - start, is_done=True)
    print(f"  {run.summary()}")
    for reason, number in run.refusals.most_common(20):
        print(f"  {number} x {reason}")
    worker = campaign.Worker()
    for job, outcome in run.failures:
        print(f"\n{outcome.kind}: {outcome.detail}\nrepeat with: ./dev fuzz {kind} {seed} {job['number']}")
        print(campaign.saved(job, outcome, worker, REDUCE_SECONDS), flush=True)
    worker.close()
    return not run.failures


def targets(seconds):
    """libFuzzer on every target, from the corpus of the tree; what it finds besides stays in build-fuzz."""
    fine = True
    for name in TARGETS:
        corpus, found = ROOT / "build-fuzz/corpus" / name, ROOT / "build-fuzz/found"
        corpus.mkdir(parents=True, exist_ok=True)
        found.mkdir(exist_ok=True)
        print(f"{name}: {seconds:.0f} s", flush=True)
        command = [ROOT / f"build-fuzz/bin/fuzz_{name}", f"-max_total_time={max(1, int(seconds))}", "-timeout=60", "-rss_limit_mb=4096", "-max_len=65536",
                   "-print_final_stats=1", f"-artifact_prefix={found}/{name}-", corpus, ROOT / "tests/fuzz/corpus" / name]
        options = {"ASAN_OPTIONS": "allow_user_poisoning=0:allocator_may_return_null=1:detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
        with tempfile.TemporaryFile() as log:
            status = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | options).returncode
            log.seek(0)
            text = log.read().decode(errors="replace")
        print(text[-6000:] if status else "\n".join(line for line in text.splitlines() if line.startswith("stat::number")), flush=True)
        fine &= status == 0
    return fine


def again(job):
    worker = campaign.Worker()
    outcome = worker.ask(job)[0]
    worker.close()
    print(f"{outcome.kind}: {outcome.detail}" if outcome.detail else outcome.kind)
    return not outcome.is_failure


def main(arguments):
    if len(arguments) == 3 and arguments[0] in ("graphs", "files") and "--count" not in arguments:
        job = {"kind": arguments[0], "seed": int(arguments[1]), "number": int(arguments[2])}
        made = generate.graph(job["seed"], job["number"])
        if made and job["kind"] == "graphs":
            print(reduce.text(made))
        folder = Path(tempfile.gettempdir()) / "fathom-fuzz" / "-".join(arguments)
        folder.mkdir(parents=True, exist_ok=True)
        if job["kind"] == "files":
            (folder / "model.onnx").write_bytes(mutate.file(job["seed"], job["number"]))
        elif made:
            made.save(folder)
        print(f"saved as {folder}")
        return again(job)
    if len(arguments) == 1 and Path(arguments[0]).is_dir():
        return again({"kind": "saved", "folder": str(Path(arguments[0]).resolve())})
    return campaigns(arguments)


def campaigns(arguments):
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--report", type=Path)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(arguments)
    seconds = None if options.count is not None or not options.words or not options.words[0].isdigit() else int(options.words.pop(0))
    known = ["graphs", "files"] if seconds is None else ["graphs", "files", "targets"]
    if (options.count or seconds or 0) < 1 or options.first < 0 or len(options.words) > 1 or not set(options.words) <= set(known):
        sys.exit(__doc__)
    kinds = options.words or known
    seed = int(os.environ.get("FATHOM_TEST_SEED", random.SystemRandom().randrange(1 << 31)))
    told, share = Report(options.report), seconds and seconds / len(kinds)
    results = [targets(share / len(TARGETS)) if kind == "targets" else cases(kind, seed, told, options.count, share, options.first) for kind in kinds]
    return all(results)


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
