"""How well the stored faces or voices tell people apart: same and different similarities, and their margin."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from memory_store.records import Exemplar

ROWS_AT_ONCE = 1024


def identity_health(space: str, exemplars: Sequence[Exemplar]) -> dict[str, Any]:
    """Figures over all exemplars that belong to somebody, cosine similarities; None where nothing compares.

    `same_min`: the two least alike of one person; `same_nearest_min`: the least alike to its nearest sibling;
    `different_max`: the two most alike of two people; `margin_min`: the least lead of a nearest sibling over
    the nearest stranger; `nearer_to_others`: how many exemplars have no such lead; `closest_people`: whose
    `different_max` it is.
    """
    owned = [exemplar for exemplar in exemplars if exemplar.person_id is not None]
    people = np.array([exemplar.person_id for exemplar in owned], dtype=np.int64)
    found: dict[str, Any] = {
        "space": space,
        "people": len(set(people.tolist())),
        "exemplars": len(owned),
        "same_min": None,
        "same_nearest_min": None,
        "different_max": None,
        "margin_min": None,
        "nearer_to_others": 0,
        "closest_people": [],
    }
    if len(owned) < 2:
        return found
    vectors = np.stack([exemplar.vector for exemplar in owned])
    for first in range(0, len(owned), ROWS_AT_ONCE):
        rows = np.arange(first, min(first + ROWS_AT_ONCE, len(owned)))
        alike = vectors[rows] @ vectors.T
        same = people[rows][:, np.newaxis] == people[np.newaxis]
        same[np.arange(len(rows)), rows] = False
        other = people[rows][:, np.newaxis] != people[np.newaxis]
        sibling = np.where(same, alike, -np.inf).max(axis=1)
        stranger = np.where(other, alike, -np.inf).max(axis=1)
        if other.any() and stranger.max() > _or(found["different_max"], -np.inf):
            row = int(stranger.argmax())
            column = int(np.where(other[row], alike[row], -np.inf).argmax())
            found["closest_people"] = sorted((int(people[rows[row]]), int(people[column])))
            found["different_max"] = float(stranger.max())
        if same.any():
            lonely = ~same.any(axis=1)
            found["same_min"] = min(_or(found["same_min"], np.inf), float(alike[same].min()))
            nearest = float(sibling[~lonely].min())
            found["same_nearest_min"] = min(_or(found["same_nearest_min"], np.inf), nearest)
            both = ~lonely & other.any(axis=1)
            if both.any():
                lead = sibling[both] - stranger[both]
                found["margin_min"] = min(_or(found["margin_min"], np.inf), float(lead.min()))
                found["nearer_to_others"] += int((lead <= 0).sum())
    return found


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
