"""Score of images that are on a node already.

kube-scheduler's imagelocality: the bytes of each image of the pod that a node has, scaled by the part of all nodes that
have it (so that pods do not all run after the one node that pulled it first), summed over all containers, init
containers included, and stretched between two thresholds to 0..100. An image counts as often as containers have it.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.amounts.node_capacity import HIGHEST
from volcano_py.state.nodes.index import Key, NodeIndex

# kube-scheduler's thresholds, from the sizes of images in public registries.
_MEBIBYTE: Final = 1024 * 1024
_LEAST: Final = 23 * _MEBIBYTE
_MOST_PER_CONTAINER: Final = 1000 * _MEBIBYTE


def image_key(images: tuple[str, ...]) -> Key | None:
    """Under which the scores of these images are kept; None when there are none."""
    return ("image scores", *sorted(map(normalised, images))) if any(images) else None


def image_scores(index: NodeIndex, images: tuple[str, ...], nodes: int) -> NDArray[np.int64]:
    """[N] from 0 to 100; `nodes` is the number of nodes that exist."""
    present: NDArray[np.int64] = np.zeros(len(index.nodes), dtype=np.int64)
    for name, containers in Counter(map(normalised, images)).items():
        sizes = index.image_sizes(name)
        spread = np.count_nonzero(sizes) / max(nodes, 1)
        present += containers * (sizes * spread).astype(np.int64)
    most = _MOST_PER_CONTAINER * len(images)
    counted = np.clip(present, _LEAST, most)
    return HIGHEST * (counted - _LEAST) // (most - _LEAST)


def normalised(image: str) -> str:
    """The name under which nodes list an image: a missing tag is `latest`."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
