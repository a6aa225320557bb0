"""Processes that run one model, of several sides and with several numbers of threads, measured in turns."""

import json
import os
import statistics
import subprocess

from load import Load
from peers.registry import Unavailable
from report import describe
from timing import TURN_SECONDS
from zoo import BUILD


def register_times(threads, cpus):
    """Milliseconds of the same work on registers alone in every thread, for a turn."""
    command = [BUILD / "bin/machine_bench", str(threads), str(TURN_SECONDS / 2)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, cpus)).stdout)


def cpus_of(turn, threads, available):
    """The CPUs for so many threads in this round: neighbours, beginning with another one in every round."""
    available = sorted(available)
    return sorted({available[(turn + i) % len(available)] for i in range(max(1, threads))})


def take_turns(model, sides, rounds, data, leave_out):
    """Times `sides`, processes by number of threads and name, and adds what it finds to `data`.

    All take a turn in every round, so that times with one number of threads can be compared with those with another. CPUs of a virtual
    machine are not equally fast: those with the same number of threads have the same CPUs in a round, and others in the next one. Who
    fails is left out from then on, after `leave_out(threads, name, reason)`.
    """
    available = os.sched_getaffinity(0)
    times, registers = {side: [] for side in sides}, {threads: [] for threads, _ in sides}
    load = Load(process.process.pid for process in sides.values())
    for turn in range(rounds):
        for (threads, name), process in list(sides.items()):
            try:
                times[threads, name] += process.ask("turn", seconds=TURN_SECONDS, cpus=cpus_of(turn, threads, available))["times"]
            except Unavailable as reason:
                leave_out(threads, name, reason)
                del sides[threads, name], times[threads, name]
        for threads, found in registers.items():
            found += register_times(threads, cpus_of(turn, threads, available))
    data["loads"].append({"model": model, "others": load.share()})
    data["registers"] += [{"model": model, "threads": threads, "ms": statistics.median(found)} for threads, found in registers.items()]
    data["benchmarks"] += [describe(model, threads, name, found) for (threads, name), found in times.items()]
