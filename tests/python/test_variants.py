"""One artifact with code for several CPUs: what is taken, what is shared, and what does not go together."""

import copy
import json
import pickle
import threading

import fathom
import numpy as np
import pytest
from support import emulation
from support.compare import assert_close, reference
from support.models import FLOAT, floats, model, node
from support.tool import run_tool

# The first runs wherever tests run; the second needs what no machine has all of; the third is between them.
LISTS = {
    "x86_64": (["x86_64:x86-64-v2", "x86_64:diamondrapids", "x86_64:x86-64-v3"], ["diamondrapids", "x86-64-v3", "x86-64-v2"]),
    "aarch64": (["aarch64:cortex-a53", "aarch64:apple-m4", "aarch64:neoverse-n1"], ["apple-m4", "neoverse-n1", "cortex-a53"]),
}
GIVEN, ORDERED = LISTS[emulation.HOST]
LEAST = GIVEN[0]
FOREIGN = {"x86_64": ("aarch64:neoverse-n1", "aarch64:neoverse-v1"), "aarch64": ("x86_64:x86-64-v3", "x86_64:sapphirerapids")}[emulation.HOST]


def network(rows="n"):
    """A convolution and a product, whose weights are packed as wide as vectors are, and one that all have as it is."""
    random = np.random.default_rng(4)
    weights = {"w": floats(random, 24, 5, 3, 3), "m": floats(random, 24, 40), "b": floats(random, 40), "table": floats(random, 31, 40),
               "axes": np.asarray([2, 3])}
    nodes = [
        node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("Relu", "c", "r"), node("ReduceMean", "r", "mean", axes=[2, 3], keepdims=0),
        node("MatMul", "mean m", "p"), node("Add", "p b", "s"), node("Gather", "table at", "rows"), node("Add", "s rows", "y"),
    ]
    weights.pop("axes")
    return model(nodes, [("x", FLOAT, [rows, 5, 9, 11]), ("at", 7, [rows])], [("y", FLOAT)], weights)


def inputs(rows):
    random = np.random.default_rng(rows)
    return {"x": floats(random, rows, 5, 9, 11), "at": random.integers(0, 31, rows)}



@pytest.fixture(scope="module")
def artifact():
    return fathom.compile(network(), target=GIVEN, db="none")


@pytest.fixture
def file(artifact, tmp_path):
    return artifact.save(tmp_path / "several.fathom")


def test_the_best_that_the_machine_can_run_is_taken(artifact):
    loaded = fathom.Model(artifact)
    assert loaded.variant in ORDERED[1:] and loaded.manifest["target"]["cpu"] == loaded.variant
    assert loaded.manifest["variants"] == ORDERED
    for better in ORDERED[: ORDERED.index(loaded.variant)]:
        with pytest.raises(fathom.Error, match="F5001.*needs CPU features"):
            fathom.Model(fathom.compile(network(), target=f"{emulation.HOST}:{better}", db="none"))


def test_one_target_has_no_variant():
    assert fathom.Model(fathom.compile(network(), target=LEAST, db="none")).variant is None


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [1, 2, 13])
def test_results_are_those_of_the_variant_alone(artifact, rows, threads):
    taken = fathom.Model(artifact).variant
    alone = fathom.compile(network(), target=f"{emulation.HOST}:{taken}", db="none")
    [one], [other] = (fathom.Session(each, threads=threads).run(None, inputs(rows)) for each in (artifact, alone))
    assert one.shape == other.shape and one.tobytes() == other.tobytes()
    assert_close(one, reference(network())(inputs(rows))[0], "network")


def test_many_threads_and_copies(artifact):
    """Sessions of one model at the same time, and of the artifact's bytes."""
    [want] = fathom.Session(artifact, threads=1).run(None, inputs(13))
    model, results = fathom.Model(artifact), []

    def work():
        results.append(fathom.Session(model, threads=2).run(None, inputs(13))[0])

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for same in (pickle.loads(pickle.dumps(artifact)), copy.deepcopy(artifact)):
        results.append(fathom.Session(same).run(None, inputs(13))[0])
    assert len(results) == 6 and all(result.tobytes() == want.tobytes() for result in results)


def test_weights_that_agree_are_stored_once(artifact):
    alone = [fathom.compile(network(), target=f"{emulation.HOST}:{cpu}", db="none").report["weight_bytes"] for cpu in ORDERED]
    together = artifact.report["weight_bytes"]
    assert max(alone) <= together < sum(alone)
    # The table of rows is the same for all, the narrow variants' panels are not those of the wide one.
    assert together - max(alone) < sum(alone) - max(alone) - 2 * 31 * 40 * 4 + 256


def test_seeded_weights(artifact):
    """Made up by the runtime, and indices are kept."""
    seeded = fathom.compile(network(), target=GIVEN, db="none", weights="seed:7")
    taken = fathom.Model(seeded).variant
    assert taken == fathom.Model(artifact).variant
    [got] = fathom.Session(seeded).run(None, inputs(2))
    assert np.isfinite(got).all() and np.ptp(got) > 0
    assert len(pickle.dumps(seeded)) < len(pickle.dumps(artifact))


def test_the_file_is_checked_as_a_whole(file):
    fathom.Session(file, check=True)
    data = bytearray(open(file, "rb").read())
    data[-100] ^= 1
    with open(file, "wb") as changed:
        changed.write(data)
    with pytest.raises(fathom.Error, match="F1011.*damaged"):
        fathom.Session(file, check=True)


