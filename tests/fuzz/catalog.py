"""The list of declarations that drives the generator: `op` enters one, ops_*.py make them."""
import importlib

CATALOG = {}


def op(name, weight=1.0):
    """Declares how to make a node of this operator: a function of a Builder, which adds the node or raises Impossible."""

    def enter(declare):
        assert name not in CATALOG, name
        CATALOG[name] = (declare, weight)
        return declare

    return enter


def load():
    """All of them; those of each module in its order."""
    for module in ("elementwise", "movement", "indexing", "reduction", "products", "images", "quantized", "signal", "control"):
        importlib.import_module("ops_" + module)
    return CATALOG
