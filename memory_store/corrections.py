"""What residents put right: splitting a person, taking a face, voice or line from them, and undoing.

Every correction is one row of the history with all that it changed, pins the bindings it makes, and leaves
negatives: cannot-link edges between the nodes it keeps apart, and vectors that are not of a node.
"""

from collections.abc import Collection, Sequence
from typing import Any

from memory_store.continuation import Continuation
from memory_store.database import Database
from memory_store.errors import ChangeContradicted, InvalidValue, UnknownId
from memory_store.facts import Facts
from memory_store.graph import Graph
from memory_store.history import HistoryRow, Source
from memory_store.identity import Identity
from memory_store.lines import Lines, MovedLine
from memory_store.records import Node

RESIDENT: Source = "resident"


class Corrections:
    """Corrections by residents, inside the caller's transaction."""

    def __init__(
        self,
        database: Database,
        graph: Graph,
        identity: Identity,
        facts: Facts,
    ) -> None:
        self._database = database
        self._graph = graph
        self._identity = identity
        self._lines = Lines(database, graph, facts)
        self._continuation = Continuation(database, graph)

    def split(self, person_id: int, node_ids: Collection[int]) -> int:
        """Make a new person of some of a person's faces and voices; their id.

        Raises InvalidValue where nothing, everything, or what is not the person's would go.
        """
        person_id = self._identity.living(person_id)
        moved = self._owned(person_id, node_ids)
        if len(moved) == len(self._nodes(person_id)):
            raise InvalidValue(
                f"all faces and voices of person {person_id} would go and leave nobody: name or merge them instead"
            )
        with self._identity.log.recorded("split", person_id, RESIDENT, node_ids=moved) as entry:
            new = self._identity.create(tentative=False)
            entry.detail["new_person_id"] = new
            self._move(person_id, new, moved)
        return new

    def take_node(self, node_id: int, person_id: int | None) -> int:
        """A face or voice is not its person's: it becomes another's, or a new person's; the new owner's id."""
        owner = self._owner(node_id)
        if person_id is not None and self._identity.living(person_id) == owner:
            raise InvalidValue(f"node {node_id} is person {owner}'s already: say whose it is instead")
        with self._identity.log.recorded("not", owner, RESIDENT, node_ids=[node_id]) as entry:
            if person_id is None:
                person_id = self._identity.create(tentative=False)
            person_id = self._identity.living(person_id)
            entry.detail["new_person_id"] = person_id
            self._move(owner, person_id, [node_id])
            self._remember_unlike(owner, node_id)
        return person_id

    def split_lines(self, person_id: int, line_ids: Collection[int]) -> int:
        """Some lines about a person are about somebody else: a new person, with a face and voice of their own."""
        person_id = self._identity.living(person_id)
        nodes = self._nodes(person_id)
        lines = [self._lines.about(line_id, nodes) for line_id in dict.fromkeys(line_ids)]
        if not lines:
            raise InvalidValue(f"no lines to split from person {person_id}: name at least one")
        if not self._lines.acted(nodes) - {line.node.id for line in lines}:
            raise InvalidValue(
                f"these are all the lines in which person {person_id} was seen or heard: splitting them leaves nobody"
            )
        ids = [line.node.id for line in lines]
        with self._identity.log.recorded("split", person_id, RESIDENT, line_ids=ids) as entry:
            new = self._identity.create(tentative=False)
            entry.detail["new_person_id"] = new
            for old_id in dict.fromkeys(old for line in lines for old in line.old_ids):
                theirs = [line for line in lines if old_id in line.old_ids]
                self._give_lines(theirs, old_id, self._new_node(old_id, new, theirs), nodes)
        return new

    def reassign_line(self, line_id: int, person_id: int | None, clip_id: int | None = None) -> int | None:
        """A seen or heard line is about somebody else, or about nobody known; the face or voice it names now.

        With a clip, of an event that went on through several, only what happened in that clip.
        """
        actors = self._lines.named_by(line_id)
        owners = [self._owner(actor) for actor in actors]
        person_id = None if person_id is None else self._identity.living(person_id)
        if owners and all(owner == person_id for owner in owners):
            raise InvalidValue(f"memory {line_id} tells of person {person_id} already")
        line = self._lines.about(line_id, [a for a, o in zip(actors, owners, strict=True) if o != person_id])
        if person_id is None and not line.old_ids:
            raise InvalidValue(f"memory {line_id} names nobody: say whose it is with --is")
        first = next((owner for owner in owners if owner != person_id), person_id)
        assert first is not None
        detail: dict[str, Any] = {"line_ids": [line_id]}
        with self._identity.log.recorded("not", first, RESIDENT, **detail) as entry:
            if clip_id is not None and (part := self._continuation.part(line_id, clip_id)) != line_id:
                detail["line_ids"].append(part)
                line = self._lines.about(part, line.old_ids)
            target = None if person_id is None else self._node_for(line, person_id)
            entry.detail["new_person_id"] = person_id
            for old_id in line.old_ids:
                self._give_lines([line], old_id, target, [old_id])
            if target is not None and not line.old_ids:
                self._lines.give([line], None, target)
        return target

    def undo(self, history_id: int | None) -> HistoryRow:
        """Undo a change, or, without an id, the last correction by a resident that stands.

        What code bound or merged and a resident undoes is known to be different people from then on. Raises
        UnknownId, ChangeContradicted.
        """
        log = self._identity.log
        row = log.last() if history_id is None else log.row(history_id)
        if row.action == "bind" and row.detail.get("previous_person_id") is None:
            raise ChangeContradicted(
                f"change {row.id} is how node {row.detail.get('node_id')} was first met: use split, not or forget"
            )
        owners = self._owners() if row.source == "code" else {}
        detail = {"undone_id": row.id, "undone_action": row.action}
        person_id = row.person_id
        with log.recorded("undo", person_id, RESIDENT, **detail):
            self._graph.refresh_spans(log.undo(row))
            if row.source == "code" and row.action in ("bind", "merge"):
                self._keep_apart(owners)
        log.mark_undone(row)
        return log.row(row.id)

    def _move(self, old: int, new: int, moved: list[int]) -> None:
        """Give nodes to another person; what stays behind is known to be somebody else."""
        staying = [node_id for node_id in self._nodes(old) if node_id not in moved]
        self._identity.unlink(moved, self._nodes(new))
        for node_id in staying:
            self._identity.give(old, node_id, RESIDENT)
        for node_id in moved:
            self._identity.give(new, node_id, RESIDENT)
        self._link_apart(moved, staying)
        self._lines.forget_votes_between(moved, staying)

    def _keep_apart(self, before: dict[int, int]) -> None:
        """Cannot-link edges between nodes that an undo parted; `before`: owners until then."""
        after = self._owners()
        moved = [node for node, owner in before.items() if after.get(node) != owner]
        for node in moved:
            staying = [other for other, owner in before.items() if owner == before[node] == after.get(other)]
            self._link_apart([node], staying)
            self._lines.forget_votes_between([node], staying)

    def _link_apart(self, left: Sequence[int], right: Sequence[int]) -> None:
        for one in left:
            known = self._graph.cannot_links(one)
            for other in right:
                if other not in known:
                    self._graph.add_edge(one, other, "cannot_link", detail=RESIDENT)

    def _remember_unlike(self, person_id: int, node_id: int) -> None:
        """The vectors of a face or voice that was taken from a person are not of their other ones."""
        kind = self._graph.node(node_id).kind
        for other in self._nodes(person_id):
            if self._graph.node(other).kind == kind:
                self._lines.copy_as_negatives(node_id, other)

    def _new_node(self, like_id: int, person_id: int, lines: list[MovedLine]) -> int:
        """A face or voice of its own for some lines, of the same kind as the one they named."""
        like = self._graph.node(like_id)
        first = min((line.node for line in lines), key=lambda node: (node.start_utc_s, node.id))
        return self._make_node(like, person_id, first)

    def _make_node(self, like: Node, person_id: int, first: Node) -> int:
        spans = self._continuation.spans(first.id)
        end = spans[0].end_utc_s if spans else first.end_utc_s
        node_id = self._graph.add_node(
            like.kind,
            "",
            clip_id=first.clip_id,
            start_utc_s=first.start_utc_s,
            end_utc_s=end,
            provenance={"source": RESIDENT, "model": like.provenance.get("model", "")},
            vectors={},
        )
        self._identity.give(person_id, node_id, RESIDENT)
        return node_id

    def _node_for(self, line: MovedLine, person_id: int) -> int:
        """The face or voice of a person that a line may name; one is made where they have none of the kind."""
        owned = [self._graph.node(node_id) for node_id in self._nodes(person_id)]
        kind = line.kind(owned)
        nodes = [node.id for node in owned if node.kind == kind]
        if nodes:
            return self._lines.nearest(line, nodes)
        like = Node(0, kind, "", 1.0, None, 0.0, 0.0, 0.0, 0.0, "hot", {})
        return self._make_node(like, person_id, line.node)

    def _give_lines(
        self, lines: list[MovedLine], old_id: int, target: int | None, apart: Sequence[int]
    ) -> None:
        self._lines.give(lines, old_id, target)
        if target is not None:
            new_owner = self._owner(target)
            self._link_apart([target], [node for node in apart if self._owner(node) != new_owner])
            self._identity.give(new_owner, target, RESIDENT)

    def _owned(self, person_id: int, node_ids: Collection[int]) -> list[int]:
        owned = self._nodes(person_id)
        asked = sorted(set(node_ids))
        if not asked:
            raise InvalidValue(f"no faces or voices to split from person {person_id}: name at least one")
        for node_id in asked:
            self._graph.require_node(node_id)
            if node_id not in owned:
                raise InvalidValue(
                    f"node {node_id} is no face or voice of person {person_id}, who has {owned or 'none'}"
                )
        return asked

    def _owner(self, node_id: int) -> int:
        self._graph.require_node(node_id)
        row = self._database.row("SELECT person_id FROM person_nodes WHERE node_id = ?", (node_id,))
        if row is None:
            raise UnknownId(f"node {node_id} is no face or voice of anybody")
        return int(row["person_id"])

    def _owners(self) -> dict[int, int]:
        rows = self._database.rows("SELECT node_id, person_id FROM person_nodes")
        return {row["node_id"]: row["person_id"] for row in rows}

    def _nodes(self, person_id: int) -> list[int]:
        return [binding.node_id for binding in self._identity.bindings(person_id)]
