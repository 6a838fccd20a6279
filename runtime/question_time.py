"""Times named in a question, resolved to exact UTC ranges in the resident's zone, for English and Chinese."""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

MOMENT_TOLERANCE_S = 300.0
JUST_NOW_S = 600.0


@dataclass(frozen=True)
class TimeRange:
    """A half-open range of UTC seconds, and the words of the question that named it."""

    start_utc_s: float
    end_utc_s: float
    phrase: str


_PARTS = {
    "morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (17, 24), "night": (20, 29),
    "tonight": (18, 29), "凌晨": (0, 6), "清晨": (4, 8), "早上": (5, 12), "早晨": (5, 12), "早": (5, 12),
    "上午": (5, 12), "中午": (11, 14), "下午": (12, 18), "傍晚": (17, 20), "晚上": (18, 24), "夜里": (20, 29),
    "晚": (18, 24),
}  # fmt: skip
_LATE = ("afternoon", "evening", "night", "tonight", "下午", "傍晚", "晚上", "夜里", "晚")
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_UNITS_S = {
    "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0, "分钟": 60.0, "小时": 3600.0,
    "钟头": 3600.0, "天": 86400.0, "周": 604800.0, "星期": 604800.0,
}  # fmt: skip
_WORD_COUNTS = {
    "a": 1,
    "an": 1,
    "": 1,
    "few": 3,
    "a few": 3,
    "couple of": 2,
    "a couple of": 2,
    "half an": 0.5,
}
_DIGITS_ZH = {
    "零": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}

_EN = "morning|noon|afternoon|evening|night"
_ZH = "凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里"
_NZH = r"[\d零一二两三四五六七八九十半]+"
_CLOCK_EN = re.compile(
    r"\b(?P<side>before|until|after|since|at|around|about|from|to|between|and)?\s*(?<![\d:])"
    r"(?:(?P<hour>\d{1,2}):(?P<minute>\d{2})(?:\s*(?P<half>[ap])\.?m\b\.?)?"
    r"|(?P<hour2>\d{1,2})\s*(?:(?P<half2>[ap])\.?m\b\.?|o'?clock\b))",
    re.IGNORECASE,
)
_CLOCK_ZH = re.compile(
    rf"(?P<part>{_ZH})?(?P<hour>{_NZH})(?:[点點](?P<minute>{_NZH})?(?:分|钟|整)?)(?P<side>以前|之前|以后|之后|前|后)?"
)
_DAYS_EN = re.compile(
    r"\b(?:on |since )?(?:(?P<two>(?:the )?day before yesterday)|(?P<tonight>tonight)|(?P<lastnight>last night)"
    rf"|this (?P<this>{_EN})|(?P<day>yesterday|today)(?:'s)?(?: (?P<part>{_EN}))?"
    rf"|(?P<last>last )?(?:this )?(?P<weekday>{'|'.join(_WEEKDAYS)})(?: (?P<part2>{_EN}))?"
    r"|(?P<iso>\d{4}-\d{2}-\d{2})"
    rf"|(?:the )?(?P<date>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{'|'.join(_MONTHS)})(?:,? (?P<year>\d{{4}}))?"
    rf"|(?P<month2>{'|'.join(_MONTHS)}) (?P<date2>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year2>\d{{4}}))?)\b",
    re.IGNORECASE,
)
_DAYS_ZH = re.compile(
    rf"(?P<day>今天|今日|昨天|昨日|前天|今(?=早|晚)|昨(?=晚|夜))(?:的)?(?P<part>{_ZH}|早|晚)?"
    rf"|(?P<last>上个?)?(?:这个?|本)?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])(?P<part2>{_ZH})?"
    rf"|(?:(?P<year>\d{{4}})年)?(?P<month>\d{{1,2}})月(?P<date>\d{{1,2}})[日号](?P<part3>{_ZH})?"
)
_PART_ALONE = re.compile(rf"\b(?:in|during|at) (?:the )?(?P<en>{_EN})\b|(?P<zh>{_ZH})", re.IGNORECASE)
_SPAN = re.compile(
    r"\b(?:in |during |over |within )?(?:the )?(?:last|past) (?:(?P<count>\d+|an?|few|couple of) )?"
    r"(?P<unit>minute|hour|day|week)s?\b"
    rf"|(?:最近|过去|前)的?(?P<zhcount>{_NZH})个?(?P<zhunit>分钟|小时|钟头|天|周|星期)(?:以内|之内|内|里)?",
    re.IGNORECASE,
)
_AGO = re.compile(
    r"\b(?P<count>\d+|an?|half an|a few|a couple of) (?P<unit>minute|hour|day|week)s? ago\b"
    rf"|(?P<zhcount>{_NZH})个?(?P<zhunit>分钟|小时|钟头|天|周|星期)(?:之前|以前|前)",
    re.IGNORECASE,
)
_JUST_NOW = re.compile(
    r"\b(?:just now|right now|at the moment|a moment ago)\b|刚才|刚刚|此刻|现在", re.IGNORECASE
)
_WEEK = re.compile(
    r"\b(?:(?P<this>this)|last) week\b|(?:(?P<zhthis>这|本)|上)个?(?:周|星期|礼拜)(?![一二三四五六日天末])",
    re.IGNORECASE,
)
_FUTURE = re.compile(
    r"\b(?:tomorrow|next (?:week|month|year|time))\b|明天|明早|明晚|后天|下个?(?:周|星期|礼拜|月)|明年",
    re.IGNORECASE,
)
_QUOTED = re.compile("\"[^\"]*\"|“[^”]*”|「[^」]*」|(?<!\\w)'[^']+'(?!\\w)|‘[^’]*’")


