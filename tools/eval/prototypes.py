"""How near predicted prototypes of labels are to their own directions: `prototypes.py` prints a table.

Each label of the classifier is left out in turn (in closed form: Rasmussen and Williams 2006, eq. 5.12) and predicted from all others. The
peer is the mean direction of the label's three nearest in meaning (by sentence vectors). Nothing is fitted on pictures.
"""

import numpy as np
import numpy.typing as npt

from edgemem.cli.app import CommandContext
from edgemem.infer.labels import Meanings, describe
from edgemem.infer.phrase import PhraseMatcher
from edgemem.infer.prototype import RIDGE, kernel

Array = npt.NDArray[np.float64]


def main() -> None:
    engines = CommandContext(None, ("engines.threads=2",)).engines
    classifier = engines.role("classify")
    labels = describe(classifier.labels, "imagenet")
    photo, gloss = PhraseMatcher(labels, engines.role("embed_text")).vectors()
    alike = kernel(photo @ photo.T, gloss @ gloss.T, Meanings(labels).among_labels()).astype(np.float64)
    own = np.asarray(classifier.label_weights, np.float64)
    inverse = np.linalg.inv((alike + alike.T) / 2 + RIDGE * np.eye(len(own)))
    left_out = own - (inverse @ own) / np.diag(inverse)[:, None]
    near = photo @ photo.T - 2 * np.eye(len(own))
    three = np.stack([own[np.argsort(-row)[:3]].mean(axis=0) for row in near])
    print(f"{'left out, predicted by':30} {'rank':>5} {'first 5':>8} {'cosine':>7}")
    for name, found in (("kernel ridge regression", left_out), ("the three nearest in meaning", three)):
        cosines = (found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)) @ own.T
        ranks = (cosines > np.diag(cosines)[:, None]).sum(axis=1)
        print(f"{name:30} {np.median(ranks):5.0f} {100 * (ranks < 5).mean():7.1f}% {np.diag(cosines).mean():7.3f}")


if __name__ == "__main__":
    main()
