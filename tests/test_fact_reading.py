"""Facts in plain sentences, English and Chinese: what is read, and what is left alone."""

import pytest

from memory_store.records import Triple
from runtime.fact_reading import facts_in, told


def _read(text: str) -> list[tuple[str, str, int]]:
    return [(one.triple.relation, one.triple.object, one.triple.polarity) for one in facts_in(text)]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I like tea.", [("likes", "tea", 1)]),
        ("I really don't like mushrooms on pizza.", [("likes", "mushroom on pizza", -1)]),
        ("Oh, I can't stand horror films.", [("likes", "horror film", -1)]),
        ("I like tea and coffee.", [("likes", "tea", 1), ("likes", "coffee", 1)]),
        ("I love caring for my plants.", [("likes", "caring for their plant", 1)]),
        ("I'm a big fan of sci-fi and fantasy books.", [("likes", "sci-fi and fantasy book", 1)]),
        ("I've always loved dogs.", [("likes", "dog", 1)]),
        ("I prefer green tea.", [("prefers", "green tea", 1)]),
        ("I'm allergic to peanuts.", [("allergic_to", "peanut", 1)]),
        ("I'm not allergic to cats.", [("allergic_to", "cat", -1)]),
        ("I work as a nurse at the hospital.", [("works_as", "nurse", 1)]),
        ("I'm a teacher.", [("works_as", "teacher", 1)]),
        ("I work at the city library.", [("works_at", "city library", 1)]),
        ("Today I start my new job at the library.", [("works_at", "library", 1)]),
        ("I got a job with the post office.", [("works_at", "post office", 1)]),
        ("I have an old job at hand.", []),
        ("I did a good job at school.", []),
        ("I live in Berlin.", [("lives_in", "berlin", 1)]),
        ("We moved to Munich last year.", [("lives_in", "munich", 1)]),
        ("My birthday is on the third of May.", [("born_on", "third of may", 1)]),
        ("I'm 34 years old.", [("age", "34", 1)]),
        ("I have a dog named Max.", [("has", "dog named max", 1)]),
        ("My dog's name is Rex.", [("has", "dog named rex", 1)]),
        ("We've got two cats.", [("has", "two cat", 1)]),
        ("I don't have a car.", [("has", "car", -1)]),
        ("Leo is my brother.", [("brother", "leo", 1)]),
        ("My wife's name is Maria.", [("wife", "maria", 1)]),
        ("I never drink coffee.", [("drinks", "coffee", -1)]),
        ("I eat meat.", [("eats", "meat", 1)]),
        ("I play the piano.", [("plays", "piano", 1)]),
        ("I'm vegan.", [("is", "vegan", 1)]),
        ("My favourite colour is blue.", [("favourite colour", "blue", 1)]),
        ("My favorite food is pizza!", [("favourite food", "pizza", 1)]),
        ("I'm going to Paris in June.", [("plans", "go to paris in june", 1)]),
        ("I'm planning to paint the kitchen.", [("plans", "paint the kitchen", 1)]),
        ("我喜欢茶。", [("likes", "茶", 1)]),
        ("我不喜欢蘑菇。", [("likes", "蘑菇", -1)]),
        ("我很讨厌下雨天。", [("likes", "下雨天", -1)]),
        ("我对花生过敏。", [("allergic_to", "花生", 1)]),
        ("我对猫不过敏。", [("allergic_to", "猫", -1)]),
        ("我在医院工作。", [("works_at", "医院", 1)]),
        ("我是一名护士。", [("works_as", "护士", 1)]),
        ("我住在柏林。", [("lives_in", "柏林", 1)]),
        ("我住在上海。", [("lives_in", "上海", 1)]),
        ("我喜欢上了跳舞。", [("likes", "跳舞", 1)]),
        ("我是学生，我在大学学习音乐。", [("works_as", "学生", 1), ("studies", "音乐", 1)]),
        ("我学习很忙。", []),
        ("我的生日是五月三号。", [("born_on", "五月三号", 1)]),
        ("我今年七十二岁了。", [("age", "七十二", 1)]),
        ("我养了一只猫。", [("has", "一只猫", 1)]),
        ("我没有车。", [("has", "车", -1)]),
        ("我哥哥叫小明。", [("brother", "小明", 1)]),
        ("小明是我弟弟。", [("brother", "小明", 1)]),
        ("我从来不喝咖啡。", [("drinks", "咖啡", -1)]),
        ("我每天早上喝咖啡。", [("drinks", "咖啡", 1)]),
        ("我最喜欢的颜色是蓝色。", [("favourite colour", "蓝色", 1)]),
        ("我明年去上海。", [("plans", "明年去上海", 1)]),
        ("我打算学游泳。", [("plans", "学游泳", 1)]),
        ("我最喜欢吃饺子。", [("likes", "饺子", 1)]),
        ("我女儿叫小红，她喜欢跳舞。", [("daughter", "小红", 1)]),
        ("I like coffee better than tea.", [("likes", "coffee", 1)]),
    ],
)
def test_plain_sentences_give_their_facts(text: str, facts: list[tuple[str, str, int]]) -> None:
    assert _read(text) == facts


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "I used to like tea, now I drink coffee.",
            [("likes", "tea", -1, True), ("drinks", "coffee", 1, True)],
        ),
        ("I used to like tea, but now coffee.", [("likes", "tea", -1, True), ("likes", "coffee", 1, True)]),
        ("I don't like tea any more.", [("likes", "tea", -1, True)]),
        ("I no longer eat meat.", [("eats", "meat", -1, True)]),
        ("I stopped drinking coffee.", [("drinks", "coffee", -1, True)]),
        ("I quit smoking.", [("smokes", "cigarette", -1, True)]),
        ("These days I drink green tea.", [("drinks", "green tea", 1, True)]),
        ("I live in Munich now.", [("lives_in", "munich", 1, True)]),
        ("我以前喜欢茶，现在喝咖啡。", [("likes", "茶", -1, True), ("drinks", "咖啡", 1, True)]),
        ("我不喝咖啡了。", [("drinks", "咖啡", -1, True)]),
        ("我不再吃肉。", [("eats", "肉", -1, True)]),
        ("我已经不抽烟了。", [("smokes", "烟", -1, True)]),
        (
            "我以前在西门子工作，现在在博世工作。",
            [("works_at", "西门子", -1, True), ("works_at", "博世", 1, True)],
        ),
        ("我搬到慕尼黑了。", [("lives_in", "慕尼黑", 1, True)]),
    ],
)
def test_a_change_is_read_as_one(text: str, facts: list[tuple[str, str, int, bool]]) -> None:
    found = [
        (one.triple.relation, one.triple.object, one.triple.polarity, one.changed) for one in facts_in(text)
    ]
    assert found == facts