def find_time(text: str, now_utc_s: float, zone: ZoneInfo) -> tuple[TimeRange | None, str]:
    """The range the text names, if any, and the text without the words that named it; quotes are left alone.

    What is asked about the future was said at some other time: it gives no range.
    """
    masked = _QUOTED.sub(lambda match: "\0" * len(match.group()), text)
    now = datetime.fromtimestamp(now_utc_s, zone)
    if _FUTURE.search(masked):
        return None, text
    for find in (_ago, _span, _just_now, _day_and_clock, _week):
        found = find(masked, now)
        if found is not None:
            start, end, spans = found
            if start >= now_utc_s:
                return None, text
            phrase = " ".join(text[a:b].strip() for a, b in sorted(spans))
            return TimeRange(start, end, phrase), _without(text, spans)
    return None, text


_Found = tuple[float, float, list[tuple[int, int]]]


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return re.sub(r"\s+", " ", text).strip()


def _number(text: str | None) -> float:
    text = (text or "").strip().lower()
    if text in _WORD_COUNTS:
        return float(_WORD_COUNTS[text])
    if text.isascii() and text.isdigit():
        return float(text[:6])
    if text == "半":
        return 0.5
    tens, ten, ones = text.removesuffix("半").rpartition("十")
    value = float(_DIGITS_ZH.get(ones, 0)) if not ones.isascii() or not ones else float(ones[:6])
    return value + (10.0 * _DIGITS_ZH.get(tens, 1) if ten else 0.0) + (0.5 if text.endswith("半") else 0.0)


