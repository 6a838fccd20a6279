"""Judging a model's answer by code: who, when and how many must be told, and only from what was cited."""

from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from memory_store.records import Person
from runtime.answer import Evidence
from runtime.judge import as_told, fault_of, is_to_the_point, quotes_answer
from runtime.question import read_question
from runtime.say import Speech

NOW_UTC_S = 1_777_712_400.0
ZONE = ZoneInfo("UTC")
LEO = Person(2, "Leo", "resident", False, (102,), (), None, None, 1)


def evidence(line: str) -> Evidence:
    """A memory found for a question: this line, said a minute ago."""
    return Evidence(1, 1, "episodic", NOW_UTC_S - 60, NOW_UTC_S - 58, line, line, 1.0, 0.9, ("vector",))


def _fault(question: str, answer: str, line: str) -> str:
    asked = read_question(question, [], lambda node_id: None, NOW_UTC_S, ZONE)
    return fault_of(answer, [evidence(line)], [line], asked, ["person_2"])


@pytest.mark.parametrize(
    ("question", "answer", "line", "fault"),
    [
        ("Who is the parcel for?", "I left it at the door.", 'person_2 says: "I left it at the door."', "nobody"),
        ("Who is the parcel for?", "The neighbour.", 'person_2 says: "The parcel is for our neighbour."', ""),
        ("Who is the parcel for?", "Mr. Miller.", 'person_2 says: "The parcel is for Mr. Miller."', ""),
        ("When is tea?", "Tea is in the kitchen.", 'person_2 says: "Tea is in the kitchen."', "no time"),
        ("When in August was it?", "It was in August.", 'person_2 says: "It was in August."', "no time"),
        ("When in August was it?", "It was on 5 August.", 'person_2 says: "It was on 5 August."', ""),
        ("How many eggs are left?", "The eggs are left.", 'person_2 says: "The eggs are left over."', "no number"),
        ("How many eggs are left?", "7 eggs are left.", 'person_2 says: "6 eggs are left."', "7"),
        ("Where are the keys?", "person_2 has the keys.", 'person_23 says: "I have the keys."', "person_2 stands"),
        (
            "When is the plumber coming?", "Carl is coming on Friday at 9.",
            'person_6 says: "Hello everybody, I am Carl. The plumber is coming on Friday at 9."', "tells of Carl",
        ),
        (
            "When is the plumber coming?", "The plumber is coming on Friday at 9.",
            'person_6 says: "Hello everybody, I am Carl. The plumber is coming on Friday at 9."', "",
        ),
        (
            "When is the plumber coming?", "On Friday at 9.",
            'person_6 says: "Hello everybody, I am Carl. The plumber is coming on Friday at 9."', "",
        ),
        (
            "Where is the parcel?", "person_2 is next to the front door.",
            'person_2 says: "I left the parcel next to the front door."', "tells of person_2",
        ),
        ("Where are the keys?", "The keys are in the car.", 'person_2 says: "The dog sleeps."', "words"),
        (
            "Where does Mrs. Keller live?", "Mrs. Keller lives in the library.",
            'person_2 says: "My boss at the library is called Mrs. Keller."', "'lives' is a word of the question",
        ),
        (
            "How often does the cat eat?", "The cat often eats 2 fish.",
            'person_2 says: "The cat eats 2 fish."', "",
        ),
        ("When is the holiday?", "Bob has three cats.", 'Bob says: "I have three cats."', "no time"),
        ("When is the party?", "The party is at three.", 'person_2 says: "The party is at three."', ""),
        ("When is the party?", "At 9 a.m.", 'person_2 says: "The party is at 9 a.m."', ""),
        ("When was the move?", "The move was in 2019.", 'person_2 says: "The move was in 2019."', ""),
        ("When was the race?", "The race was on Tues.", 'person_2 says: "The race was on Tues."', ""),
        ("On which day was the race?", "On Fri.", 'person_2 says: "The race was on Fri."', ""),
        ("How tall is the mug?", "The mug is blue.", 'person_2 says: "The mug is blue."', "no number"),
        ("How many dogs has Bob?", "Bob has three cats.", 'Bob says: "I have three cats."', "counts something else"),
        ("How many dogs has Bob?", "Three.", 'Bob says: "Bob has three dogs."', ""),
        ("How many dogs has Bob?", "Bob has 2 dogs.", 'On 2 May Bob says: "I have dogs."', "counts something else"),
        ("What is the cat's name?", "The cat is called Bob.", 'Bob says: "The cat sleeps."', "no name"),
        ("What is the cat's name?", "It comes at 9.", 'Bob says: "I am Bob. The cat comes at 9."', "no name"),
        ("Why is the cat ill?", "The cat is very ill.", 'Bob says: "The cat is very ill."', "no reason"),
        ("Why is the cat ill?", "It ate paint.", 'Bob says: "The cat is ill because it ate paint."', ""),
        ("What is the cat's name?", "Milo.", 'Bob says: "The cat is called Milo."', ""),
        ("When did Bob get the dog?", "Bob got it on 2 May.", 'On 2 May Bob says: "The dog is ill."', "do not say"),
        ("What did he tell Mr. Miller?", "He told him of cats.", 'Bob says: "Mr. Miller has cats."', "was said"),
        ("What is the cat called?", "Milo.", 'Bob says: "My cat Milo sleeps."', ""),
        ("What is the cat called?", "Biscuit.", 'Bob says: "My cat biscuit sleeps."', ""),
        ("包裹在哪里？", "包裹在 parcel 里。", "Bob说：“包裹在门口。”", "mixes"),
        ("包裹在哪里？", "包裹在Bob家里。", "Bob说：“包裹在我家里。”", ""),
        ("wifi密码在哪里？", "wifi密码在门口。", "Bob说：“wifi密码在门口。”", ""),
        ("猫叫什么名字？", "猫叫Bob。", "Bob说：“猫在睡觉。”", "no name"),
        ("Where is the party?", "It is on Friday 6 March.", 'Bob says: "The party is on Friday 6 March."', "no place"),
        ("How many dogs has Bob?", "Bob has three big dogs.", 'Bob says: "Bob has three dogs, big ones."', ""),
        ("考试在哪里？", "考试在2026年3月6日星期五。", "Bob说：“考试在2026年3月6日星期五。”", "no place"),
        ("Where is the pump?", "The boiler is old.", 'Bob says: "The boiler is old. It needs a new pump."', "no place"),
        ("Where is the exam?", "The exam is tomorrow.", 'person_2 says: "The exam is tomorrow."', "no place"),
        ("On which day was the exam?", "The exam was at two.", 'person_2 says: "The exam was at two."', "no day"),
        ("On which day was the exam?", "On Friday.", 'person_2 says: "The exam was on Friday."', ""),
        ("What did the dentist say?", "It is late.", 'person_2 says: "The dentist is nice. It is late."', "was said"),
        ("What colour is the mug?", "The mug is in the sink.", 'person_2 says: "The mug is in the sink."', "no colour"),
        ("What colour is the mug?", "The mug is blue.", 'person_2 says: "The blue mug is in the sink."', ""),
        ("杯子是什么颜色？", "杯子在水槽里。", "person_2说：“杯子在水槽里。”", "no colour"),
        (
            "Why was the parade late?", "The parade was late on Friday 4 May 2018.",
            'person_2 says: "The parade was late on Friday."', "no reason",
        ),
        ("What did the dog chase?", "The dog chased it.", 'person_2 says: "The dog chased a cat."', "adds nothing"),
        ("What did the dog find?", "The dog found a bone.", 'person_2 says: "The dog found a bone."', ""),
        ("What is the code?", "The code is 1234.", 'person_2 says: "The code is 1234."', ""),
        ("Is the dog asleep?", "Yes, the dog is asleep.", 'person_2 says: "The dog is asleep."', ""),
        ("狗找到了什么？", "狗找到了。", "person_2说：“狗找到了骨头。”", "adds nothing"),
        ("狗找到了什么？", "狗找到了骨头。", "person_2说：“狗找到了骨头。”", ""),
        (
            "What country is the coin from?", "The coin is from Sweden.",
            'person_2 says: "This coin is from my country, Sweden."', "",
        ),
        (
            "Why is the obedience training of young dogs important?",
            "The obedience training is important for young dogs because they bite.",
            'person_2 says: "Obedience is important for young dogs, because they bite."', "",
        ),
    ],
)  # fmt: skip
def test_what_a_question_asks_must_be_told(question: str, answer: str, line: str, fault: str) -> None:
    found = _fault(question, answer, line)
    assert (fault in found) if fault else not found, found