def test_same_bytes_every_time(artifact):
    again = fathom.compile(network(), target=",".join(GIVEN), db="none", jobs=1)
    assert open(again.path, "rb").read() == open(artifact.path, "rb").read()


def test_the_order_of_what_can_be_compared_is_not_the_user_s(artifact):
    other = fathom.compile(network(), target=list(reversed(GIVEN)), db="none")
    assert fathom.Model(other).manifest["variants"] == ORDERED


def test_the_tools_say_which(file, artifact):
    taken = fathom.Model(artifact).variant
    inspected = run_tool("inspect", file)
    assert f"variants    {', '.join(ORDERED)}; what follows is of {taken}" in inspected.out
    for cpu in ORDERED:
        told = json.loads(run_tool("inspect", file, "--variant", cpu, "--json").out)
        assert told["target"]["cpu"] == cpu and told["variants"] == ORDERED
        assert run_tool("explain", file, "--variant", cpu).code == 0
    assert run_tool("diff", file, file).code == 0
    ran = run_tool("run", file, "--dim", "n=2", "--json")
    assert f"code for {taken}" in ran.err and json.loads(ran.out)["variant"] == taken
    benched = run_tool("bench", file, "--min-time", "0", "--warm-up", "0", "--json")
    assert json.loads(benched.out)["variant"] == taken
    assert run_tool("explain", file, "--run", "--dim", "n=2").code == 0
    refused = run_tool("explain", file, "--run", "--variant", ORDERED[0])
    assert refused.code == 2 and f"runs the code for {taken}" in refused.err
    unknown = run_tool("inspect", file, "--variant", "i486")
    assert unknown.code == 2 and f"it has code for {', '.join(ORDERED)}" in unknown.err


def test_compile_tells_of_the_growth(tmp_path):
    import onnx

    onnx.save(network(), tmp_path / "m.onnx")
    done = run_tool("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.fathom", "--target", ",".join(GIVEN), "--json")
    told = json.loads(done.out)
    assert [variant["cpu"] for variant in told["variants"]] == ORDERED
    assert told["weight_growth_bytes"] == told["weight_bytes"] - max(variant["weight_bytes"] for variant in told["variants"])
    assert "more weights than one of them alone has at most" in done.err
    assert all(f"{cpu}: " in done.err for cpu in ORDERED)


@pytest.mark.parametrize(
    "target, words",
    [
        (f"{LEAST},{FOREIGN[0]}", "F1010.*do not go together: the variants of an artifact are of one architecture"),
        (f"{LEAST},{LEAST}", "F1010.*both are called"),
        (f"{LEAST},", "F1010.*one of them is empty"),
        (f"{LEAST},no-such-cpu", "F1010.*unknown CPU 'no-such-cpu'"),
        (f"{LEAST},opencl", "F1010.*'opencl' is a device"),
        ("aarch64:cortex-a53,aarch64:cortex-a57", "F1010.*the same features, so that the second would never be taken"),
    ],
)
def test_targets_that_do_not_go_together(target, words):
    with pytest.raises(fathom.Error, match=words):
        fathom.compile(network(), target=target)


@pytest.mark.parametrize("option", [{"emit": "asm"}, {"emit": "plan"}, {"plan": "p"}, {"graph": "g"}, {"loops": "l"}, {"tune": "measure:1"}])
def test_what_is_of_one_target_is_refused(option):
    with pytest.raises(fathom.Error, match=f"F2001.*{next(iter(option))}.* does not go with several targets") as raised:
        fathom.compile(network(), target=GIVEN, **option)
    assert raised.value.hint


def test_commands_of_one_target(tmp_path):
    import onnx

    onnx.save(network(), tmp_path / "m.onnx")
    for command in ("tune", "passes"):
        done = run_tool(command, tmp_path / "m.onnx", "--target", ",".join(GIVEN))
        assert done.code == 2 and "this command does not go with several targets" in done.err


def test_none_that_fits():
    """Says what each one lacks, as for one CPU."""
    least = {"x86_64": "cooperlake", "aarch64": "neoverse-v2"}[emulation.HOST]
    artifact = fathom.compile(network(), target=[f"{emulation.HOST}:{least}", GIVEN[1]], db="none")
    try:
        fathom.Model(artifact)
    except fathom.Error as error:
        assert error.code == "F5001" and "needs CPU features that this machine lacks" in str(error)
        assert f" for {ORDERED[0]}" in str(error) and f" for {least}" in str(error)
    else:
        pytest.skip("this machine has every feature")


def test_another_architecture_cannot_load_it(tmp_path):
    foreign = fathom.compile(network(), target=FOREIGN, db="none")
    with pytest.raises(fathom.Error, match="F5001.*is for .* and this machine is"):
        fathom.Model(foreign)
    told = run_tool("inspect", foreign.save(tmp_path / "foreign.fathom"))
    assert told.code == 0 and "variants" in told.out


def test_the_cache_knows_a_list_by_its_machines(tmp_path, monkeypatch):
    """A description in a list is read like one alone."""
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    described = tmp_path / "own.yaml"
    described.write_text(run_tool("doctor", "--target", LEAST).out)
    target = f"{described},{GIVEN[2]}"
    kept = [fathom.compile(network(), target=target, db="none", cache=True).report["was_kept"] for _ in range(2)]
    described.write_text(described.read_text() + "# changed\n")
    kept.append(fathom.compile(network(), target=target, db="none", cache=True).report["was_kept"])
    assert kept == [False, True, False]
