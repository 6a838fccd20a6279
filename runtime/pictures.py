"""Pictures that are shown with an answer, and what they show in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from memory_store.errors import UnknownId
from memory_store.store import MemoryStore
from runtime.answer import Picture
from runtime.media_files import MediaFiles
from runtime.object_places import spot_words


def pictures_of(store: MemoryStore, image_ids: Iterable[int]) -> tuple[Picture, ...]:
    """The image nodes as pictures of an answer; those without a file are left out."""
    found = []
    for image_id in image_ids:
        node = store.node(image_id)
        file = node.provenance.get("file")
        if file is not None:
            place = "" if node.clip_id is None else store.clip(node.clip_id).place
            found.append(Picture(node.id, str(file["path"]), str(file["sha256"]), node.start_utc_s, place))
    return tuple(found)


def picture_words(provenance: Mapping[str, Any]) -> str:
    """What a picture shows, as one line of evidence."""
    things = [f"{one['class']} {spot_words(one.get('spot', {}))}" for one in provenance.get("objects", ())]
    return f"Picture: {', '.join(things)}." if things else "Picture."


def picture_bytes(store: MemoryStore, data_dir: Path, node_id: int) -> bytes:
    """The file of an image node. Raises UnknownId for a node that is no picture or has no file, MediaFileError."""
    node = store.node(node_id)
    file = node.provenance.get("file")
    if node.kind != "image" or file is None:
        raise UnknownId(f"no picture {node_id} in this memory")
    return MediaFiles(data_dir).read(str(file["path"]))
