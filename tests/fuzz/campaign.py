"""Runs many cases in worker processes and collects what failed, reduced."""
import collections
import concurrent.futures
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from case import Outcome

HERE = Path(__file__).parent
# Processor seconds for one case, so that a busy machine is not a hang, and seconds by the clock, for what waits for ever.
PROCESSOR_SECONDS, CLOCK_SECONDS = 30, 400
CASES_PER_PROCESS = 150


class Worker:
    """A worker process; another one takes its place when it ends."""

    def __init__(self):
        self.process = None

    def start(self):
        self.log = tempfile.TemporaryFile()
        self.cases = 0
        self.process = subprocess.Popen([sys.executable, HERE / "worker.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        cwd=tempfile.gettempdir(), env=os.environ | {"FATHOM_CRASH_FOLDER": "", "OMP_NUM_THREADS": "1"})
        self.buffer = b""

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.log.close()
            self.process = None

    def processor_seconds(self):
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def line(self, deadline, processor_deadline):
        """The next line; None at the end of the process, or a text where time ran out."""
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], 1)[0]:
                if time.monotonic() > deadline or self.processor_seconds() > processor_deadline:
                    return "late"
                continue
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def ask(self, job):
        """The outcome and the operators of the case."""
        if self.process is None or self.cases >= CASES_PER_PROCESS:
            self.close()
            self.start()
        self.cases += 1
        phase = "start"
        try:
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        deadline, processor_deadline = time.monotonic() + CLOCK_SECONDS, self.processor_seconds() + PROCESSOR_SECONDS
        while True:
            message = self.line(deadline, processor_deadline)
            if isinstance(message, dict) and "phase" not in message:
                return Outcome(message["kind"], message["detail"]), message["operators"]
            if isinstance(message, dict):
                phase = message["phase"]
                continue
            if message is None:
                status = self.process.wait()
                self.log.seek(0)
                outcome = Outcome("crash", f"while it {phase}s, status {status}\n" + self.log.read()[-3000:].decode(errors="replace"))
            else:
                outcome = Outcome("hang", f"while it {phase}s")
            self.close()
            # What the reference does is not Fathom's doing.
            return (Outcome("skipped", outcome.detail) if phase in ("reference", "generate") else outcome), []


class Campaign:
    """Cases of one kind: `seconds` long, or `count` of them."""

    def __init__(self, kind, seed, workers=None):
        self.kind, self.seed = kind, seed
        self.workers = workers or os.cpu_count()
        self.kinds, self.operators, self.failures, self.refusals = collections.Counter(), collections.Counter(), [], collections.Counter()
        self.lock = threading.Lock()

    def run(self, count=None, seconds=None, first=0, report=lambda campaign: None):
        end = time.monotonic() + seconds if seconds else None
        numbers = iter(range(first, first + count)) if count else iter(range(first, 1 << 31))

        def work():
            worker = Worker()
            while end is None or time.monotonic() < end:
                with self.lock:
                    number = next(numbers, None)
                if number is None:
                    break
                job = {"kind": self.kind, "seed": self.seed, "number": number}
                outcome, operators = worker.ask(job)
                with self.lock:
                    self.kinds[outcome.kind] += 1
                    self.operators.update(operators)
                    if outcome.kind in ("refusal", "skipped"):
                        self.refusals[outcome.detail.split("\n")[0][:160]] += 1
                    if outcome.is_failure:
                        self.failures.append((job, outcome))
                    report(self)
            worker.close()

        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            for future in [pool.submit(work) for _ in range(self.workers)]:
                future.result()
        return self

    def summary(self):
        return ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items())) + f"; {len(self.operators)} operator types"


def saved(job, outcome, worker, seconds):
    """A failure made small and saved, in words."""
    import generate
    import mutate
    import reduce
    folder = Path(os.environ.get("FATHOM_FUZZ_FOUND", Path(tempfile.gettempdir()) / "fathom-fuzz")) / f"{job['kind']}-{job['seed']}-{job['number']}"
    if job["kind"] == "files":
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(mutate.smaller(mutate.file(job["seed"], job["number"]), outcome, worker, seconds))
        return f"saved as {folder}"
    case, outcome = reduce.reduce(generate.graph(job["seed"], job["number"]), outcome, worker, seconds)
    case.save(folder)
    return f"{reduce.text(case)}\n  {outcome.detail}\nsaved as {folder}"
