"""What a question asks for (a time, a number, a place …), and whether a text tells it, as far as words show."""

import re
from collections.abc import Sequence

from runtime.grounding import content_terms, coverage, is_only_noun, language_of, stem
from runtime.question import Question
from runtime.time_words_en import ENGLISH

# Of short names those alone that are no words of another kind: "sat" and "sun" only behind "on", "last" or "next".
_NAMED_TIME = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november"
    r"|december|tues?|weds?|thu(?:rs?)?|fri|(?:on|last|next) (?:mon|sat|sun)|jan|feb|apr|jun|jul|aug|sept?|oct|nov|dec"
    r"|christmas|easter"
)
_ASKS_WHEN = re.compile(
    r"^when\b|\b(?:what|which) (?:time|day|date)\b|什么时候|何时|几点|哪天|几号|星期几", re.IGNORECASE
)
_ASKS_WHEN_IT_WAS = re.compile(r"^when (?:did|was|were|has|have|had)\b|什么时候.*了", re.IGNORECASE)
_JUST = re.compile(r"\bjust (?!like\b)|刚", re.IGNORECASE)
_ASKS_DAY = re.compile(r"\b(?:what|which) (?:day|date)\b|哪天|几号|星期几", re.IGNORECASE)
_TELLS_DAY = re.compile(
    rf"\b(?:today|tomorrow|yesterday|{_NAMED_TIME}|\d{{1,2}}(?:st|nd|rd|th))s?\b|天|周|星期|号|日",
    re.IGNORECASE,
)
_ONE_TO_TWELVE = r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_TELLS_WHEN = re.compile(
    r"\d:\d\d|\b(?:19|20)\d\d\b|\b(?:today|tomorrow|yesterday|tonight|noon|midnight|morning|afternoon|evening|night"
    r"|o'clock|weeks?|months?|years?|days?|hours?|minutes?|daily|weekly|always|never|now|soon|later"
    rf"|{_NAMED_TIME}|spring|summer|autumn|winter|half|quarter)s?\b"
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
    r"|few|several|couple|daily|weekly|monthly|yearly|sixty|seventy|eighty|ninety|hundred|thousand|once|twice|half|every|never|always)\b"
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
_ASKS_WHY = re.compile(r"^why\b|为什么|为何|怎么会", re.IGNORECASE)
_TELLS_WHY = re.compile(
    r"\b(?:because|since|so|as|due|reason|therefore|in order|to avoid|for|cause[sd]?|allergic)\b"
    r"|因为|由于|所以|为了|过敏",
    re.IGNORECASE,
)
_ASKS_HOW = re.compile(
    r"^how (?:did|do|does|will|can|could|should) .*\b(?:get|go|come|do|make)\b|怎么(?:去|来|做)",
    re.IGNORECASE,
)
_TELLS_HOW = re.compile(
    r"\b(?:by|using|via|through|on foot|\w*walk\w*|driv\w+|drove|rode|bus|train|taxi|car|bike|bicycle|plane|flight"
    r"|fl[ye]\w*|first|then|must|should|can|need|use|take|\w+ly)\b|用|坐|开车|走路|骑|先|然后",
    re.IGNORECASE,
)
_ASKS_LENGTH = re.compile(r"\bhow long\b(?! ago)|多久|多长时间", re.IGNORECASE)
_TELLS_LENGTH = re.compile(
    r"\b(?:seconds?|minutes?|hours?|days?|nights?|weeks?|weekends?|months?|years?|decades?|always|forever|since|until|till|whole"
    r"|all (?:day|night|week|year)|overnight|short|long|metres?|meters?|kilomet\w+|miles?|feet|inch\w*|cm|km)\b"
    r"|秒|分钟|小时|天|周|星期|月|年|一直|米|公里",
    re.IGNORECASE,
)
_ASKS_FAR = re.compile(r"\bhow far\b|多远", re.IGNORECASE)
_TELLS_FAR = re.compile(
    r"\b(?:metres?|meters?|kilomet\w+|miles?|yards?|blocks?|streets?|km|minutes?|hours?|far|near|close|next|around)\b"
    r"|米|公里|里路|分钟|小时|近|远|旁边",
    re.IGNORECASE,
)
_MEASURES = (
    (_ASKS_LENGTH, _TELLS_LENGTH, "length"),
    (_ASKS_FAR, _TELLS_FAR, "distance"),
    (_ASKS_NUMBER, _TELLS_NUMBER, "number"),
    (_ASKS_PRICE, _TELLS_PRICE, "price"),
    (_ASKS_COLOUR, _TELLS_COLOUR, "colour"),
)
_COUNTS = re.compile(r"\bhow many (?:different |other |more )?(?P<what>\w{3,})", re.IGNORECASE)
_ASKS_WHERE = re.compile(r"^where\b|哪里|哪儿", re.IGNORECASE)
_TELLS_WHERE = re.compile(
    r"\b(?:in|on|at|to|from|under|behind|beside|between|next|near|inside|outside|above|below|over|into|through|there|here"
    r"|home|upstairs|downstairs|abroad|away|has|have|had|took|taken|gave)\b|在(?!\s*\d|.{0,3}[点时])|到|去|从|里|边|面|旁|楼|家",
    re.IGNORECASE,
)
# Before a thing: it is where something else is ("I left my phone in the car").
_HOLDS = (
    r"\b(?:in|on|into|onto|inside|under|behind|over|from|of)"
    r"(?: (?:the|an?|my|your|his|her|our|their|this|that))?(?: \w+)? "
)
# "What did the dentist say", who is nobody known: somebody must tell what was said.
_ASKS_SAYING = re.compile(
    r"^what (?:did|does|has) (?:(?:the|an?|my|our|your|his|her|their) .*\b(?:say|said|tell|told)\b"
    r"|\w+ tell (?!us\b|you\b|me\b)\w)",
    re.IGNORECASE,
)
_TELLS_SAYING = re.compile(
    r"\b(?:say|says|said|tells?|told|according|asks?|asked|wrote|calls?|(?<!is )(?<!are )called)\b",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"\b(?:on |in |at |of |since |until )*(?:\d{1,2}:\d\d|today|yesterday|tomorrow|morning|afternoon|evening|night"
    r"|(?:the )?(?:spring|summer|autumn|winter)|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:\d{1,2}(?:st|nd|rd|th)? )?(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december)(?:,? (?:\d{1,2}|(?:19|20)\d\d)\b)*|(?:19|20)\d\d)\b"
    r"|\d+[年月日号点分]|星期[一二三四五六日天]|[今昨明前后]天|[早晚]上|[上下中]午",
    re.IGNORECASE,
)
_ASKS_NAME = re.compile(
    r"\bnames? of\b|\w['’]s (?:\w+ ){0,2}names?\b|\bname (?:does|do|did|has|have)\b"
    r"|\bwhat (?:is|are|was|were)\b.*\b(?:called|named)\b|叫什么|名字",
    re.IGNORECASE,
)
_TELLS_NAME = re.compile(
    r"\b(?:is|are|was|were|be|been|it|him|her|them|one|\w['’]s) (?:called|named)\b|\bnames?\b"
    r"|\b(?:I am|I['’]m|this is|that is|Dr\.|Doctor|Mrs?\.|Ms\.) [A-Z]|(?<=\w )[A-Z][a-z]+|叫(?!什么)|名字"
)
# "My dog biscuit tried to eat it": speech recognition writes few names with a capital.
_BESIDE_NOUN = re.compile(r"\b(?:my|our|your|his|her|their) [a-z]+ (?P<name>[a-z]+)\b", re.IGNORECASE)
_AUXILIARY = (
    r"(?:is|are|was|were|do|does|did|has|have|had|will|would|can|could|should|might|may|must)(?:n['’]t)?"
)
# Asked what kind of thing somebody has or gets, of which a memory that does not name the kind proves nothing.
_WHICH = re.compile(rf"\bwhich (?P<kind>(?!{_AUXILIARY}\b)[\w-]+)(?= (?:{_AUXILIARY})\b)", re.IGNORECASE)
_BARE = re.compile(r"\b(?:the|an?|my|our|your|his|her|their|some|any|those|these)\s+$", re.IGNORECASE)
_QUALIFIES = re.compile(
    r"\s+(?:called|named|of|from|with|about|by|for|in|on|at|is|are|was|were|that|which)\b|\s*[:,]\s*\w",
    re.IGNORECASE,
)
_ASKED_VERB = re.compile(
    r"\b(?:did|does|do|will|can|could|should|must)\b [^?]*?"
    r"\b(?P<verb>get|take|bring)\b",
    re.IGNORECASE,
)
_LIGHT_VERB = re.compile(
    r"^(?:what|which) [\w-]+ (?:is|are|was|were)\b(?!.*\bfrom\b)"
    r"|\b(?:have|has|had|leave|leaves?|left|go|goes|went|gets?|got|comes?|came|takes?|took|gives?|gave|brings?|brought)\b",
    re.IGNORECASE,
)
# Asked whether: yes or no may be all that is new in the answer.
_ASKS_WHETHER = re.compile(
    r"^(?:\w+, )?(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might)(?:n't)?\b"
    r"|[吗嘛][?？]?$|是不是|有没有|是否|[会能]不[会能]",
    re.IGNORECASE,
)
_ASKS_OF_TIME = re.compile(
    r"^(?:since |until )?when\b|\b(?:what|which) (?:time|day|date|month|year|season|week)"
    r"|\bhow (?:long|old|often|many|much)\b|\bbirthday\b|什么时候|何时|几|哪[天年月]|多[久长少大]|生日",
    re.IGNORECASE,
)
# "What country is she from", "which type of bird did he see": the country and the bird are asked for.
_KIND = re.compile(
    rf"\b(?:what|which)(?: (?:type|kind|sort|style|brand|name|piece|form)s? of(?: an?)?)?"
    rf" (?P<kind>(?!{_AUXILIARY}\b)[\w-]+(?: (?!{_AUXILIARY}\b|in\b|of\b|for\b|from\b|at\b|on\b)[\w-]+){{0,2}})"
    rf"(?: (?:in|of|for|from|at|on) [^?]*?)? {_AUXILIARY}\b"
    r"|\b(?:in|of|for|from|at|on|by|with) (?:what|which) (?P<last>[\w-]+)\W*$",
    re.IGNORECASE,
)


def asks_price(question: str) -> bool:
    """Whether a question asks how much something costs, so that no answer need repeat "pay" or "cost"."""
    return _ASKS_PRICE.search(question) is not None


def tells_colour(text: str) -> bool:
    """Whether a text names a colour."""
    return _TELLS_COLOUR.search(text) is not None


def asks_who(question: str) -> bool:
    """Whether a question asks for somebody."""
    return bool(_ASKS_WHO.search(question) or _ASKS_WHOM.search(question))


def asks_for_name(question: str) -> bool:
    """Whether a question asks who, so that an answer names somebody."""
    return _ASKS_WHO.search(question) is not None


def is_time(text: str) -> bool:
    """Whether a text is nothing but a time."""
    return _TELLS_WHEN.fullmatch(text) is not None


def kind_asked(question: str) -> frozenset[str]:
    """The words for what kind of thing is asked for ("what country"), which an answer names without saying them."""
    return frozenset(
        word for match in _KIND.finditer(question) for word in content_terms(match["kind"] or match["last"])
    )


def asks_what_is_had(question: str) -> bool:
    """Whether a question asks which of a kind something is, or somebody has: no verb tells what ties the two."""
    if not kind_asked(question) or _ASKS_OF_TIME.search(question) or _ASKS_COLOUR.search(question):
        return False
    return _LIGHT_VERB.search(question) is not None


def only_names_kind(question: str, quotes: Sequence[str]) -> bool:
    """Whether quotations name the kind that is asked for and say no more of it: "the flowers" for "which flowers"."""
    kinds = [match["kind"] for match in _WHICH.finditer(question) if match["kind"]]
    if not kinds:
        return False
    kind = stem(kinds[0].split()[-1].casefold())
    told = " ".join(quotes)
    said = [word for word in re.finditer(r"[\w'’-]+", told) if stem(word.group().casefold()) == kind]
    return bool(said) and all(
        _BARE.search(told[: word.start()]) is not None and _QUALIFIES.match(told, word.end()) is None
        for word in said
    )


def asked_verb(question: str) -> str:
    """The main verb of an English question, where it says little and must be told all the same: "did she get it"."""
    match = _ASKED_VERB.search(question)
    return match["verb"] if match else ""


def holds_other(before: str) -> bool:
    """Whether what stands before a thing in a sentence makes it the place of something else."""
    return re.search(f"{_HOLDS}$", before, re.IGNORECASE) is not None


def lack_of(text: str, question: Question, labels: Sequence[str], quotes: Sequence[str] = ()) -> str:
    """What the question asks for and an answer does not tell, whatever memory it rests on; else "".

    quotes: of the memories it cites, any of which may tell of somebody where it is asked for whom.
    """
    if untold := _untold(question, _beyond(text, question), text, (text, *quotes)):
        return untold
    if quotes and _ASKS_SAYING.search(question.text) and not any(map(_TELLS_SAYING.search, quotes)):
        return "it tells of nothing that was said"
    if not _counted(question.text, quotes or (text,)):
        return "it counts something else"
    if quotes and not _named(question.text, quotes):
        return "it tells no name"
    if _ASKS_WHERE.search(question.text) and not any(_places(one, question.terms) for one in (text, *quotes)):
        return "it tells no place"
    if _ASKS_DAY.search(question.text) and not _TELLS_DAY.search(_beyond(text, question)):
        return "it tells no day"
    return "it adds nothing to the question" if _adds_nothing(text, question, labels) else ""


def unquoted(question: Question, quotes: Sequence[str], beside: Sequence[str]) -> bool:
    """Whether quotations do not tell what a question asks for: a place, a number of what is counted, what was said …

    beside: these and those quoted with them, any of which may tell who somebody is, or what somebody said.
    """
    if _ASKS_WHERE.search(question.text) and not any(_places(quote, question.terms) for quote in quotes):
        return True
    if not (_counted(question.text, quotes) and _named(question.text, beside)):
        return True
    told = " ".join(beside)
    for asks, tells in ((_ASKS_WHY, _TELLS_WHY), (_ASKS_HOW, _TELLS_HOW)):
        if asks.search(question.text) and not tells.search(told):
            return True
    told = " ".join(quotes)
    times = f"{told} just now" if _just_was(question, told) else told
    return _untold(question, times, told, beside) != ""


def _adds_nothing(text: str, question: Question, labels: Sequence[str]) -> bool:
    """Whether an answer only says its question again, or adds but a time where none is asked for.

    labels: of all persons known; to name one of them is something where it is asked who.
    """
    if _ASKS_WHETHER.search(question.text):
        return False
    if asks_who(question.text) and any(label not in question.text and label in text for label in labels):
        return False
    timed = _ASKS_OF_TIME.search(question.text) is not None
    kept = text if timed else _TIMES.sub(" ", text)
    for label in labels:
        if _calls(question, label, labels):
            kept = kept.replace(label, " ")
    return not any(_is_new(term, question.text) for term in content_terms(kept))


def _calls(question: Question, label: str, labels: Sequence[str]) -> bool:
    """Whether a question calls somebody by the beginning of a name, as "Mel" is Melanie where nobody is named Mel."""
    words = re.findall(r"[A-Z][a-z]{2,}", question.text)
    return any(label.startswith(word) and word not in labels for word in words)


def _untold(question: Question, times: str, told: str, people: Sequence[str]) -> str:
    """What a question asks for (a time, a number, a price …) and what may tell it does not; else ""."""
    if _ASKS_WHEN.search(question.text) and not _TELLS_WHEN.search(times):
        return "it tells no time"
    if _ASKS_SAYING.search(question.text) and not any(_TELLS_SAYING.search(words) for words in people):
        return "it tells of nothing that was said"
    for asks, tells, what in _MEASURES:
        if asks.search(question.text) and not tells.search(told):
            return f"it tells no {what}"
    placed = _TELLS_WHERE.search(_TIMES.sub(" ", told))
    if _ASKS_WHERE.search(question.text) and _TELLS_WHEN.search(times) and not placed:
        return "it tells a time and no place"
    if _ASKS_WHOM.search(question.text) and not any(_TELLS_WHOM.search(quote) for quote in people):
        return "it tells of nobody"
    return ""


def _named(question: str, quotes: Sequence[str]) -> bool:
    """Whether one of some quotations tells a name, where a question asks for one.

    It does by a word for that, or by a word that stands like a name and is not asked with.
    """
    if not _ASKS_NAME.search(question):
        return True
    told = [match.group() for quote in quotes for match in _TELLS_NAME.finditer(quote)]
    if any(not (word[0].isupper() and (word in question or is_time(word))) for word in told):
        return True
    return any(is_only_noun(match["name"]) for quote in quotes for match in _BESIDE_NOUN.finditer(quote))


def _beyond(text: str, question: Question) -> str:
    """The English words of an answer that do not stand in the question: "in August" tells no time of an August."""
    if question.language == "zh":
        return text
    asked = set(re.findall(r"\w+", question.text.casefold()))
    return " ".join(word for word in re.findall(r"[\w:]+", text) if word.casefold() not in asked)


def _just_was(question: Question, told: str) -> bool:
    """Whether quotations say of what it is asked when it was that it just was: they are told with their time."""
    if not _ASKS_WHEN_IT_WAS.search(question.text):
        return False
    return any(
        language_of(just.group()) == "zh" or ENGLISH.past.match(told.casefold(), just.end())
        for just in _JUST.finditer(told)
    )


def _places(quote: str, things: Sequence[str]) -> bool:
    """Whether a quotation tells a place other than in, on or under what is asked for itself."""
    for thing in things:
        quote = re.sub(rf"{_HOLDS}{re.escape(thing)}\b", " ", quote, flags=re.IGNORECASE)
    return _TELLS_WHERE.search(_TIMES.sub(" ", quote)) is not None


def _counted(question: str, quotes: Sequence[str]) -> bool:
    """Whether what a question asks the number of stands close behind a number, where it asks for one in English."""
    counts = _COUNTS.search(question)
    if counts is None or counts["what"].casefold() == "times":  # which "twice" tells
        return True
    what = re.compile(rf"\W+(?:\w+\W+){{0,2}}{re.escape(stem(counts['what'].casefold()))}", re.IGNORECASE)
    return any(
        what.match(quote, number.end()) for quote in quotes for number in _TELLS_NUMBER.finditer(quote)
    )


def _is_new(term: str, question: str) -> bool:
    """Whether a term of an answer does not stand in its question; a Chinese pair, where a character of it is new."""
    if language_of(term) == "zh":
        return any(character not in question for character in term)
    return not coverage((term,), question)
