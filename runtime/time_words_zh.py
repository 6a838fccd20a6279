"""Chinese words for times, read into items; what they mean on the calendar is time_items' part."""

from __future__ import annotations

import re

from runtime import time_amounts as amounts
from runtime import time_items as items
from runtime.prompts import time_words
from runtime.time_items import Clock, Meal, NoSuchTime, Part, Side, Unit, Value
from runtime.time_language import Builder, TimeLanguage

_WORDS = time_words("zh")
_PART = "|".join(_WORDS.parts)
_MEAL = "|".join(_WORDS.meals)
_N = r"(?:\d{1,9}|[零一二两三四五六七八九十]{1,3})"
_WEEK = "(?:周|星期|礼拜)"
_DAYS = {
    "大前天": -3,
    "前天": -2,
    "昨天": -1,
    "昨日": -1,
    "今天": 0,
    "今日": 0,
    "明天": 1,
    "明日": 1,
    "后天": 2,
    "大后天": 3,
}
_YEARS = {"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
_UNITS: dict[str, Unit] = {
    "分钟": "minute", "小时": "hour", "钟头": "hour", "天": "day", "日": "day", "周": "week", "星期": "week",
    "礼拜": "week", "月": "month", "年": "year",
}  # fmt: skip
_UNIT = "刻钟|分钟|小时|钟头|天|周|星期|礼拜|月|年"
_AMOUNT = rf"(?P<count>半|{_N})(?:个)?(?P<more>半)?(?:个)?(?P<unit>{_UNIT})"
_SHORT = {"早": "早上", "晚": "夜晚", "夜": "夜晚"}


def _number(text: str | None) -> int:
    if not text:
        return 1
    if text.isascii():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    if not ten and len(text) > 1:
        return int("".join(str(_WORDS.digits[digit]) for digit in text))
    whole = 10 * _WORDS.digits.get(tens, 1) if ten else 0
    return whole + _WORDS.digits.get(ones, 0)


def _amount(match: re.Match[str]) -> tuple[float, Unit]:
    count = 0.5 if match["count"] == "半" else float(_number(match["count"]))
    count += 0.5 if match["more"] else 0.0
    return (15.0 * count, "minute") if match["unit"] == "刻钟" else (count, _UNITS[match["unit"]])


def _part(name: str) -> Part:
    first, last = _WORDS.parts[_SHORT.get(name, name)]
    return Part(first, last, "noon" if name in ("中午", "正午") else "part")


def _day(match: re.Match[str]) -> list[Value]:
    return [items.day(_DAYS[match["day"]])]


def _short_day(match: re.Match[str]) -> list[Value]:
    offset = {"昨": -1, "今": 0, "当": 0, "明": 1}[match["day"]]
    if match["part"] == "早":
        return [items.day(offset), _part("早上")]
    return [items.this_night() if offset == 0 else items.day(offset), Part(18, 29)]


def _weekday(match: re.Match[str]) -> list[Value]:
    index = "一二三四五六日".index(match["day"].replace("天", "日"))
    weeks = _weeks(match["which"] or "")
    return [items.weekday(index) if weeks is None else items.weekday_of_week(index, weeks)]


def _weeks(which: str) -> int | None:
    """How many weeks from this one; None where it is not said."""
    which = which.replace("个", "")
    if which in ("这", "本"):
        return 0
    return None if not which else len(which) * (-1 if which[0] == "上" else 1)


def _clock(match: re.Match[str]) -> list[Value]:
    hour, minute = _number(match["hour"]), 0.0
    if match["half"]:
        minute = 30.0
    elif match["quarter"]:
        minute = 15.0 * _number(match["quarter"])
    elif match["minute"]:
        minute = float(_number(match["minute"]))
    if hour > 24 or minute > 59:
        raise NoSuchTime("no_such_hour")
    return [Clock(hour + minute / 60, "24" if hour > 12 else "")]


def _date(match: re.Match[str]) -> list[Value]:
    found = match.groupdict()
    year = _number(found["year"]) if found.get("year") else None
    month = _number(found["month"]) if found.get("month") else None
    return [items.calendar_day(_number(found["date"]), month, year)]


def _month(match: re.Match[str]) -> list[Value]:
    return [items.month(_number(match["month"]), int(match["year"]) if match["year"] else None)]


_RULES: list[tuple[str, Builder]] = [
    (r"(?P<pre>(?<![\d:])(?=\d))(?P<hour>\d{1,2}):(?P<minute>\d{2})(?![\d:])(?P<half>)(?P<quarter>)", _clock),
    (rf"(?P<day>{'|'.join(sorted(_DAYS, key=len, reverse=True))})", _day),
    (r"(?P<day>[昨今当明])(?P<part>[早晚夜])(?!饭|餐)(?:上|里)?", _short_day),
    (r"[到至](?:现在|目前|如今)(?:为止)?", lambda m: [Side("since")]),
    (r"(?:刚才|刚刚|此刻|现在)", lambda m: [amounts.last_amount(10, "minute")]),
    (
        rf"(?P<which>上上个?|上个?|下下个?|下个?|这个?|本)?{_WEEK}(?P<day>[一二三四五六日天])(?![个天])",
        _weekday,
    ),
    (
        r"(?P<which>上上个?|上个?|下下个?|下个?|这个?|本)?周末",
        lambda m: [
            items.weekend() if (weeks := _weeks(m["which"] or "")) is None else items.weekend(of_week=weeks)
        ],
    ),
    (
        rf"(?P<which>上上个?|上个?|下下个?|下个?|这个?|本){_WEEK}",
        lambda m: [items.week(_weeks(m["which"]) or 0)],
    ),
    (
        r"(?P<which>上上个?|上个?|下下个?|下个?|这个?|本)月(?!饼)",
        lambda m: [items.month(None, offset=_weeks(m["which"]) or 0)],
    ),
    (
        rf"(?:最近|过去|近|前)的?这?{_AMOUNT}(?:以内|之内|内|里|来)?",
        lambda m: [amounts.last_amount(*_amount(m))],
    ),
    (rf"{_AMOUNT}(?:之前|以前|前)", lambda m: [amounts.amount_ago(*_amount(m))]),
    (
        rf"{_AMOUNT}(?:之后|以后|后)",
        lambda m: [amounts.amount_ago(-_amount(m)[0], _amount(m)[1])],
    ),
    (rf"(?:(?P<year>\d{{4}})年)?(?P<month>{_N})月(?P<date>{_N})[日号]", _date),
    (rf"(?:(?P<year>\d{{4}})年)(?P<month>{_N})月(?!份?\d)份?", _month),
    (rf"(?P<year>)(?<![个\d零一二两三四五六七八九十])(?P<month>{_N})月份?", _month),
    (rf"(?<![第\d零一二两三四五六七八九十])(?P<date>{_N})[日号](?!楼|线|房|门)", _date),
    (r"(?P<year>(?:19|20)\d\d)年", lambda m: [items.year(int(m["year"]))]),
    (rf"(?P<year>{'|'.join(_YEARS)})", lambda m: [items.year(None, _YEARS[m["year"]])]),
    (rf"(?P<part>{_PART})", lambda m: [_part(m["part"])]),
    (
        rf"(?:(?<=[\x01在到至从于自])|(?!一点))(?<![\d零一二三四五六七八九十])(?P<hour>\d{{1,2}}|[零一二两三四五六七八九十]{{1,3}})[点點]"
        rf"(?:(?P<half>半)|(?P<quarter>[一三])刻|(?P<minute>{_N})分?|整|钟)?(?![儿累都也])",
        _clock,
    ),
    (
        rf"(?P<meal>{_MEAL})(?=之前|以前|前|之后|以后|后|时|的时候|期间)",
        lambda m: [Meal(_WORDS.meals[m["meal"]])],
    ),
    (r"(?P<meal>睡前)", lambda m: [Meal("bedtime")]),
]


CHINESE = TimeLanguage(
    rules=tuple((re.compile(pattern), build) for pattern, build in _RULES),
    links=re.compile(r"(?P<from>从|自)|(?P<to>到|至|[-–—~～])|(?P<and>和|跟|与|或)"),
    sides=re.compile(
        r"(?P<before>之前|以前|前)|(?P<after>之后|以后|后)|(?P<since>以来|起|开始)|(?P<until>为止)|(?P<around>左右|前后)"
    ),
    future=re.compile(r"将|打算|计划|准备|要(?=来|去|做)|会(?=来|去|做)"),
    past=re.compile(r"了|过(?!年|节|生日|周末|夜|冬)|曾|刚|上(?=一?(?:个?(?:周|星期|礼拜|月)|次|回))"),
    filler=re.compile(r"[\s的]*"),
    sides_follow=True,
    named_days=re.compile(r"春节|清明|劳动节|端午|中秋|国庆|元旦|圣诞节|除夕|平安夜|情人节"),
    before_name="",
)
