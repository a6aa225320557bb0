"""Turns of a measurement. Several sides take turns in one run, so that a slow moment of the machine meets all of them."""

import argparse
import statistics
import time

# Worker threads of most runtimes spin for a few milliseconds after a run; who comes next must not pay for that.
REST_SECONDS = 0.05
TURN_SECONDS = 0.25
# A single run of a large model says nothing where something else happened meanwhile.
LEAST_RUNS = 3


def turn(run, seconds=TURN_SECONDS):
    """Rests, warms up once, and times the runs that fit one turn, a few at least: (wall, CPU) in milliseconds of each.

    The CPU time is that of all threads of this process; with one thread it is the wall time of a machine with nothing else to do.
    """
    time.sleep(REST_SECONDS)
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < LEAST_RUNS or time.perf_counter() < end:
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        times.append(((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3))
    return times


def without_outliers(times, sigmas=3, clock=0):
    """Those of (wall, CPU) times of which one, by the clock's number, is so many standard deviations from the mean at most."""
    chosen = [pair[clock] for pair in times]
    mean, deviation = statistics.fmean(chosen), statistics.pstdev(chosen)
    return [pair for pair in times if abs(pair[clock] - mean) <= sigmas * deviation]


def wall_times(times):
    return [wall for wall, _ in times]


def times_in_turns(sessions, inputs, rounds):
    """Milliseconds of every run of each of the sessions, which take turns."""
    times = {name: [] for name in sessions}
    for _ in range(rounds):
        for name, session in sessions.items():
            times[name] += wall_times(turn(lambda: session.run(None, inputs)))
    return times


def positive(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError("at least 1 is wanted")
    return int(text)


def thread_counts(text):
    if not all(word.isascii() and word.isdigit() and int(word) for word in text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers of threads, such as 1,2")
    return [int(word) for word in text.split(",")]


def quantiles(values):
    """Median, tenth and ninetieth percentile and least of some values."""
    ordered = sorted(values)
    return {
        "median": statistics.median(ordered),
        "p10": ordered[len(ordered) // 10],
        "p90": ordered[len(ordered) * 9 // 10],
        "min": ordered[0],
    }
