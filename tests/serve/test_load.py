"""The endpoint under load: some clients are killed, some send nonsense, and the others notice nothing."""

import json
import socket
import struct
import subprocess
import sys
import threading
import time

import fathom
import numpy as np
import tritonclient.http as triton

REQUESTS = 80

KILLED = """
import sys, tritonclient.http as triton, numpy as np
client = triton.InferenceServerClient(sys.argv[1])
x = np.ones((1, 16), np.float32)
given = triton.InferInput("x", x.shape, "FP32")
given.set_data_from_numpy(x)
print("on its way", flush=True)
while True:
    client.infer("mlp", [given])
"""


def asks(server, session, seed, problems):
    """A client whose every answer must be right."""
    random = np.random.default_rng(seed)
    client = triton.InferenceServerClient(server.url, network_timeout=60.0, connection_timeout=60.0)
    try:
        for _ in range(REQUESTS):
            x = random.standard_normal((int(random.integers(1, 5)), 16)).astype(np.float32)
            given = triton.InferInput("x", x.shape, "FP32")
            given.set_data_from_numpy(x, binary_data=bool(random.integers(2)))
            got = client.infer("mlp", [given])
            for name, want in zip(["y", "r"], session.run(None, {"x": x})):
                np.testing.assert_allclose(got.as_numpy(name), want, rtol=1e-5, atol=1e-5)
    except BaseException as error:
        problems.append(error)
    finally:
        client.close()


def breaks(server, seed, ended):
    """One that sends what is no request, or goes in the middle of one, with a reset as a killed process does."""
    random = np.random.default_rng(seed)
    entry = {"name": "x", "shape": [1, 16], "datatype": "FP32", "data": [1.0] * 16}
    body = json.dumps({"inputs": [entry]}).encode()
    head = f"POST /v2/models/mlp/infer HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    while not ended.is_set():
        with socket.create_connection((server.host, server.port)) as connection:
            sent = bytearray(head + body)
            kind = int(random.integers(3))
            if kind == 0:
                del sent[int(random.integers(len(sent))) :]
            elif kind == 1:
                for where in random.integers(len(sent), size=5):
                    sent[where] = int(random.integers(256))
            connection.sendall(sent)
            time.sleep(float(random.random()) / 50)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def load(server, session, random):
    """All clients once: 6 that ask and 2 that break, while others are killed."""
    problems, ended = [], threading.Event()
    seeds = [int(seed) for seed in random.integers(1 << 30, size=8)]
    asking = [threading.Thread(target=asks, args=(server, session, seed, problems)) for seed in seeds[:6]]
    breaking = [threading.Thread(target=breaks, args=(server, seed, ended)) for seed in seeds[6:]]
    for thread in [*asking, *breaking]:
        thread.start()
    for _ in range(3):
        killed = subprocess.Popen([sys.executable, "-c", KILLED, server.url], stdout=subprocess.PIPE, text=True)
        assert killed.stdout.readline() == "on its way\n"
        killed.kill()
        killed.wait()
        killed.stdout.close()
    for thread in asking:
        thread.join()
    ended.set()
    for thread in breaking:
        thread.join()
    assert not problems, problems[0]


def test_load(server, models, random):
    session = fathom.Session(str(models / "mlp.fathom"))
    load(server, session, random)
    before = server.memory()
    for _ in range(3):
        load(server, session, random)
    # Three times what it had seen before. What allocators keep for themselves is less than the bodies and results of these requests.
    grown = server.memory() - before
    assert grown < 3 * 6 * REQUESTS * 4096, f"{grown} bytes more"
    client = triton.InferenceServerClient(server.url)
    assert client.is_server_ready()
    client.close()
