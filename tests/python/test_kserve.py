"""KServe's requests and responses: what is read is what was written, and whatever else comes is refused with words."""

import json

import fathom
import numpy as np
import pytest
from fathom import kserve
from fathom.metrics import Metrics

DTYPES = {"x": np.dtype(np.float32), "ids": np.dtype(np.int8), "on": np.dtype(bool)}


def request(arrays, binary=(), **more):
    """The body of a request and the length of its JSON."""
    entries, blobs = [], []
    for name, array in arrays.items():
        entry = {"name": name, "shape": list(array.shape), "datatype": kserve.datatype(array.dtype)}
        if name in binary:
            entry["parameters"] = {"binary_data_size": array.nbytes}
            blobs.append(array.tobytes())
        else:
            entry["data"] = array.tolist()
        entries.append(entry)
    header = json.dumps({"inputs": entries, **more}).encode()
    return header + b"".join(blobs), len(header) if binary else None


def parse(body, header_length=None):
    return kserve.parse(body, header_length, DTYPES, ["y", "z"])


@pytest.mark.parametrize("binary", [(), ("x",), ("ids", "x"), ("x", "ids", "on")])
def test_what_is_read_is_what_was_written(random, binary):
    for shape in ((), (0,), (1, 3), (2, 3, 5), (7, 0)):
        arrays = {
            "x": random.standard_normal(shape).astype(np.float32),
            "ids": random.integers(-128, 128, shape).astype(np.int8),
            "on": random.integers(0, 2, shape).astype(bool),
        }
        if shape == () and len(binary) < 3:
            continue  # JSON has lists only
        asked = parse(*request(arrays, binary, id="7", parameters={"timeout": 1500}))
        assert (asked.id, asked.timeout, asked.outputs, asked.binary) == ("7", 0.0015, None, False)
        for name, array in arrays.items():
            assert asked.inputs[name].dtype == array.dtype
            np.testing.assert_array_equal(asked.inputs[name], array)


def test_flat_data_and_asked_outputs():
    entry = {"name": "x", "shape": [2, 2], "datatype": "FP32", "data": [1, 2.5, 3, 4]}
    outputs = [{"name": "z", "parameters": {"binary_data": False}}, {"name": "y"}]
    asked = parse(json.dumps({"inputs": [entry], "outputs": outputs, "parameters": {"binary_data_output": True}}).encode())
    np.testing.assert_array_equal(asked.inputs["x"], [[1, 2.5], [3, 4]])
    assert asked.outputs == {"z": False, "y": True}


def read(body, header_length):
    """The arrays of a response."""
    told = json.loads(body if header_length is None else body[:header_length])
    rest, arrays = body[header_length or len(body) :], {}
    names = {kserve.datatype(np.dtype(kind)): np.dtype(kind) for kind in ("f2", "f4", "f8", "?", "u1", "i1", "u8", "i4")}
    for entry in told["outputs"]:
        dtype = names[entry["datatype"]]
        size = entry.get("parameters", {}).get("binary_data_size")
        data = np.array(entry["data"], dtype) if size is None else np.frombuffer(rest[:size], dtype)
        rest = rest[size or 0 :]
        arrays[entry["name"]] = data.reshape(entry["shape"])
    assert not len(rest)
    return told, arrays


@pytest.mark.parametrize("outputs", [None, {"y": True}, {"z": False, "y": True}, {"y": False, "z": False}])
@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "?", "u1", "i1", "u8", "i4"])
def test_responses(random, outputs, kind):
    results = [random.integers(0, 2, shape).astype(kind) for shape in ((2, 3), (0, 5))]
    asked = kserve.Asked(outputs=outputs, id="a")
    told, arrays = read(*kserve.encode(asked, "m", ["y", "z"], results))
    assert (told["model_name"], told["id"]) == ("m", "a")
    assert list(arrays) == list(outputs or ["y", "z"])
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, results["yz".index(name)])


GOOD = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1.0, 2.0]}


@pytest.mark.parametrize(
    "body, message",
    [
        (b"", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100000, "is not JSON"),
        (b"[]", "the request is not an object"),
        (b'{"inputs": 3}', "inputs is not a list"),
        (b'{"inputs": [3]}', "an entry of inputs is not an object"),
        (b'{"inputs": [{}]}', "a name in inputs is not a text"),
        (b'{"id": 3}', "id is not a text"),
        (b'{"parameters": []}', "parameters of the request is not an object"),
        (b'{"parameters": {"timeout": true}}', "parameters.timeout is not an integer"),
        (b'{"parameters": {"timeout": 0}}', "parameters.timeout is not above 0"),
        (b'{"parameters": {"binary_data_output": 1}}', "parameters.binary_data_output is not true or false"),
        (b'{"outputs": [{"name": "q"}]}', "the model has no output 'q'"),
    ],
)
def test_bad_requests(body, message):
    with pytest.raises(fathom.Error, match="F1012") as caught:
        parse(body)
    assert message in caught.value.message