@pytest.mark.parametrize(
    ("labels", "fault"),
    [(["Melanie", "Leo"], "it adds nothing to the question"), (["Melanie", "Mel", "Leo"], "")],
)
def test_who_is_called_by_the_beginning_of_a_name_is_nobody_new(labels: list[str], fault: str) -> None:
    line = 'Leo says: "What Mel builds with Melanie is a kite."'
    asked = read_question("What does Mel build?", [], lambda node_id: None, NOW_UTC_S, ZONE)
    assert fault_of("Melanie builds what Mel builds.", [evidence(line)], [line], asked, labels) == fault


@pytest.mark.parametrize(
    ("question", "answer", "heard", "fault"),
    [
        (
            "How old is Leo?",
            "Leo is 71.",
            ['Leo says: "He is 71."'],
            "it tells of Leo what Leo said of somebody else",
        ),
        ("How old is Leo?", "Leo is 71.", ['Leo says: "I am 71."'], ""),
        ("How old is Leo?", "Leo is 71.", ['Leo says: "He is 71."', 'Leo says: "I am 71."'], ""),
        ("How old is Leo?", "Leo is 71.", ['Leo says: "He is 71."', 'Bob says: "He is 71."'], ""),
        ("How old is Leo's boss?", "Leo's boss is 71.", ['Leo says: "My boss came. He is 71."'], ""),
        ("What did Leo say?", "Leo said that he is 71.", ['Leo says: "He is 71."'], ""),
        (
            "Who lives in Lisbon?",
            "Leo lives in Lisbon.",
            ['Leo says: "My boss came. He lives in Lisbon."'],
            "it tells of Leo what Leo said of somebody else",
        ),
        ("Who lives in Lisbon?", "Leo lives in Lisbon.", ['Leo says: "I live in Lisbon."'], ""),
        ("Who lives in Lisbon?", "Leo lives in Lisbon.", ['Bob says: "Leo came. He lives in Lisbon."'], ""),
        (
            "谁住在里斯本？",
            "Leo住在里斯本。",
            ["Leo说：“老板来了。他住在里斯本。”"],
            "it tells of Leo what Leo said of somebody else",
        ),
    ],
)
def test_what_is_said_of_him_is_not_told_of_the_speaker(
    question: str, answer: str, heard: list[str], fault: str
) -> None:
    leo = Person(1, "Leo", "resident", False, (), (), NOW_UTC_S, NOW_UTC_S, 1)
    asked = read_question(question, [leo], lambda node_id: None, NOW_UTC_S, ZONE)
    assert fault_of(answer, [evidence(line) for line in heard], heard, asked, ["Leo"]) == fault


