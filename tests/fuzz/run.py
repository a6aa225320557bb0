"""Fuzzing by hand; ./dev fuzz calls it.

  run.py SECONDS [graphs|files|targets]   new cases for so long, of one kind or all; each failure is made small and saved
  run.py graphs|files SEED NUMBER         one case again
  run.py FOLDER                           a saved case again"""
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
TARGETS = ["importer", "artifact", "npy", "plan", "machine"]
REDUCE_SECONDS = 60


def for_seconds(kind, seconds, seed):
    """True where nothing failed."""
    last = time.monotonic()

    def report(run):
        nonlocal last
        if time.monotonic() - last > 30:
            last = time.monotonic()
            print(f"  {run.summary()}", flush=True)

    print(f"{kind}: {seconds:.0f} s with seed {seed}", flush=True)
    run = campaign.Campaign(kind, seed).run(seconds=seconds, report=report)
    print(f"  {run.summary()}")
    for reason, count in run.refusals.most_common(20):
        print(f"  {count} x {reason}")
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
    if len(arguments) == 3 and arguments[0] in ("graphs", "files"):
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
    if not 1 <= len(arguments) <= 2 or not arguments[0].isdigit() or arguments[1:] and arguments[1] not in ("graphs", "files", "targets"):
        sys.exit(__doc__)
    kinds = arguments[1:] or ["graphs", "files", "targets"]
    seconds = int(arguments[0]) / len(kinds)
    seed = int(os.environ.get("FATHOM_TEST_SEED", random.SystemRandom().randrange(1 << 31)))
    results = [targets(seconds / len(TARGETS)) if kind == "targets" else for_seconds(kind, seconds, seed) for kind in kinds]
    return all(results)


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