@pytest.mark.parametrize(
    "change, message",
    [
        ({"name": "q"}, "the model has no input 'q'"),
        ({"datatype": "FP64"}, "has the datatype 'FP64', the model takes FP32"),
        ({"datatype": None}, "has the datatype None"),
        ({"shape": None}, "the shape of input 'x' is not a list"),
        ({"shape": [-1, 2]}, "has the shape [-1, 2]"),
        ({"shape": [True, 2]}, "has the shape [True, 2]"),
        ({"shape": [1 << 62, 2]}, "has the shape"),
        ({"shape": [1 << 61, 1 << 61]}, "which is too large"),
        ({"shape": [0, 1 << 61, 8], "data": []}, "which is too large"),
        ({"shape": [0, 1 << 61, 8], "data": ..., "parameters": {"binary_data_size": 0}}, "which is too large"),
        ({"shape": [1] * 33}, "has the shape"),
        ({"shape": [3]}, "has 2 elements, its shape has 3"),
        ({"data": 3}, "data of input 'x' is not a list"),
        ({"data": [[1, 2], [3]]}, "not a list of numbers, or of lists that are equally long"),
        ({"data": [1, "2"]}, "is not of type FP32"),
        ({"data": [1, None]}, "is not of type FP32"),
        ({"data": [{}, 2]}, "is not of type FP32"),
        ({"data": [True, False]}, "is not of type FP32"),
        ({"name": "ids", "datatype": "INT8", "data": [1, 200]}, "does not fit INT8"),
        ({"name": "ids", "datatype": "INT8", "data": [1, 1 << 70]}, "is not of type INT8"),
        ({"name": "ids", "datatype": "INT8", "data": [1, 2.5]}, "is not of type INT8"),
        ({"name": "on", "datatype": "BOOL", "data": [0, 1]}, "is not of type BOOL"),
        ({"parameters": {"binary_data_size": 8}}, "needs either data or parameters.binary_data_size"),
        ({"data": ...}, "needs either data or parameters.binary_data_size"),
        ({"data": ..., "parameters": {"binary_data_size": "8"}}, "is not an integer"),
        ({"data": ..., "parameters": {"binary_data_size": -8}}, "has -8 bytes, its shape and type have 8"),
        ({"data": ..., "parameters": {"binary_data_size": 8}}, "has 8 bytes, and 0 are left of the body"),
    ],
)
def test_bad_tensors(change, message):
    entry = {key: found for key, found in {**GOOD, **change}.items() if found is not ...}
    with pytest.raises(fathom.Error, match="F1012") as caught:
        parse(json.dumps({"inputs": [entry]}).encode())
    assert message in caught.value.message


def test_a_timeout_of_ages():
    asked = parse(json.dumps({"inputs": [GOOD], "parameters": {"timeout": 10**400}}).encode())
    assert asked.timeout > 1e12


def test_bad_bytes():
    body, header_length = request({"x": np.zeros((1, 2), np.float32)}, ("x",))
    for length, message in ((header_length + 100, "the body has"), (header_length - 1, "not JSON")):
        with pytest.raises(fathom.Error, match=message):
            parse(body, length)
    with pytest.raises(fathom.Error, match="3 bytes behind the last tensor"):
        parse(body + b"123", header_length)
    twice = json.dumps({"inputs": [GOOD, GOOD]}).encode()
    with pytest.raises(fathom.Error, match="given twice"):
        parse(twice)


def test_damaged_requests_are_read_or_refused(random):
    arrays = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "ids": np.arange(3, dtype=np.int8)}
    outcomes = set()
    for binary in ((), ("x", "ids")):
        body, header_length = request(arrays, binary, id="1", outputs=[{"name": "y"}])
        for _ in range(2000):
            damaged = bytearray(body)
            for _ in range(int(random.integers(1, 4))):
                where = int(random.integers(len(damaged)))
                if random.integers(3):
                    damaged[where] = int(random.integers(256))
                else:
                    del damaged[where : where + int(random.integers(1, 9))]
            try:
                outcomes.add(type(parse(bytes(damaged), header_length)))
            except fathom.Error as error:
                assert error.code == "F1012"
                outcomes.add(fathom.Error)
    assert outcomes == {kserve.Asked, fathom.Error}


def test_metrics():
    metrics = Metrics(["a", 'b"\\\n'])
    for seconds, outcome in ((0.001, "ok"), (0.0011, "ok"), (100, "F1012")):
        metrics.note("a", outcome, seconds)
    stats = {"pending": 3, "running": 1, "runs": 7}
    lines = metrics.text({"a": stats, 'b"\\\n': stats}).splitlines()
    assert 'fathom_requests_total{model="a",outcome="ok"} 2' in lines
    assert 'fathom_requests_total{model="a",outcome="F1012"} 1' in lines
    assert 'fathom_request_seconds_bucket{model="a",le="0.001"} 1' in lines
    assert 'fathom_request_seconds_bucket{model="a",le="10.0"} 2' in lines
    assert 'fathom_request_seconds_bucket{model="a",le="+Inf"} 3' in lines
    assert 'fathom_request_seconds_count{model="a"} 3' in lines
    assert 'fathom_queue_length{model="b\\"\\\\\\n"} 3' in lines