def test_an_answer_begins_like_a_sentence_unless_with_a_label() -> None:
    asked = read_question("Where are the glasses?", [], lambda node_id: None, NOW_UTC_S, ZONE)
    proof = [evidence('person_2 says: "They are on the piano."')]
    speech = Speech("en", ZONE, NOW_UTC_S)
    assert as_told("glasses are on the piano.", proof, asked, ["person_2"], speech).startswith("Glasses")
    assert as_told("person_2 has them.", proof, asked, ["person_2"], speech).startswith("person_2")


def test_what_somebody_said_is_not_answered_by_what_others_said() -> None:
    told = 'Anna says: "The library is closed."'
    asked = read_question("What did Leo say about the library?", [LEO], lambda node_id: None, NOW_UTC_S, ZONE)
    assert not quotes_answer([evidence(told)], asked)
    assert "nothing of Leo" in fault_of("The library is closed.", [evidence(told)], [told], asked, ["Leo"])
    named = 'Anna says: "The library is closed for Leo."'
    assert "nobody who was asked" in fault_of(
        "The library is closed.", [evidence(named)], [named], asked, ["Leo"]
    )
    assert quotes_answer([evidence('Leo says: "The library is closed."')], asked)


@pytest.mark.parametrize(
    ("question", "answer", "line", "to_the_point"),
    [
        (
            "Why is the dog afraid of the vacuum cleaner?", "The dog sleeps on the couch.",
            'Anna says: "The dog sleeps on the couch."', False,
        ),
        (
            "Why is the dog afraid of the vacuum cleaner?", "Because it is so loud.",
            'Anna says: "The vacuum cleaner is so loud that the dog is afraid."', True,
        ),
        ("Which film does the guest prefer?", "Tron.", 'Anna says: "The guest prefers Tron."', True),
        ("What is it?", "A cup.", 'Anna says: "A cup."', True),
    ],
)  # fmt: skip
def test_an_answer_holds_more_than_half_of_what_was_asked(
    question: str, answer: str, line: str, to_the_point: bool
) -> None:
    asked = read_question(question, [], lambda node_id: None, NOW_UTC_S, ZONE)
    assert is_to_the_point(answer, [evidence(line)], asked) == to_the_point


def test_you_is_whoever_speaks_next() -> None:
    asked = read_question("When is Leo's exam?", [LEO], lambda node_id: None, NOW_UTC_S, ZONE)
    told = evidence('Anna says: "Your exam is on Friday at nine."')
    assert not quotes_answer([told], asked)
    assert quotes_answer([replace(told, spoken_to="Leo")], asked)
    line = 'Anna says: "Your exam is on Friday at nine."'
    answer = "Leo's exam is on Friday at nine."
    assert "nothing of Leo" in fault_of(answer, [told], [line], asked, ["Leo"])
    assert not fault_of(answer, [replace(told, spoken_to="Leo")], [line], asked, ["Leo"])
    own = replace(evidence('Anna says: "My exam is on Friday at nine."'), spoken_to="Leo")
    assert not quotes_answer([own], asked)
