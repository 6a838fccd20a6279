"""Decides by code whether a model's answer stands in the memories it cites: words, numbers and names."""

import re
from collections.abc import Sequence

from memory_store.records import Person
from runtime.answer import Evidence
from runtime.asked_for import asks_for_name, asks_price, asks_who, is_time, lack_of, unquoted
from runtime.asked_kind import asked_verb, asks_what_is_had, kind_asked, only_names_kind
from runtime.grounding import asking_words, content_terms, coverage, language_of, squash
from runtime.heard import stated_in, unordered
from runtime.question import Question, is_named
from runtime.quotes import of_the_speaker, only_asks, quote_in, sentences_in, speaker_in, tells_of_others
from runtime.recall import is_of
from runtime.say import Speech

MIN_GROUNDED = 0.75
MIN_GROUNDED_ZH = 0.6
MIN_QUOTED = 0.75  # of a question's words, in what answers it
MIN_TO_THE_POINT = 0.5
MIN_POINTED = 0.6  # the same where a model gave the words of a memory as its reason
_UNKNOWN = re.compile(
    r"\bi (?:do not|don't|cannot|can't) (?:know|remember|tell|answer)\b"
    r"|\bunknown\b|\bno memor(?:y|ies)\b|\bnot (?:mentioned|known|sure)\b"
    r"|不知道|不清楚|没有提到|没有记忆|无法回答|不确定",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\b(?:and|or)\b|[和与跟及或]", re.IGNORECASE)
_THANKS = re.compile(r"\bthank you\b", re.IGNORECASE)  # which says nothing of whoever is thanked
_YOU = re.compile(r"\byou(?:rs?|rself)?\b|[你您]", re.IGNORECASE)
_GREETINGS = (
    "hey|hi|hello|thanks|thank you|wow|oh|ok|okay|yeah|yes|no|well|so|sure|congrats|bye|good \\w+|sorry"
)
_SAYS = re.compile(r"\b(?:says?|said|tells?|told)\b", re.IGNORECASE)
_PAYING = frozenset(
    ("cost", "costs", "pay", "pays", "paid", "price")
)  # words that ask only where it is how much
_NUMBER = re.compile(r"\d+(?::\d{2})?")
_PLAIN_WORD = re.compile(r"(?<![A-Za-z_])[a-z]{3,}(?![A-Za-z_])")
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][a-z]+")


def says_unknown(text: str) -> bool:
    """Whether an answer says that it has none."""
    return _UNKNOWN.search(text) is not None


def fault_of(
    text: str, cited: Sequence[Evidence], lines: Sequence[str], question: Question, labels: Sequence[str]
) -> str:
    """Why the answer is not taken, or "" when it stands. lines: the cited memories as the model saw them.

    labels: of all persons known; one of them in the answer must stand in the memories cited.
    """
    if not cited:
        return "it cites no memory"
    if fault := _off_subject(question, cited):
        return fault
    if fault := lack_of(text, question, labels, _quotes(cited)):
        return fault
    if question.language == "zh" and _mixes(text, question.text):
        return "it mixes two languages"
    if not _does(question, "\n".join(item.words for item in cited)):
        return f"the memories it cites do not say who or what did {asked_verb(question.text)!r}"
    proof = "\n".join(lines)
    proof_squashed = squash(proof)
    for number in _NUMBER.findall(text):
        if number not in proof and squash(number) not in proof_squashed:
            return f"the number {number} stands in no memory cited"
    for label in labels:
        if (
            is_named(label, text)
            and not is_named(label, proof)
            and not any(_says_you(item, label) for item in cited)
        ):
            return f"{label} stands in no memory cited"
    for name in _NAME.findall(text):
        if name.casefold() not in proof.casefold() and name.casefold() not in question.text.casefold():
            return f"the name {name} stands in no memory cited"
    terms = _content(text, labels)
    if terms and coverage(terms, proof) < _least(text):
        return "its words stand in no memory cited"
    if echoed := _echoed(terms, proof, question):
        return f"{echoed!r} is a word of the question and stands in no memory cited"
    return _swapped(text, proof, cited, question, labels) or _of_another(text, cited, question)


