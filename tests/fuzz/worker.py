"""The process that compiles and runs cases, one after the other: a line of JSON asks, lines tell how far it is and what came of it. What crashes,
hangs or eats memory does so here; campaign.py watches."""
import json
import resource
import sys
import traceback

import case
import generate
import mutate

MEMORY = 6 << 30


def answer(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def graph(job, progress):
    progress("generate")
    made = generate.graph(job["seed"], job["number"])
    if made is None:
        return case.Outcome("skipped", "nothing came of it"), []
    return case.run(made, progress), sorted({node.op_type for node in made.model.graph.node})


def file(job, progress):
    progress("generate")
    return mutate.run(mutate.file(job["seed"], job["number"]), progress), []


def saved(job, progress):
    return (mutate.run(mutate.load(job["folder"]), progress) if mutate.is_file(job["folder"]) else case.run(case.Case.load(job["folder"]), progress)), []


def main():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kinds = {"graphs": graph, "files": file, "saved": saved}
    for line in sys.stdin:
        job = json.loads(line)
        try:
            outcome, operators = kinds[job["kind"]](job, lambda phase: answer({"phase": phase}))
        except Exception:
            outcome, operators = case.Outcome("error", "the test itself: " + traceback.format_exc()), []
        answer({"kind": outcome.kind, "detail": outcome.detail, "operators": operators})


if __name__ == "__main__":
    main()
