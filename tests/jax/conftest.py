"""Where JAX is: tests of this folder run in an environment of their own (./dev test jax)."""

import importlib.util

# The folder itself is a namespace of that name, which has no loader.
found = importlib.util.find_spec("jax")
if found is None or found.origin is None:
    collect_ignore_glob = ["test_*.py"]
