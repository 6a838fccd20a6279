"""Judging quotations by code: which memories, told as they are, answer a question."""

import pytest

from memory_store.records import Person
from runtime.judge import quotes_answer
from runtime.question import read_question
from tests.test_judge import LEO, NOW_UTC_S, ZONE, evidence


def test_two_memories_of_two_things_answer_nothing_together() -> None:
    asked = read_question("Who broke the kite?", [], lambda node_id: None, NOW_UTC_S, ZONE)
    kite, vase = 'Leo says: "The kite is on the roof."', 'Bob says: "I broke the vase."'
    assert not quotes_answer([evidence(kite), evidence(vase)], asked)
    assert quotes_answer([evidence(kite), evidence('Bob says: "I broke the kite."')], asked)


def test_what_is_asked_for_is_told_of_what_it_is_asked_of() -> None:
    asked = read_question("How much did the new lamp cost?", [], lambda node_id: None, NOW_UTC_S, ZONE)
    lamp = evidence('person_2 says: "I have a new lamp."')
    assert not quotes_answer([lamp, evidence('person_2 says: "The tap cost eighty euros."')], asked)
    assert quotes_answer([lamp, evidence('person_2 says: "The new lamp cost eighty euros."')], asked)


def test_who_did_it_is_told_by_one_memory() -> None:
    asked = read_question("Who repaired the washing machine?", [], lambda node_id: None, NOW_UTC_S, ZONE)
    machine = evidence('person_2 says: "The cat sleeps on the washing machine."')
    assert not quotes_answer([machine, evidence('person_2 says: "The plumber repaired the tap."')], asked)
    assert quotes_answer([machine, evidence('person_2 says: "He repaired the washing machine."')], asked)


@pytest.mark.parametrize(
    ("question", "line", "answers"),
    [
        ("Where is the blue suitcase?", 'person_2 says: "The blue suitcase is under the bed."', True),
        ("What colour is the suitcase?", 'person_2 says: "The suitcase is under the bed."', False),
        ("How often must Biscuit take a pill?", 'person_2 says: "Biscuit takes a pill twice a day."', True),
        ("How much did the mug cost?", 'person_2 says: "This mug is a present."', False),
        ("How much did the mug cost?", 'person_2 says: "The mug was five euros."', True),
        ("How much does the flight cost?", 'person_2 says: "I take the flight for two weeks."', False),
        ("How much does the flight cost?", 'person_2 says: "The flight cost 80."', True),
        (
            "How many plants are there?",
            'person_2 says: "I fly for two weeks. Please water my plants."',
            False,
        ),
        ("How many plants are there?", 'person_2 says: "There are two very big plants here."', True),
        ("What is the plumber's name?", 'person_2 says: "The plumber is coming on Tuesday."', False),
        ("What is the plumber's name?", 'person_2 says: "The plumber is called Miller."', True),
        ("What is the plumber's name?", 'person_2 says: "I am Carl. The plumber is late."', False),
        ("What is the plumber's name?", 'person_2 says: "The plumber was here. He is called Miller."', True),
        ("What is the plumber's name?", 'person_2 says: "I am Carl, the plumber."', True),
        ("What is the snake's name?", 'person_2 says: "I have a snake. Her name is Susie."', True),
        ("What is the plumber's name?", 'person_2 says: "The plumber is Doctor Miller."', True),
        ("水管工叫什么名字？", "person_2说：“水管工星期二来。”", False),
        ("水管工叫什么名字？", "person_2说：“水管工叫王明。”", True),
        ("Which seat do we have on the train?", 'person_2 says: "The train leaves at six."', False),
        (
            "Which seat do we have on the train?",
            'person_2 says: "Our seat on the train is by the window."',
            True,
        ),
        ("Which sport does the guest prefer now?", 'person_2 says: "The guest prefers swimming now."', True),
        ("Which day does the train leave?", 'person_2 says: "The train leaves on Tuesday."', True),
        ("What did the guest eat?", 'person_2 says: "What will the guest eat?"', False),
        ("Why did the guest leave early?", 'person_2 says: "The guest left early."', False),
        (
            "Why did the guest leave early?",
            'person_2 says: "The guest left early because of the rain."',
            True,
        ),
        ("How did the guest get to the station?", 'person_2 says: "The guest is at the station."', False),
        (
            "How did the guest get to the station?",
            'person_2 says: "The guest took a taxi to the station."',
            True,
        ),
        ("Who pays for the boiler?", 'person_2 says: "The boiler is old."', False),
        ("Who pays for the boiler?", 'person_2 says: "The landlord pays for the boiler."', True),
        ("How long does the flight take?", 'person_2 says: "The flight was three hours late."', False),
        ("How long does the flight take?", 'person_2 says: "The flight takes three hours."', True),
        (
            "How long did the meeting last?",
            'person_2 says: "The meeting cost eighty euros, and lasted."',
            False,
        ),
        ("How long did the meeting last?", 'person_2 says: "The meeting lasted two hours."', True),
        ("How far is the airport?", 'person_2 says: "The train to the airport leaves at six."', False),
        ("How far is the airport?", 'person_2 says: "The airport is ten kilometres away."', True),
        ("What flavour is the cake?", 'person_2 says: "I bring the cake."', False),
        ("Which floor is the guest room on?", 'person_2 says: "I sleep in the guest room."', False),
        (
            "Which floor is the guest room on?",
            'person_2 says: "The guest room is on the second floor."',
            True,
        ),
        ("What country is the guest from?", 'person_2 says: "The guest comes from Sweden."', True),
        ("Which flowers will we buy?", 'person_2 says: "I will buy the flowers."', False),
        ("Which flowers will we buy?", 'person_2 says: "I will buy the red flowers."', True),
        ("Which book did we read?", 'person_2 says: "We read the book about gardens."', True),
        ("What did he tell Mr. Miller?", 'person_2 says: "My boss is called Mr. Miller. He is nice."', False),
        ("What did he tell Mr. Miller?", 'person_2 says: "I told Mr. Miller that the tap drips."', True),
        ("When did the guest get the dog?", 'person_2 says: "The guest walks the dog every morning."', False),
        ("When did the guest get the dog?", 'person_2 says: "The guest got the dog in May."', True),
        ("How many hours is it?", 'person_2 says: "It is two hours."', True),
        ("Where is the pump?", 'person_2 says: "It needs a new pump in the summer."', False),
        ("Where is the exam?", 'person_2 says: "My exam begins soon."', False),
        ("Where is the exam?", 'person_2 says: "My exam is upstairs."', True),
        ("考试在哪里？", "person_2说：“明天上午九点有考试。”", False),
        ("考试在哪里？", "person_2说：“考试在学校。”", True),
        ("When is the party?", 'person_2 says: "The cake for the party is on the table."', False),
        ("When is the party?", 'person_2 says: "The party is on Sunday."', True),
        ("Who is the parcel for?", 'person_2 says: "The parcel is wet."', False),
        ("What did the dentist say?", 'person_2 says: "The dentist is very good."', False),
        ("What did the dentist say?", 'person_2 says: "The dentist said that I must come again."', True),
        ("Which sport does the guest prefer?", 'person_2 says: "The guest prefers swimming."', True),
        ("Which sport does the guest prefer?", 'person_2 says: "The guest is late."', False),
        (
            "What accident did the guest have?",
            'person_2 says: "The guest had an accident. He broke a leg."',
            True,
        ),
        (
            "What does the guest recommend for a cough?",
            'person_2 says: "The guest takes honey for a cough."',
            True,
        ),
        ("Who dropped the plate?", 'person_2 says: "Did he drop the plate? It is broken."', True),
        ("Is the plate broken?", 'person_2 says: "I broke the plate."', True),
        ("雨伞在哪里？", "person_2说：“雨伞在门后面。”", True),
        ("雨伞多少钱？", "person_2说：“雨伞在门后面。”", False),
        ("What happened yesterday?", 'person_2 says: "The cake is on the table."', True),
        ("What is it?", 'person_2 says: "The cake is on the table."', False),
    ],
)
def test_a_quotation_answers_only_where_its_words_bear_that_out(
    question: str, line: str, answers: bool
) -> None:
    asked = read_question(question, [], lambda node_id: None, NOW_UTC_S, ZONE)
    assert quotes_answer([evidence(line)], asked) == answers


