"""Decides by code whether a model's answer stands in the memories it cites: words, numbers and names."""

import re
from collections.abc import Sequence

from runtime.answer import Evidence
from runtime.grounding import asking_words, content_terms, coverage, language_of, squash, stem
from runtime.heard import stated_in, unordered
from runtime.question import Question, is_named
from runtime.quotes import quote_in, speaker_in
from runtime.recall import is_of
from runtime.say import Speech

MIN_GROUNDED = 0.75
MIN_GROUNDED_ZH = 0.6
_UNKNOWN = re.compile(
    r"\bi (?:do not|don't|cannot|can't) (?:know|remember|tell|answer)\b"
    r"|\bunknown\b|\bno memor(?:y|ies)\b|\bnot (?:mentioned|known|sure)\b"
    r"|不知道|不清楚|没有提到|没有记忆|无法回答|不确定",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\bI\b|(?i:\b(?:my|mine|me|we|our)\b)|我|咱")
_ASKS_WHEN = re.compile(
    r"^when\b|\bwhat (?:time|day|date)\b|什么时候|何时|几点|哪天|几号|星期几", re.IGNORECASE
)
_ONE_TO_TWELVE = r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_TELLS_WHEN = re.compile(
    r"\d:\d\d|\b(?:19|20)\d\d\b|\b(?:today|tomorrow|yesterday|tonight|noon|midnight|morning|afternoon|evening|night"
    r"|o'clock|weeks?|months?|years?|days?|hours?|minutes?|daily|weekly|always|never|now|soon|later"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|spring|summer|autumn|winter|christmas|easter|half|quarter)s?\b"
    rf"|\b(?:at|by|until|till|before|after|around|about|past|from|since|to|on|on the)\s+{_ONE_TO_TWELVE}\b"
    rf"|\b{_ONE_TO_TWELVE}\s?(?:o'clock|[ap]\.?m\b)|\b\d{{1,2}}(?:st|nd|rd|th)\b"
    rf"|\b(?:first|second|third|\w+th) of\b|^\W*{_ONE_TO_TWELVE}\W*$"
    r"|[今明昨前后]天|[早晚]上|上午|下午|中午|点|月|号|周|星期|年|[一二三四五六七八九十\d]+日",
    re.IGNORECASE,
)
_ASKS_WHO = re.compile(r"^who\b|谁", re.IGNORECASE)
_ASKS_WHOM = re.compile(r"^(?:whom?\b.*\b(?:for|to|with|from)\W*$|for whom\b)|给谁|跟谁|和谁", re.IGNORECASE)
_TELLS_WHOM = re.compile(
    r"(?<=[\w,;:] )[A-Z][a-z]+"
    r"|(?i:\b(?:me|us|him|her|you|neighbou?rs?|friends?|mother|mum|mom|father|dad|brother|sister|son|daughter|wife|husband"
    r"|grand\w+|aunt|uncle|doctor|teacher|everybody|everyone|nobody)\b)"
    r"|我|你|他|她|邻居|朋友|妈|爸|哥|弟|姐|妹|奶奶|爷爷|老师|医生|大家"
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|old|often|tall|heavy|high|deep|wide|fast)\b|多少|几[个位次岁]|多[高重深宽快]",
    re.IGNORECASE,
)
_TELLS_NUMBER = re.compile(
    r"\d|\b(?:no|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty"
    r"|sixty|seventy|eighty|ninety|hundred|thousand|once|twice|half|every|never|always)\b"
    r"|[零一二两三四五六七八九十百千万半]",
    re.IGNORECASE,
)
_ASKS_COLOUR = re.compile(r"\b(?:what|which) colou?rs?\b|(?:什么|啥|哪种)颜色", re.IGNORECASE)
_TELLS_COLOUR = re.compile(
    r"\b(?:red|orange|yellow|green|blue|purple|violet|pink|brown|black|white|gr[ae]y|beige|gold\w*|silver\w*|turquoise|navy)\b"
    r"|[红橙黄绿蓝紫粉棕褐黑白灰金银青]|咖啡色",
    re.IGNORECASE,
)
_ASKS_PRICE = re.compile(
    r"\bhow much\b.*\b(?:costs?|pay|paid|price|charged?|spen[dt])\b|\bprice of\b|多少钱|花了多少",
    re.IGNORECASE,
)
_TELLS_PRICE = re.compile(
    r"[€$£¥]|\b(?:euros?|dollars?|pounds?|cents?|pence|yuan|francs?|free|nothing)\b|[块元钱]|免费"
    r"|\b(?:costs?|paid|pay|price\W+\w+|for)\W+(?:only |about |just )?(?:\d|\w*teen|\w+ty|hundred)",
    re.IGNORECASE,
)
_MEASURES = (
    (_ASKS_NUMBER, _TELLS_NUMBER, "number"),
    (_ASKS_PRICE, _TELLS_PRICE, "price"),
    (_ASKS_COLOUR, _TELLS_COLOUR, "colour"),
)
_JOINED = re.compile(r"\b(?:and|or)\b|[和与跟及或]", re.IGNORECASE)
_COUNTS = re.compile(r"\bhow many (?:different |other |more )?(?P<what>\w{3,})", re.IGNORECASE)
_ASKS_WHERE = re.compile(r"^where\b|哪里|哪儿", re.IGNORECASE)
_TELLS_WHERE = re.compile(
    r"\b(?:in|on|at|to|from|under|behind|beside|between|next|near|inside|outside|above|below|over|into|through|there|here"
    r"|home|upstairs|downstairs|abroad|away|has|have|had|took|taken|gave)\b|在(?!\s*\d|.{0,3}[点时])|到|去|从|里|边|面|旁|楼|家",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?::\d{2})?")
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
    quotes = [quote_in(item.line) or item.line for item in cited]
    if fault := _untold(question, _beyond(text, question), text, (text, *quotes)):
        return fault
    proof = "\n".join(lines)
    proof_squashed = squash(proof)
    for number in _NUMBER.findall(text):
        if number not in proof and squash(number) not in proof_squashed:
            return f"the number {number} stands in no memory cited"
    for label in labels:
        if is_named(label, text) and not is_named(label, proof):
            return f"{label} stands in no memory cited"
    for name in _NAME.findall(text):
        if name.casefold() not in proof.casefold() and name.casefold() not in question.text.casefold():
            return f"the name {name} stands in no memory cited"
    terms = _content(text, labels)
    if terms and coverage(terms, proof) < _least(text):
        return "its words stand in no memory cited"
    if echoed := _echoed(terms, proof, question):
        return f"{echoed!r} is a word of the question and stands in no memory cited"
    return _swapped(text, proof, question, labels)