def quotes_answer(quoted: Sequence[Evidence], question: Question, *, pointed: bool = False) -> bool:
    """Whether memories quoted as they are answer a question, as far as words can tell.

    The words of the question stand in those of them that are about whom it names, more than half in one (unless they
    are of another language and no dictionary is at hand), each person named is met or named in one, they tell a time, a
    number, a reason … where it asks for that, and one quotes the person of whom it asks what they said. A question
    without words of its own asks what was at a time. The words for a kind that is asked for ("what country") count only
    where they stand there, and where nothing else ties it to the rest ("which seat is ours") they must stand there.
    pointed: a model gave the words of these memories as its reason, so that fewer are enough, but every one counts.
    """
    quoted = [item for item in quoted if not only_asks(item.line)]
    words = "\n".join(item.words for item in _of_named(quoted, question))
    wanted = _wanted(question, words)
    if pointed:
        wanted = [term for term in question.terms if term not in asking_words()]
    if not wanted:
        return question.time is not None
    if asks_what_is_had(question.text) and not coverage(kind_asked(question.text), words):
        return False
    if only_names_kind(question.text, _quotes(quoted)) or not _does(question, words):
        return False
    to_the_point = [item for item in _of_named(quoted, question) if _holds(item, wanted, question)]
    # A price, a place, a time must be told of what is asked about; who or what it is called, beside it.
    telling = to_the_point if to_the_point and not pointed else quoted
    if _off_subject(question, quoted) or unquoted(question, _quotes(telling), _quotes(quoted)):
        return False
    if _across(quoted, question):
        return True
    if pointed:
        return coverage(wanted, words) >= MIN_POINTED
    return bool(to_the_point) and coverage(wanted, words) >= MIN_QUOTED


def _mixes(text: str, question: str) -> bool:
    """Whether a Chinese answer holds an English word that is no name and not of the question: "在 parcel 里"."""
    return any(word not in question for word in _PLAIN_WORD.findall(text))


def _does(question: Question, words: str) -> bool:
    """Whether memories tell of what is done, where the question says it by a verb of little meaning ("get")."""
    verb = asked_verb(question.text)
    return not verb or question.intent == "what_said" or coverage((verb,), words) > 0.0


def _holds(item: Evidence, wanted: Sequence[str], question: Question) -> bool:
    """Whether a memory holds more than half of the words; as many as an answer must, where it is asked who did it."""
    share = coverage(wanted, item.words)
    return share >= MIN_QUOTED if asks_for_name(question.text) else share > MIN_TO_THE_POINT


def _quotes(items: Sequence[Evidence]) -> list[str]:
    return [quote_in(item.line) or item.line for item in items]


def is_to_the_point(text: str, proof: Sequence[Evidence], question: Question) -> bool:
    """Whether an answer and the memories under it hold more than half of the words of the question.

    Nothing is said against memories of another language where no dictionary is at hand.
    """
    told = "\n".join([text, *(item.words for item in proof)])
    wanted = _wanted(question, told)
    return not wanted or coverage(wanted, told) > MIN_TO_THE_POINT or _across(proof, question)


def _across(proof: Sequence[Evidence], question: Question) -> bool:
    """Whether memories are of another language, and no dictionary tells which of the question's words they say."""
    return any(
        item.translated is None and language_of(quote_in(item.line) or item.line) != question.language
        for item in proof
    )


def _wanted(question: Question, told: str) -> list[str]:
    """The words of a question that what answers it holds: not those that only ask, nor kinds that it does not name."""
    kind = [term for term in kind_asked(question.text) if not coverage((term,), told)]
    asking = asking_words() - (frozenset() if asks_price(question.text) else _PAYING)
    return [term for term in question.terms if term not in asking and term not in kind]


def _of_named(quoted: Sequence[Evidence], question: Question) -> list[Evidence]:
    """Those memories that are about one of those whom the question names; all, where it names nobody."""
    named = [person for person in question.persons if is_named(person.label, question.text)]
    return [item for item in quoted if not named or any(_is_about(item, person) for person in named)]


def _off_subject(question: Question, cited: Sequence[Evidence]) -> str:
    """That no memory cited is of those whom the question names, or quotes those whose words it asks for; else "".

    Who is only meant ("my keys", "Ben's brother") need not be told of.
    """
    named = [person.label for person in question.persons if is_named(person.label, question.text)]
    told = {person.label for person in question.persons if any(_is_about(item, person) for item in cited)}
    lacking = [label for label in named if label not in told]
    if lacking and (len(lacking) == len(named) or not _JOINED.search(question.text)):
        return f"it cites nothing of {lacking[0]}"
    speakers = {speaker_in(item.line) for item in cited}
    if question.intent == "what_said" and not speakers & {person.label for person in question.persons}:
        return "it quotes nobody who was asked about"
    return ""


def _is_about(item: Evidence, person: Person) -> bool:
    """Whether a memory is of somebody or tells of them.

    To call somebody by name is not to tell of them, but to say "you" is: "Hey Leo, I lost my job" tells of the speaker.
    """
    if is_of(item, person) or speaker_in(item.line) == person.label:
        return True
    words, label = _THANKS.sub(" ", quote_in(item.line) or item.line), person.label
    if _YOU.search(words):
        return _says_you(item, label) or is_named(label, words)
    name = re.escape(label)
    called = rf'(?:^|[.!?"“]\s*)(?:(?:{_GREETINGS})\W+)?{name}(?=\s*[,.!?])|,\s*{name}(?=\s*[.!?])'
    return is_named(label, re.sub(called, " ", words, flags=re.IGNORECASE))