@pytest.mark.parametrize(
    "text",
    [
        "Do you like tea?",
        "I like tea, don't I?",
        "If I lived in Paris I would drink wine.",
        "I wish I had a dog, I love dogs.",
        "She said I like tea.",
        'He shouted "I like tea" all day.',
        "In the movie I live in Rome.",
        "I'd like a cup of tea.",
        "I would love some cake.",
        "I love how you painted it.",
        "I like it.",
        "I like that.",
        "I love your painting.",
        "I like what you did.",
        "I hate being late.",
        "I like to think so.",
        "I like people who listen.",
        "I have a meeting.",
        "I have an idea.",
        "I have a question for you.",
        "I live in the moment.",
        "I'm from the start.",
        "I'm a good listener.",
        "I'm a bit tired.",
        "I'm 5 minutes away.",
        "I'm going to call him.",
        "I work on it.",
        "Maybe I like tea.",
        "You like tea.",
        "They live in Berlin.",
        "I rarely drink coffee.",
        "I drank coffee.",
        "I eat breakfast at seven.",
        "Put the keys in the blue bowl.",
        "你喜欢茶吗？",
        "我喜欢什么？",
        "如果我住在北京就好了。",
        "我可能喜欢茶。",
        "他说我喜欢茶。",
        "我喜欢你。",
        "我喜欢这个。",
        "我吃饭了。",
        "我喝茶。",
        "我有一个问题。",
        "我有空。",
        "我是好人。",
        "我去超市。",
        "我把车钥匙放在碗里。",
        "他住在北京。",
        "",
        "......",
        "I like " + "very " * 3000 + "much",
    ],
)
def test_what_tells_no_fact_is_left_alone(text: str) -> None:
    assert _read(text) == []


def test_relatives_and_others_are_told_apart_from_the_speaker() -> None:
    (mother,) = facts_in("My mom is a nurse.")
    assert (mother.triple, mother.by_name) == (Triple("works_as", "nurse", 1, "mother", "a nurse"), False)
    (leo,) = facts_in("Leo likes tea.")
    assert (leo.triple.subject, leo.triple.object, leo.by_name) == ("leo", "tea", True)
    (zh,) = facts_in("我哥哥住在北京。")
    assert (zh.triple.subject, zh.triple.object) == ("brother", "北京")
    (line,) = facts_in("<voice_5> does not like mushrooms.")
    assert (line.triple, line.by_name) == (Triple("likes", "mushroom", -1, "", "mushrooms"), False)


@pytest.mark.parametrize(
    ("text", "found", "sentence"),
    [
        ("I'm Ben's brother.", ("brother of", "ben", 1), "Leo is Ben's brother."),
        ("I am the older sister of Anna.", ("sister of", "anna", 1), "Leo is Anna's sister."),
        ("I'm not Ben's dad.", ("father of", "ben", -1), "Leo is not Ben's father."),
        ("大家好，我是小美的哥哥。", ("brother of", "小美", 1), "Leo是小美的兄弟。"),
        ("我不是Anna的妈妈。", ("mother of", "anna", -1), "Leo不是Anna的妈妈。"),
    ],
)
def test_whose_relative_somebody_says_to_be(text: str, found: tuple[str, str, int], sentence: str) -> None:
    assert _read(text) == [found]
    (claim,) = facts_in(text)
    assert told(claim.triple, "Leo", claim.language) == sentence


@pytest.mark.parametrize(
    "text",
    [
        "I'm everyone's friend.",
        "I'm your mother's friend.",
        "I'm Ben's brother-in-law.",
        "I'm Ben's friend's mother.",
        "I'm today's cook.",
        "我是孩子的妈妈。",
        "我是妈妈的朋友。",
        "我是老师的学生。",
    ],
)
def test_who_is_nobodys_relative_by_name(text: str) -> None:
    assert _read(text) == []


@pytest.mark.parametrize(
    ("text", "language", "sentence"),
    [
        ("I don't like tea any more.", "en", "Anna used to like tea."),
        ("I don't like tea.", "en", "Anna does not like tea."),
        ("My mom is a nurse.", "en", "Anna's mother works as a nurse."),
        ("My brother's name is Leo.", "en", "Anna's brother is Leo."),
        ("我不喝咖啡了。", "zh", "Anna以前喝咖啡。"),
        ("我最喜欢的颜色是蓝色。", "zh", "Anna的最喜欢的颜色是蓝色。"),
        ("我妈妈是老师。", "zh", "Anna的妈妈的职业是老师。"),
    ],
)
def test_facts_are_put_into_words(text: str, language: str, sentence: str) -> None:
    (claim,) = facts_in(text)
    assert told(claim.triple, "Anna", language, changed=claim.changed) == sentence