def _ago(text: str, now: datetime) -> _Found | None:
    match = _AGO.search(text)
    if match is None:
        return None
    unit_s = _UNITS_S[(match["unit"] or match["zhunit"]).lower()]
    length_s = _number(match["count"] or match["zhcount"]) * unit_s
    if unit_s >= 86400.0:
        start, end = _day_range(now.date() - timedelta(days=min(length_s, 3e9) // 86400), now)
        return start, end, [match.span()]
    moment = now.timestamp() - length_s
    tolerance_s = max(MOMENT_TOLERANCE_S, unit_s / 2)
    return moment - tolerance_s, moment + tolerance_s, [match.span()]


def _span(text: str, now: datetime) -> _Found | None:
    match = _SPAN.search(text)
    if match is None or (match["unit"] == "week" and match["count"] is None):
        return None
    length_s = (
        _number(match["count"] or match["zhcount"]) * _UNITS_S[(match["unit"] or match["zhunit"]).lower()]
    )
    return now.timestamp() - length_s, now.timestamp() + 1.0, [match.span()]


def _just_now(text: str, now: datetime) -> _Found | None:
    match = _JUST_NOW.search(text)
    return (now.timestamp() - JUST_NOW_S, now.timestamp() + 1.0, [match.span()]) if match else None


def _week(text: str, now: datetime) -> _Found | None:
    match = _WEEK.search(text)
    if match is None:
        return None
    monday = now.date() - timedelta(days=now.weekday() + (0 if match["this"] or match["zhthis"] else 7))
    return _wall(monday, 0, now), _wall(monday + timedelta(days=7), 0, now), [match.span()]


def _wall(day: date, hour: float, now: datetime) -> float:
    """UTC seconds of a wall-clock hour of a local day; hours from 24 on are the next day's."""
    day += timedelta(days=int(hour // 24))
    moment = time(int(hour % 24), round((hour % 1) * 60) % 60)
    return datetime.combine(day, moment, now.tzinfo).timestamp()


def _day_range(day: date, now: datetime, part: str | None = None) -> tuple[float, float]:
    first, last = _PARTS[part.lower()] if part else (0, 24)
    return _wall(day, first, now), _wall(day, last, now)


def _day_and_clock(text: str, now: datetime) -> _Found | None:
    """A day, a part of a day, a time of day, or several of them together."""
    day, part, spans = _day(text, now)
    if part is None:
        alone = _PART_ALONE.search(text)
        if alone is not None:
            part = alone["en"] or alone["zh"]
            spans.append(alone.span())
    clocks = _clocks(text, part)
    if day is None and part is None and not clocks:
        return None
    spans = _merged(spans + [span for _, _, span in clocks])
    if not clocks:
        return *_day_range(day or now.date(), now, part), spans
    hours = [hour for hour, _, _ in clocks]
    if day is None:
        day = (
            now.date()
            if _wall(now.date(), hours[0], now) <= now.timestamp()
            else now.date() - timedelta(days=1)
        )
    first = _wall(day, hours[0], now)
    if len(clocks) > 1:
        return min(first, _wall(day, hours[1], now)), max(first, _wall(day, hours[1], now)), spans
    if clocks[0][1] in ("before", "until", "以前", "之前", "前"):
        return _wall(day, 0, now), first, spans
    if clocks[0][1] in ("after", "since", "以后", "之后", "后"):
        return first, _wall(day, 24, now), spans
    return first - MOMENT_TOLERANCE_S, first + MOMENT_TOLERANCE_S, spans


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _clocks(text: str, part: str | None) -> list[tuple[float, str, tuple[int, int]]]:
    """(hour of the day, side word, span) of at most two clock times."""
    found = []
    for match in [*_CLOCK_EN.finditer(text), *_CLOCK_ZH.finditer(text)]:
        groups = match.groupdict()
        hour = _number(groups["hour"] or groups["hour2"])
        minute = groups["minute"]
        hour += 0.5 if minute == "半" else _number(minute) / 60 if minute else 0.0
        half = (groups.get("half") or groups.get("half2") or "").lower()
        late = half == "p" or (not half and ((groups.get("part") or part or "").lower() in _LATE))
        if late and hour < 12:
            hour += 12
        elif half == "a" and hour >= 12:
            hour -= 12
        if hour < 24:
            found.append((hour, (groups["side"] or "").lower(), match.span()))
    return sorted(found, key=lambda item: item[2])[:2]


def _day(text: str, now: datetime) -> tuple[date | None, str | None, list[tuple[int, int]]]:
    today = now.date()
    match = _DAYS_EN.search(text)
    if match is not None:
        part = match["this"] or match["part"] or match["part2"]
        if match["two"]:
            return today - timedelta(days=2), None, [match.span()]
        if match["tonight"] or match["this"]:
            return today, part or "tonight", [match.span()]
        if match["lastnight"]:
            return today - timedelta(days=1), "tonight", [match.span()]
        if match["day"]:
            return today - timedelta(days=match["day"].lower() == "yesterday"), part, [match.span()]
        if match["weekday"]:
            back = (today.weekday() - _WEEKDAYS.index(match["weekday"].lower())) % 7
            return today - timedelta(days=back or (7 if match["last"] else 0)), part, [match.span()]
        if match["iso"]:
            year, month, number = (int(piece) for piece in match["iso"].split("-"))
            return _date(year, month, number, today), None, [match.span()]
        month = _MONTHS.index((match["month"] or match["month2"]).lower()) + 1
        return (
            _date(match["year"] or match["year2"], month, match["date"] or match["date2"], today),
            None,
            [match.span()],
        )
    match = _DAYS_ZH.search(text)
    if match is None:
        return None, None, []
    part = match["part"] or match["part2"] or match["part3"]
    if match["day"]:
        return today - timedelta(days={"今": 0, "昨": 1, "前": 2}[match["day"][0]]), part, [match.span()]
    if match["weekday"]:
        back = (today.weekday() - "一二三四五六日".index(match["weekday"].replace("天", "日"))) % 7
        if match["last"]:
            back = today.weekday() + 7 - "一二三四五六日".index(match["weekday"].replace("天", "日"))
        return today - timedelta(days=back), part, [match.span()]
    return _date(match["year"], int(match["month"]), match["date"], today), part, [match.span()]


def _date(year: str | int | None, month: int, number: str | int, today: date) -> date | None:
    """A calendar day; without a year the latest one that is not in the future; None when there is no such day."""
    try:
        if year is not None:
            return date(int(year), month, int(number))
        day = date(today.year, month, int(number))
        return day if day <= today else date(today.year - 1, month, int(number))
    except ValueError:
        return None
