"""What of heard speech may be told as so, and what only as heard: a screen or a stranger, orders to the robot."""

import re

from runtime.quotes import quote_in, sentences_in, speaker_in, states_something

# Speech that would have the robot do or say something; what stands beside it is told as heard, and never as so.
# Too wide rather than too narrow: what is taken for an order by mistake is quoted instead of told in other words.
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|reveal)\b.*\b(?:rules?|instructions?|previous|above|orders?|prompts?"
    r"|guidelines|policy|restrictions|everything)\b"
    r"|(?:^|[,;:]|\b(?:please|must|always|now|and|to|should|will|just|then|only)) ?(?:say|answer|reply|respond|repeat"
    r"|claim|pretend|output|print|write|confirm|announce)\b"
    r"|\b(?:tell|inform|convince) (?:them|everybody|everyone|anybody|anyone|whoever|the (?:others|residents|family))\b"
    r"|\byou are (?:now|no longer|a|an)\b|\bfrom now on\b|\bsystem(?: prompt| message|:)"
    r"|\bas an? (?:ai|assistant|robot)\b|\b(?:new|updated) (?:rules?|instructions?)\b"
    r"|\b(?:right|correct|only|final) answer\b"
    r"|\b(?:if|when|whenever) (?:you are |you're )?(?:asked|(?:anybody|anyone|somebody|someone|they|people) asks?)\b"
    r"|\b(?:reasoning|question|memories|answer|search)\b\W{0,2}[:)]|[【［\[(（](?:回答|搜索|答案)[】］\])）]"
    r"|忽略|无视|别管|不要理会|忘(?:记|掉|了).{0,8}(?:规则|指令|之前|以上|一切)|从现在(?:起|开始)|从此|你(?:现在)?是一?个"
    r"|假装|扮演|新的?(?:规则|指令)|系统(?:提示|消息|指令)|(?:正确|标准|唯一)的?答案"
    r"|(?:如果|要是|凡是|只要)?有人问|问(?:起|到|你)|告诉(?:大家|所有人|他们|别人)"
    r"|(?:必须|一律|都|只能|只|请|要|就|快|直接|统统)(?:回答|回复|说|答|输出|重复|承认|写)|^(?:回答|回复|输出|重复|说)"
    r"|(?:问题|记忆|回答|答案|思考)[:：)）]",
    re.IGNORECASE,
)
_SCREEN = re.compile(r"^(?:Somebody on a screen|屏幕里的人)")
_ASKS_OF_SCREENS = re.compile(
    r"\b(?:tv|telly|television|screen|film|movie|news|radio|programme|program|show|advert\w*)\b"
    r"|电视|屏幕|新闻|广播|电影|节目|广告",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"person_\d+$")
_NOBODY = frozenset(("", "Somebody", "somebody", "有人"))


def from_screen(line: str) -> bool:
    """Whether a line quotes what a screen said."""
    return _SCREEN.search(line) is not None


def trust_last(line: str, question: str) -> bool:
    """Whether a line answers only where no other does: a screen's words, unless screens are asked about."""
    return from_screen(line) and not _ASKS_OF_SCREENS.search(question)


def gives_orders(line: str) -> bool:
    """Whether a line quotes words that would have the robot do or say something."""
    return any(map(_ORDERS.search, sentences_in(quote_in(line) or "")))


def unordered(line: str) -> str:
    """The line, or "" for a screen's words and for orders."""
    return "" if from_screen(line) or gives_orders(line) else line


def is_named_speaker(speaker: str | None) -> bool:
    """Whether a line names whom it quotes: nobody whose name is not known yet, and no screen."""
    if speaker is None or speaker in _NOBODY:
        return False
    return not (_NUMBERED.match(speaker) or from_screen(speaker))


def stated_in(line: str) -> str:
    """What may be told as so: a line that quotes nobody, or the statements of somebody known.

    A screen's words, a stranger's, and any that come with orders to whoever answers are only told as heard.
    """
    quote = quote_in(line)
    if quote is None:
        return line
    if speaker_in(line) in _NOBODY or not unordered(line):
        return ""
    return " ".join(filter(states_something, sentences_in(quote)))
