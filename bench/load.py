"""What else the machine does meanwhile: where other processes take much of it, times of several threads say little."""

import os
import pathlib
import time

PROC = pathlib.Path("/proc")


def busy_seconds(text):
    """CPU time of everybody since the start, and what the machine's host took away, as /proc/stat tells it."""
    user, nice, system, _, _, interrupts, soft_interrupts, stolen = map(int, text.split("\n", 1)[0].split()[1:9])
    return (user + nice + system + interrupts + soft_interrupts + stolen) / os.sysconf("SC_CLK_TCK")


def used_seconds(text):
    """CPU time of a process and of those it started that have ended, as its file /proc/PID/stat tells it. Its name, which comes before, may hold anything."""
    fields = text.rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


class Load:
    """The share of all CPUs that others than these processes and this one take from now on."""

    def __init__(self, processes):
        self.processes = [os.getpid(), *processes]
        self.start, self.before = time.perf_counter(), self.others()

    def others(self):
        try:
            own = sum(used_seconds((PROC / str(process) / "stat").read_text()) for process in self.processes)
            return busy_seconds((PROC / "stat").read_text()) - own
        except OSError:  # no Linux, or one of the processes has ended
            return None

    def share(self):
        now, seconds = self.others(), time.perf_counter() - self.start
        if now is None or self.before is None or not seconds:
            return None
        return max(0.0, now - self.before) / seconds / os.cpu_count()
