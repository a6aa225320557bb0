"""The HTTP endpoint under load: clients that ask all the time, some that are killed, and some that send nonsense.

Tells requests a second, latency percentiles as clients see them, and how the server's memory grew.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import fathom
import numpy as np
import zoo
from load import Load
from timing import positive

ROOT = pathlib.Path(__file__).resolve().parents[1]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=positive, default=20, help="how long; 600 is the full run (default: %(default)s)")
    parser.add_argument("--clients", type=positive, default=8, help="processes that ask all the time (default: %(default)s)")
    parser.add_argument("--network", default="wrn_40_2_s", help="of models/ (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="of a run; 0: all CPUs (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    return parser.parse_args()


def start_server(artifact, threads):
    command = [sys.executable, "-m", "fathom.serve", f"net={artifact}", "--port", "0", "--threads", str(threads)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return server, re.search(r"([\d.]+:\d+)$", server.stdout.readline().strip())[1]


def memory(server):
    return int(pathlib.Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def make_request(client_module, artifact):
    """Inputs of the network for tritonclient, ones of the sizes it was compiled for."""
    from fathom.kserve import datatype

    lows = {}
    model = fathom.Model(artifact)
    for name, low, _ in model.symbols:
        lows[name] = max(1, low)
    given = []
    for info in model.inputs:
        shape = [lows.get(size, size) for size in info.shape]
        given.append(client_module.InferInput(info.name, shape, datatype(info.dtype)))
        given[-1].set_data_from_numpy(np.ones(shape, info.dtype))
    return given


def ask(url, artifact, seconds, results, begun=None):
    """Asks until the time is over: the latencies in ms and what went wrong. After the first answer, it has begun."""
    import tritonclient.http as triton

    client = triton.InferenceServerClient(url, network_timeout=120.0, connection_timeout=120.0)
    given, times, errors, end = make_request(triton, artifact), [], [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        try:
            client.infer("net", given)
            times.append((time.perf_counter() - start) * 1e3)
            if begun:
                begun.set()
        except Exception as error:
            errors.append(str(error))
    results.put((times, errors))


def send_nonsense(url, seed):
    """Sends a request that is no JSON, or the first bytes of one, and goes."""
    host, port = url.split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"
        connection.sendall(head + bytes(100 if seed % 2 else 50))


def disturb(context, url, artifact, seconds, server):
    """A client that is killed in the middle of its requests and a malformed one, again and again; the server's memory meanwhile."""
    end, killed, sizes, unread = time.perf_counter() + seconds, 0, [], context.Queue()
    while time.perf_counter() < end:
        begun = context.Event()
        victim = context.Process(target=ask, args=(url, artifact, seconds, unread, begun))
        victim.start()
        begun.wait(max(0.0, end - time.perf_counter()))
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        killed += 1
        send_nonsense(url, killed)
        sizes.append(memory(server))
        time.sleep(2)
    return killed, sizes


def main():
    given = arguments()
    with tempfile.TemporaryDirectory() as folder:
        artifact = os.path.join(folder, "net.fathom")
        fathom.compile(str(zoo.model_file(given.network)), artifact)
        server, url = start_server(artifact, given.threads)
        try:
            figures = measure(given, server, url, artifact)
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait(120)
    print(
        f"{figures['requests_per_second']:.1f} requests/s of {given.network}, {given.clients} clients, "
        f"{given.threads or 'all'} threads a run, for {given.seconds} s"
    )
    print("latency " + ", ".join(f"{figures[key]:.2f} ms {key}" for key in ("median", "p90", "p99", "most")))
    print(f"killed clients: {figures['killed']}, malformed requests: as many, errors of others: {len(figures['errors'])}")
    print(f"memory {figures['memory_mib'][0]:.1f} MiB after the first of them, {figures['memory_mib'][-1]:.1f} MiB at the end")
    if figures["load"] is not None:
        print(f"other programs took {100 * figures['load']:.0f} % of the CPUs")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps({"schema": 1, "network": given.network, **figures}) + "\n")
    sys.exit(1 if figures["errors"] or code else 0)


def measure(given, server, url, artifact):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    clients = [context.Process(target=ask, args=(url, artifact, given.seconds, results)) for _ in range(given.clients)]
    for client in clients:
        client.start()
    others = Load([server.pid])
    killed, sizes = disturb(context, url, artifact, given.seconds, server)
    share = others.share()
    answers = [results.get(timeout=given.seconds + 120) for _ in clients]
    for client in clients:
        client.join()
    times = sorted(time for found, _ in answers for time in found)
    quantile = dict(zip(("median", "p90", "p99", "most"), np.percentile(times, (50, 90, 99, 100)).tolist()))
    return {
        "requests_per_second": len(times) / given.seconds,
        **quantile,
        "killed": killed,
        "errors": [error for _, errors in answers for error in errors],
        "memory_mib": [size / (1 << 20) for size in sizes],
        "load": share,
    }


if __name__ == "__main__":
    main()
