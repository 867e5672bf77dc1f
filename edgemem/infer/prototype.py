"""Where a named thing lies in the space of a classifier's features, also one without a label: its prototype, made without a picture.

The last layer of a classifier has a direction for each label. Labels that are alike in meaning have like directions, so that of a phrase is
predicted from those of all labels by kernel ridge regression, as exemplars are by Changpinyo, Chao and Sha (ICCV 2017) and classifiers by
Wang, Ye and Gupta (CVPR 2018). Of a label that is left out, the prediction is nearer to its own direction than to those of all but 7 of the
999 others (the median; all but 14 for the mean of the three nearest in meaning; `tools/eval/prototypes.py`).
"""

from __future__ import annotations

import numpy as np

from edgemem.records import Matrix, Vector

RIDGE = 1.0
"""Added to the kernel's diagonal; .3 to 3 predict directions that were left out equally well."""


def kernel(photo: Matrix, gloss: Matrix, lin: Matrix) -> Matrix:
    """How alike meanings are, of any shape: cosines of their sentence vectors and of those of their glosses, and Lin's similarity.

    Powers let near labels count more than many far ones. Which ones hardly matters: squares to sixth powers lie within 1 of 10 ranks.
    """
    return np.asarray(np.maximum(photo, 0) ** 3 + np.maximum(gloss, 0) ** 3 + np.maximum(lin, 0) ** 2, np.float32)


def coefficients(likeness: Matrix, directions: Matrix) -> Matrix:
    """What `prototype` needs: float32 [labels, dim], from the kernel of the labels among themselves and their directions."""
    symmetric = (likeness + likeness.T) / 2 + RIDGE * np.eye(len(likeness))
    return np.asarray(np.linalg.solve(symmetric, directions.astype(np.float64)), np.float32)


def prototype(likeness: Vector, dual: Matrix) -> Vector:
    """The direction of a phrase, of unit length, from its kernel with the labels; zeros where it is like none of them."""
    direction = likeness @ dual
    return np.asarray(direction / max(float(np.linalg.norm(direction)), 1e-9), np.float32)
