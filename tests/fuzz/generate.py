"""Random models: generate(seed) is always the same one."""
import numpy as np
from onnx import helper

import catalog
from builder import Builder, initializer, tensor_info
from case import Case
from reference import Impossible, Reference, captured_names
from values import SIZES, random_array

OPSETS = [13, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26]


def generate(seed, only=None):
    """A case, or None where chance led nowhere. `only` is an operator that must be the first."""
    random = np.random.default_rng(seed)
    operators = catalog.load()
    names, weights = list(operators), [weight for _, weight in operators.values()]
    g = Builder(random, int(random.choice(OPSETS)) if only is None or random.random() < 0.5 else OPSETS[-1])
    wanted = int(random.choice([1, 2, 3, 4, 5, 6, 8]))
    first = only if only else names[random.integers(len(names))]
    for attempt in range(12 * wanted):
        name = first if not g.nodes and attempt < 6 else g.choose(names, weights)
        mark, main = g.mark(), g.main
        # Not every operator has the graph's type; what is there is what counts.
        if g.values:
            g.main = g.choose(g.values).dtype
        try:
            if g.begin(name):
                operators[name][0](g)
            # Nodes that go on with what others gave are what fusion and layouts are about.
            if mark[0] and not reads_results(g, mark[0]) and g.chance(0.85):
                g.undo(mark)
        except Impossible:
            g.undo(mark)
        g.main = main
        if len(g.nodes) >= wanted:
            break
    return finish(g) if g.nodes else None


def reads_results(g, first):
    before = {name for node in g.nodes[:first] for name in node.output}
    return any(name in before for node in g.nodes[first:] for name in [*node.input, *captured_names(node)])


def finish(g):
    random = g.random
    read = {name for node in g.nodes for name in node.input}
    read |= {name for node in g.nodes for name in captured_names(node)}
    inputs = {name: array for name, array in g.inputs.items() if name in read}
    constants = {name: array for name, array in g.constants.items() if name in read}
    made = {value.name: value for value in g.values}
    results = [name for node in g.nodes for name in node.output if name and name in made]
    outputs = [name for name in results if name not in read or random.random() < 0.15] or results[-1:]
    if not outputs:
        return None
    dims, sizes = symbols(g, inputs)
    graph = helper.make_graph(g.nodes, "g", [tensor_info(name, array, dims[name]) for name, array in inputs.items()],
                              [tensor_info(name, made[name].array, [None] * made[name].rank if random.random() < 0.5 or sizes else None) for name in outputs],
                              [initializer(name, array) for name, array in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", g.opset)], ir_version=10)
    feeds = [inputs]
    if sizes:
        feeds.append(other_sizes(g, inputs, dims, sizes))
    feeds.append({name: random_array(random, g.free[name][0], array.shape, *g.free[name][1:]) if name in g.free else array for name, array in inputs.items()})
    options = {"dim": [f"{name}=0..2147483647" for name in sizes]} if sizes and (g.empty or any(0 in a.shape for a in inputs.values())) else {}
    if random.random() < 0.1:
        options["fp"] = "strict"
    return Case(model, [feeds[0], *(feed for feed in feeds[1:] if is_legal(g, model, feed))], options)


def symbols(g, inputs):
    """Names for sizes of inputs in about half of the graphs: equal sizes often have one name."""
    dims, sizes = {name: list(array.shape) for name, array in inputs.items()}, {}
    if g.chance(0.5):
        return dims, sizes
    named = g.chance(0.5)
    for name, array in inputs.items():
        for axis, size in enumerate(array.shape):
            if name in g.free and g.chance(0.8):
                symbol = f"s{size}" if named or g.chance(0.5) else f"{name}_{axis}"
                dims[name][axis] = symbol
                sizes[symbol] = size
    return dims, sizes


def other_sizes(g, inputs, dims, sizes):
    """Inputs of other sizes; whether the model is defined for them, the reference tells."""
    other = {symbol: int(g.random.choice([s for s in SIZES if s < 14])) if g.chance(0.6) else size for symbol, size in sizes.items()}
    other = {symbol: size if g.empty or size else 1 for symbol, size in other.items()}
    feed = {}
    for name, array in inputs.items():
        shape = [other.get(dim, dim) for dim in dims[name]]
        feed[name] = random_array(g.random, g.free[name][0], shape, *g.free[name][1:]) if name in g.free else array
    return feed


def is_legal(g, model, feed):
    """Whether every node is defined for this input, too."""
    values = {}
    try:
        Reference(model).run(feed, values=values)
    except Impossible:
        return False
    return all(legal(values[name]) for name, legal in g.conditions if name in values)


def graph(seed, number):
    """The case of this number in the stream of a seed: every operator is the first of a graph in its turn."""
    names = list(catalog.load())
    return generate([seed, number], names[number % len(names)])
