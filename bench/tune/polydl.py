"""How PolyDL (Tavarageri et al.) ranks variants of loops by their working sets, which `fathom calibrate` tells: a cost, and a network
that is asked about pairs, all of which meet in a tournament."""

import numpy as np
from sklearn.neural_network import MLPClassifier

# Cycles until data is there: from the first, second and third cache, and from memory.
LATENCIES = np.array([5, 14, 70, 250])


def costs(sets):
    """Of variants, each a row with the bytes of its working sets in each cache and in memory."""
    return np.asarray(sets) @ LATENCIES


def pairs(sets, times, count, random):
    """Rows with both variants' working sets, and whether the first one is faster."""
    first, second = random.integers(len(sets), size=(2, count))
    different = first != second
    first, second = first[different], second[different]
    return np.hstack([sets[first], sets[second]]), times[first] < times[second]


def scaled(sets):
    return np.log2(np.asarray(sets, dtype=float) + 1) / 32


def train(kernels, each=400, seed=0):
    """The network of four layers, from (sets, times) of some kernels."""
    random = np.random.default_rng(seed)
    rows, faster = zip(*(pairs(scaled(sets), np.asarray(times), each, random) for sets, times in kernels))
    network = MLPClassifier(hidden_layer_sizes=(64, 32, 16), max_iter=200, early_stopping=True, random_state=seed)
    return network.fit(np.vstack(rows), np.concatenate(faster))


def tournament(network, sets):
    """How often each variant loses when all meet: the fewer, the better. Equal chances are half a loss."""
    rows = scaled(sets)
    count = len(rows)
    first, second = np.triu_indices(count, 1)
    chance = network.predict_proba(np.hstack([rows[first], rows[second]]))[:, list(network.classes_).index(True)]
    back = network.predict_proba(np.hstack([rows[second], rows[first]]))[:, list(network.classes_).index(True)]
    wins = np.zeros(count)
    better = np.sign(chance - back)
    np.add.at(wins, first, (1 + better) / 2)
    np.add.at(wins, second, (1 - better) / 2)
    return count - 1 - wins