def test_what_is_asked_of_somebody_is_not_answered_by_what_tells_of_others() -> None:
    asked = read_question("When is Leo's birthday?", [LEO], lambda node_id: None, NOW_UTC_S, ZONE)
    assert not quotes_answer([evidence('Anna says: "Tomorrow is the birthday of my father."')], asked)
    assert quotes_answer([evidence('Anna says: "Tomorrow is the birthday of Leo."')], asked)
    assert quotes_answer([evidence('<face_102> says: "Tomorrow is my birthday."')], asked)


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ('Anna says: "Hey Leo, I had to close my shop."', False),
        ('Anna says: "I had to close my shop. It was hard, Leo."', False),
        ('Anna says: "Thanks, Leo! The shop had to close."', False),
        ('Anna says: "Thank you, Leo. The shop had to close."', False),
        ('Anna says: "Leo had to close his shop."', True),
        ('Anna says: "Hey Leo, you had to close your shop."', True),
        ('Leo says: "I had to close my shop."', True),
    ],
)
def test_whom_somebody_speaks_to_is_not_whom_they_tell_of(line: str, answers: bool) -> None:
    asked = read_question("What did Leo close?", [LEO], lambda node_id: None, NOW_UTC_S, ZONE)
    assert quotes_answer([evidence(line)], asked) == answers


def test_words_of_those_not_asked_about_bear_nothing_out() -> None:
    asked = read_question("What is Leo's favourite film?", [LEO], lambda node_id: None, NOW_UTC_S, ZONE)
    told = [evidence('Anna says: "My favourite film is Tron."'), evidence('Leo says: "That is nice."')]
    assert not quotes_answer(told, asked)


def test_who_is_only_meant_need_not_be_told_of() -> None:
    asked = read_question("Where are my keys?", [LEO], lambda node_id: None, NOW_UTC_S, ZONE, asker=LEO.id)
    assert asked.persons == (LEO,)
    assert quotes_answer([evidence('Anna says: "The keys are in the drawer."')], asked)


def test_one_of_several_persons_is_enough_where_they_do_it_together() -> None:
    anna = Person(3, "Anna", "resident", False, (103,), (), None, None, 1)
    asked = read_question(
        "What will Anna and Leo watch on Friday?", [LEO, anna], lambda node_id: None, NOW_UTC_S, ZONE
    )
    told = evidence('Anna says: "We will watch a film on Friday."')
    assert quotes_answer([told], asked)
    asked = read_question(
        "What will Anna watch with Leo on Friday?", [LEO, anna], lambda node_id: None, NOW_UTC_S, ZONE
    )
    assert not quotes_answer([told], asked)
