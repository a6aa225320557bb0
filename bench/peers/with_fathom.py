"""Fathom itself; MODEL is the artifact."""

import fathom


def load(model, threads, folder):
    session = fathom.Session(model, threads)
    return lambda inputs: session.run(None, inputs), fathom.__version__
