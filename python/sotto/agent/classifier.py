"""Multinomial logistic regression on embeddings.

The model is that of Bishop, Pattern Recognition and Machine Learning (2006), section 4.3.4, with a penalty on
the squares of the weights. Training is Nesterov's accelerated gradient method (1983) with the restarts of
O'Donoghue and Candes, Adaptive Restart for Accelerated Gradient Schemes (2015). The loss is convex, so equal
examples give equal weights.
"""

from __future__ import annotations

from typing import Any

_MOST_STEPS = 3000
_TOLERANCE = 1e-6  # largest absolute value of the gradient at which training ends

Array = Any  # of numpy, which is imported where it is needed


def train(vectors: Array, labels: Array, classes: int, penalty: float) -> Array:
    """Returns the weights: a row for each class, with its bias at the end. All classes count the same.

    Args:
        vectors: A row for each example.
        labels: The class of each example, from 0.
        classes: Number of classes; each has an example.
        penalty: Factor of the mean square of the weights, above 0. The bias is not penalized.
    """
    import numpy as np

    rows = np.hstack([vectors, np.ones((len(vectors), 1))])
    counts = np.bincount(labels, minlength=classes)
    shares = 1.0 / (classes * counts[labels])
    wanted = np.eye(classes)[labels]
    penalties = np.full(rows.shape[1], penalty)
    penalties[-1] = 0.0
    curvature = 0.5 * np.linalg.norm(rows * np.sqrt(shares)[:, None], 2) ** 2 + penalty
    weights = np.zeros((classes, rows.shape[1]))
    ahead, momentum = weights, 1.0
    for _ in range(_MOST_STEPS):
        slope = ((probabilities_of(ahead, rows) - wanted) * shares[:, None]).T @ rows + ahead * penalties
        if np.abs(slope).max() < _TOLERANCE:
            break
        following = ahead - slope / curvature
        if np.sum(slope * (following - weights)) > 0:  # restart: the momentum leads uphill
            ahead, momentum = weights, 1.0
            continue
        next_momentum = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = following + (momentum - 1) / next_momentum * (following - weights)
        weights, momentum = following, next_momentum
    return weights


def probabilities_of(weights: Array, rows: Array) -> Array:
    """Returns the probability of each class for each row, which ends with a 1."""
    import numpy as np

    scores = rows @ weights.T
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def classify(weights: Array, vectors: Array) -> Array:
    """Returns the probability of each class for each vector."""
    import numpy as np

    return probabilities_of(weights, np.hstack([vectors, np.ones((len(vectors), 1))]))


def centroids_of(vectors: Array, labels: Array, classes: int) -> Array:
    """Returns the mean vector of each class, of length 1."""
    import numpy as np

    means = np.stack([vectors[labels == one].mean(axis=0) for one in range(classes)])
    return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