def quotes_answer(quoted: Sequence[Evidence], question: Question) -> bool:
    """Whether memories quoted as they are answer a question, as far as words can tell.

    Each word of the question stands in them (unless they are of another language, where words prove nothing), each
    person named is met or named in one, they tell a time, a number or somebody where it asks for that, and one quotes
    the person of whom it asks what they said. A question without words of its own asks what was at a time.
    """
    quotes = [quote_in(item.line) or item.line for item in quoted]
    wanted = [term for term in question.terms if term not in asking_words()]
    if not wanted:
        return question.time is not None
    if _off_subject(question, quoted):
        return False
    if _ASKS_WHERE.search(question.text) and not any(_TELLS_WHERE.search(quote) for quote in quotes):
        return False
    if not _counted(question.text, quotes):
        return False
    across = any(language_of(quote) != question.language for quote in quotes)
    borne_out = across or coverage(wanted, "\n".join(item.words for item in quoted)) >= 1.0
    return borne_out and not _untold(question, " ".join(quotes), " ".join(quotes), quotes)


def _counted(question: str, quotes: Sequence[str]) -> bool:
    """Whether what a question asks the number of stands close behind a number, where it asks for one in English."""
    counts = _COUNTS.search(question)
    if counts is None or counts["what"].casefold() == "times":  # which "twice" tells
        return True
    what = re.compile(rf"\W+(?:\w+\W+){{0,2}}{re.escape(stem(counts['what'].casefold()))}", re.IGNORECASE)
    return any(
        what.match(quote, number.end()) for quote in quotes for number in _TELLS_NUMBER.finditer(quote)
    )


