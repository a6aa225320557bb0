"""A machine to measure on that is none: what `fathom` calls instead of ssh. Its times depend on the code alone, it takes none to
measure, and with one candidate, the fourth that it sees, it `dies`, `hangs`, is `wrong` or `lies` as FATHOM_TEST_BOARD says; or it is
`slow`. What it tells is in the file that FATHOM_TEST_BOARD_LOG names, a line for each group, and the candidate's time in that of the name with .culprit."""
import hashlib
import os
import pathlib
import platform
import stat
import sys
import time


def environment(folder, misbehaves="", log=""):
    """The variables with which `fathom` measures on it, as ssh://board."""
    script = pathlib.Path(folder) / "ssh"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{__file__}" "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"FATHOM_SSH": str(script), "FATHOM_TEST_BOARD": misbehaves, "FATHOM_TEST_BOARD_LOG": str(log)}


def say(*lines):
    sys.stdout.write("".join(line + "\n" for line in lines))
    sys.stdout.flush()


def nanoseconds(code):
    """Between 100 and 1100 us, and another number for other code."""
    return 100000 + int.from_bytes(hashlib.sha256(code).digest()[:6], "big") % 1000000


def groups(source):
    """The code of the candidates of one group after another."""
    codes = []
    while line := source.readline():
        word, _, rest = line.decode().strip().partition(" ")
        if word == "object":
            codes.append(source.read(int(rest)))
        elif word == "measure":
            yield codes
            codes = []


def find_culprit(codes, log):
    """Its place in the group, or None; which one it is outlives this program."""
    file = pathlib.Path(log + ".culprit")
    if not file.exists() and len(codes) > 3:
        file.write_text(str(nanoseconds(codes[3])))
    times = list(map(nanoseconds, codes))
    culprit = int(file.read_text()) if file.exists() else None
    return times.index(culprit) if culprit in times else None


def measure(misbehaves, log):
    say("fathom-measure 1")
    for codes in groups(sys.stdin.buffer):
        if misbehaves == "slow":
            time.sleep(0.5)
        culprit = find_culprit(codes, log) if misbehaves not in ("", "slow") else None
        answers = [f"kernel {i} ok {t} {t} {t} {t} 9 0" for i, t in enumerate(map(nanoseconds, codes))]
        for i in range(len(codes)):
            say(f"checking {i}")
            if i == culprit and misbehaves == "dies":
                os._exit(1)
        if culprit is not None:
            answers[culprit] = {
                "hangs": f"kernel {culprit} hung it ran longer than 10 s",
                "wrong": f"kernel {culprit} wrong output 0: element 7 is 1 and not 2",
                "lies": f"kernel {culprit} ok -1 nan 0 0 9 0",
            }[misbehaves]
        # Before it is told: who has been told all may end this program at once.
        if log:
            with open(log, "a", encoding="utf8") as file:
                file.write(" ".join(str(nanoseconds(code)) for code in codes) + "\n")
        say("timing", *answers, "done")


def main():
    script = sys.argv[-1]
    if "mktemp" in script:
        say("machine " + platform.machine())
        sys.stdin.buffer.read()
        say("folder /tmp/board")
    else:
        measure(os.environ.get("FATHOM_TEST_BOARD", ""), os.environ.get("FATHOM_TEST_BOARD_LOG", ""))


if __name__ == "__main__":
    main()