def _says_you(item: Evidence, label: str) -> bool:
    """Whether a memory says "you" to somebody of this name: to who asked before, or who speaks next."""
    return (
        label in (item.spoken_to, speaker_in(item.asked))
        and _YOU.search(quote_in(item.line) or "") is not None
    )


def _echoed(terms: Sequence[str], proof: str, question: Question) -> str:
    """A word that the answer has from the question alone: "Mrs. Keller lives in the library"; one of four may be."""
    asked = [term for term in terms if term not in asking_words() and coverage((term,), question.text)]
    lost = [term for term in asked if not coverage((term,), proof)]
    return lost[0] if len(lost) > (1.0 - MIN_QUOTED) * len(asked) else ""


def _swapped(
    text: str, proof: str, cited: Sequence[Evidence], question: Question, labels: Sequence[str]
) -> str:
    """Whether the answer says of somebody what the memory says of what was asked about ("I'm Carl. The plumber …").

    A name that was said in one sentence with a word of the question ("The cat is called Milo.") is what was asked for.
    """
    if asks_who(question.text):
        return ""
    kind = kind_asked(question.text)
    lost = [
        term
        for term in question.terms
        if term not in kind and not coverage((term,), text) and coverage((term,), proof)
    ]
    first = re.match(r"[A-Z][a-z]+", text)
    names = [*_NAME.findall(text), *(label for label in labels if is_named(label, text))]
    if first and re.search(rf"(?<=[\w,;] ){first[0]}\b", proof):  # a capital within a sentence: a name there
        names.append(first[0])
    asked = question.text.casefold()
    sentences = [one for quote in _quotes(cited) for one in sentences_in(quote)]
    beside = " ".join(one for one in sentences if coverage(question.terms, one))
    others = [
        name
        for name in names
        if name.casefold() not in asked and not is_time(name) and not is_named(name, beside)
    ]
    return f"it tells of {others[0]} what was asked about {lost[0]}" if lost and others else ""


def _of_another(text: str, cited: Sequence[Evidence], question: Question) -> str:
    """Whether the answer tells of a speaker what they alone say, and say of somebody else ("He will be 71")."""
    if question.intent == "what_said" or _SAYS.search(text):
        return ""
    who = asks_for_name(
        question.text
    )  # then the answer is the name, and the question's words are what is said of it
    told = [term for term in content_terms(text) if who is (coverage((term,), question.text) > 0)]
    holding = [
        (speaker_in(item.line) or "", sentence)
        for item in cited
        for sentence in sentences_in(quote_in(item.line) or item.line)
        if coverage(told, sentence)
    ]
    speaker = holding[0][0] if holding else ""
    begins = speaker and re.match(rf"{re.escape(speaker)}(?!['’]s|[A-Za-z])", text)
    if not begins or not (who or is_named(speaker, question.text)):
        return ""
    if all(name == speaker and tells_of_others(one) for name, one in holding):
        return f"it tells of {speaker} what {speaker} said of somebody else"
    return ""


def _content(text: str, labels: Sequence[str]) -> list[str]:
    return [term for term in content_terms(text) if all(term not in label.casefold() for label in labels)]


def _least(text: str) -> float:
    return MIN_GROUNDED_ZH if language_of(text) == "zh" else MIN_GROUNDED


def _is_stated(text: str, proof: Sequence[Evidence], labels: Sequence[str]) -> bool:
    """Whether no word of the answer hangs on a screen's or a stranger's words, on a request or on orders alone."""
    terms = _content(text, labels)
    stated = "\n".join(f"{stated_in(item.line)} {unordered(item.asked)}" for item in proof)
    whole = "\n".join(f"{item.line} {item.asked}" for item in proof)
    return coverage(terms, stated) >= coverage(terms, whole) if terms else bool(stated.strip())


def told_as_heard(text: str, proof: Sequence[Evidence], question: Question, labels: Sequence[str]) -> bool:
    """Whether the words that an answer rests on are told instead of it.

    They are where it speaks as they do ("my keys"), tells no "who", or rests on what may only be told as heard.
    """
    names_nobody = asks_for_name(question.text) and not any(is_named(label, text) for label in labels)
    return of_the_speaker(text) or names_nobody or not _is_stated(text, proof, labels)


def as_told(
    text: str, proof: Sequence[Evidence], question: Question, labels: Sequence[str], speech: Speech
) -> str:
    """The answer, or the words that it rests on with who said them (`told_as_heard`)."""
    if not told_as_heard(text, proof, question, labels):
        return text if text.startswith(tuple(labels)) else text[:1].upper() + text[1:]
    parts = []
    for item in proof:
        quote, speaker = quote_in(item.line), speaker_in(item.line)
        if quote is not None and speaker:
            moment = speech.moment(item.start_utc_s)
            parts.append(speech.phrase("who_said", person=speaker, quote=quote, time=moment))
    return speech.sentences(parts) or text
