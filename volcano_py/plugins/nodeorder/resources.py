"""Scores of what a node would have in use with one more pod: least allocated, most allocated and balanced.

Formulas and rounding are those of kube-scheduler's noderesources plugins: each score is an integer from 0 to 100, cut
off at every division, because nodes that are equal to kube-scheduler should be equal here too. (A float quotient is cut
off like the integers' own as long as a hundredfold amount is below 2^53: 80 TiB of memory on one node.)

`used` is [D, K]: what K nodes would have in use of D resources, in the units of the resource axis. With [C, D, K], the
same for C different pods, each answer is [C, K].
"""

from __future__ import annotations

import numpy as np

from volcano_py.plugins.amounts.node_capacity import HIGHEST, Floats, Mask, NodeCapacity, total
from volcano_py.state.table.table import Rows


def least_allocated(capacity: NodeCapacity, rows: Rows, used: Floats) -> Floats:
    """[K] mean percentage that stays free; a resource that would be exceeded counts 0."""
    return _mean_percentage(capacity, rows, np.maximum(capacity.of(rows) - used, 0.0))


def most_allocated(capacity: NodeCapacity, rows: Rows, used: Floats) -> Floats:
    """[K] mean percentage in use; a resource that would be exceeded counts 100."""
    return _mean_percentage(capacity, rows, np.minimum(used, capacity.of(rows)))


def _mean_percentage(capacity: NodeCapacity, rows: Rows, part: Floats) -> Floats:
    """The mean leaves out resources of which a node has nothing."""
    part *= HIGHEST
    part /= capacity.divisors(rows)
    mean = total(np.floor(part, out=part))
    mean /= part.shape[-2] if capacity.complete else np.maximum(capacity.has(rows).sum(axis=0), 1)
    return np.floor(mean, out=mean)


def balanced(capacity: NodeCapacity, rows: Rows, used: Floats, request: Floats) -> Floats:
    """[K] from 50 to 100: how much better balanced a node would be with the request ([D, 1], or [C, D, 1]) on top of
    `used` [D, K].

    75 stands for no difference. The balance of a node is 100 × (1 - standard deviation of the fractions in use) over
    the resources that it has. (Before Kubernetes 1.36 the balance with the request was the score itself.)
    """
    score = _balance(capacity, rows, used + request)
    score -= _balance(capacity, rows, used)
    score += HIGHEST // 2
    score /= 2
    np.floor(score, out=score)
    score += HIGHEST // 2
    return score


def _balance(capacity: NodeCapacity, rows: Rows, used: Floats) -> Floats:
    """[K] from 50 to 100."""
    fractions = used / capacity.divisors(rows)
    np.minimum(fractions, 1.0, out=fractions)
    deviation = _deviation(fractions) if capacity.complete else _deviation_where(fractions, capacity.has(rows))
    score = (1.0 - deviation) * HIGHEST
    return np.floor(score, out=score)


def _deviation(values: Floats) -> Floats:
    """[K] standard deviation of the columns of [D, K]."""
    size = values.shape[-2]
    if size == 2:
        # kube-scheduler's shorter form, which rounds in another way than the long one
        half: Floats = np.abs(values[..., 0, :] - values[..., 1, :]) / 2
        return half
    mean = total(values) / size
    variance: Floats = total((values - mean[..., None, :]) ** 2) / size
    return np.sqrt(variance, out=variance)


def _deviation_where(values: Floats, known: Mask) -> Floats:
    """[K] the same, leaving out what is not known; for at most three resources."""
    highest: Floats = np.where(known, values, 0.0).max(axis=-2)
    lowest: Floats = np.where(known, values, 1.0).min(axis=-2)
    # the deviation of two values; 0 for a single one and, as it would be negative, for none
    of_two_or_less: Floats = np.maximum((highest - lowest) / 2, 0.0)
    return np.where(known.all(axis=0), _deviation(values), of_two_or_less)
