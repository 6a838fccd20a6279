"""Who appears in the demo scene, what they say, and the questions that it can answer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Role:
    """One person: the picture they appear as, and how the one synthesis voice is bent for them.

    pitch: factor on the voice's frequencies; tempo: factor on its speed.
    """

    name: str
    picture: str
    pitch: float
    tempo: float


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence, said by the person of that name."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Shot:
    """Who stands in the room while the lines are said; `still` shows a picture instead of the room."""

    people: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    still: str | None = None
    minimum_s: float = 2.0


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question with its full answer, and words of which a right answer holds at least one each."""

    question: str
    answer: str
    keywords: tuple[str, ...]


ROLES: tuple[Role, ...] = (
    Role("Anna", "astronaut.png", pitch=1.42, tempo=0.95),
    Role("Ben", "obama.jpg", pitch=1.0, tempo=1.0),
    Role("Carl", "biden.jpg", pitch=0.78, tempo=0.94),
)

SHOTS: tuple[Shot, ...] = (
    Shot(minimum_s=2.5),
    Shot(
        ("Anna",),
        (
            Line("Anna", "Hello, I am Anna. I put the keys in the blue bowl on the kitchen shelf."),
            Line("Anna", "At four o'clock we will drink tea together."),
        ),
    ),
    Shot(minimum_s=2.0),
    Shot(
        ("Ben",),
        (
            Line(
                "Ben", "Good morning, my name is Ben. A parcel has arrived for our neighbour, Mister Miller."
            ),
            Line("Ben", "I left the parcel next to the front door."),
        ),
    ),
    Shot(still="coffee.png", minimum_s=3.5),
    Shot(
        ("Carl",),
        (
            Line(
                "Carl", "Hello everybody, I am Carl. The plumber is coming on Friday at nine in the morning."
            ),
            Line("Carl", "Please water the plants in the bedroom."),
        ),
    ),
    Shot(minimum_s=2.0),
    Shot(
        ("Anna", "Ben"),
        (
            Line("Anna", "Ben, did you find the keys?"),
            Line("Ben", "Yes, Anna, they were in the blue bowl. See you at four o'clock for tea."),
        ),
    ),
    Shot(
        ("Carl",),
        (Line("Carl", "Has anyone seen my glasses? I think they are on the piano."),),
    ),
    Shot(minimum_s=2.0),
)

DEMO_QUESTIONS: tuple[DemoQuestion, ...] = (
    DemoQuestion("Where are the keys?", "In the blue bowl on the kitchen shelf.", ("blue bowl", "shelf")),
    DemoQuestion(
        "Who is the parcel for?", "For the neighbour, Mister Miller.", ("neighbour", "neighbor", "Miller")
    ),
    DemoQuestion("When is the plumber coming?", "On Friday at nine in the morning.", ("Friday", "nine", "9")),
)