def _off_subject(question: Question, cited: Sequence[Evidence]) -> str:
    """That no memory cited is of those whom the question names, or quotes those whose words it asks for; else "".

    Who is only meant ("my keys", "Ben's brother") need not be told of.
    """
    named = [person.label for person in question.persons if is_named(person.label, question.text)]
    told = {
        person.label
        for person in question.persons
        if any(is_of(item, person) or is_named(person.label, item.words) for item in cited)
    }
    lacking = [label for label in named if label not in told]
    if lacking and (len(lacking) == len(named) or not _JOINED.search(question.text)):
        return f"it cites nothing of {lacking[0]}"
    speakers = {speaker_in(item.line) for item in cited}
    if question.intent == "what_said" and not speakers & {person.label for person in question.persons}:
        return "it quotes nobody who was asked about"
    return ""


def _echoed(terms: Sequence[str], proof: str, question: Question) -> str:
    """A word that the answer has from the question alone: "Mrs. Keller lives in the library" """
    asked = [term for term in terms if term not in asking_words() and coverage((term,), question.text)]
    return next((term for term in asked if not coverage((term,), proof)), "")


def _untold(question: Question, times: str, told: str, people: Sequence[str]) -> str:
    """What a question asks for (a time, a number, a price …) and what may tell it does not; else ""."""
    if _ASKS_WHEN.search(question.text) and not _TELLS_WHEN.search(times):
        return "it tells no time"
    for asks, tells, what in _MEASURES:
        if asks.search(question.text) and not tells.search(told):
            return f"it tells no {what}"
    if _ASKS_WHERE.search(question.text) and _TELLS_WHEN.search(times) and not _TELLS_WHERE.search(told):
        return "it tells a time and no place"
    if _ASKS_WHOM.search(question.text) and not any(_TELLS_WHOM.search(quote) for quote in people):
        return "it tells of nobody"
    return ""


def _beyond(text: str, question: Question) -> str:
    """The English words of an answer that do not stand in the question: "in August" tells no time of an August."""
    if question.language == "zh":
        return text
    asked = set(re.findall(r"\w+", question.text.casefold()))
    return " ".join(word for word in re.findall(r"[\w:]+", text) if word.casefold() not in asked)


def _swapped(text: str, proof: str, question: Question, labels: Sequence[str]) -> str:
    """Whether the answer says of somebody what the memory says of what was asked about ("I'm Carl. The plumber …")."""
    if _ASKS_WHO.search(question.text) or _ASKS_WHOM.search(question.text):
        return ""
    lost = [term for term in question.terms if not coverage((term,), text) and coverage((term,), proof)]
    first = re.match(r"[A-Z][a-z]+", text)
    names = [*_NAME.findall(text), *(label for label in labels if is_named(label, text))]
    if first and re.search(rf"(?<=[\w,;] ){first[0]}\b", proof):  # a capital within a sentence: a name there
        names.append(first[0])
    asked = question.text.casefold()
    others = [name for name in names if name.casefold() not in asked and not _TELLS_WHEN.fullmatch(name)]
    return f"it tells of {others[0]} what was asked about {lost[0]}" if lost and others else ""


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


def as_told(
    text: str, proof: Sequence[Evidence], question: Question, labels: Sequence[str], speech: Speech
) -> str:
    """The answer, or the words that it rests on with who said them.

    Quoted where it speaks as they do ("my keys"), tells no "who", or rests on what may only be told as heard.
    """
    names_nobody = _ASKS_WHO.search(question.text) and not any(is_named(label, text) for label in labels)
    if not _FIRST_PERSON.search(text) and not names_nobody and _is_stated(text, proof, labels):
        return text if text.startswith(tuple(labels)) else text[:1].upper() + text[1:]
    parts = []
    for item in proof:
        quote, speaker = quote_in(item.line), speaker_in(item.line)
        if quote is not None and speaker:
            moment = speech.moment(item.start_utc_s)
            parts.append(speech.phrase("who_said", person=speaker, quote=quote, time=moment))
    return speech.sentences(parts) or text
