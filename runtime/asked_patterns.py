"""Words by which questions ask for a time, a number, a place and the like, and words that tell one; for two languages.

They are searched for in questions, quotations and answers (runtime/asked_for.py), too wide rather than too narrow.
"""

import re

# Of short names those alone that are no words of another kind: "sat" and "sun" only behind "on", "last" or "next".
NAMED_TIME = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november"
    r"|december|tues?|weds?|thu(?:rs?)?|fri|(?:on|last|next) (?:mon|sat|sun)|jan|feb|apr|jun|jul|aug|sept?|oct|nov|dec"
    r"|christmas|easter"
)
ASKS_WHEN = re.compile(
    r"^when\b|\b(?:what|which) (?:time|day|date)\b|什么时候|何时|几点|哪天|几号|星期几", re.IGNORECASE
)
ASKS_WHEN_IT_WAS = re.compile(r"^when (?:did|was|were|has|have|had)\b|什么时候.*了", re.IGNORECASE)
JUST = re.compile(r"\bjust (?!like\b)|刚", re.IGNORECASE)
ASKS_DAY = re.compile(r"\b(?:what|which) (?:day|date)\b|哪天|几号|星期几", re.IGNORECASE)
TELLS_DAY = re.compile(
    rf"\b(?:today|tomorrow|yesterday|{NAMED_TIME}|\d{{1,2}}(?:st|nd|rd|th))s?\b|天|周|星期|号|日",
    re.IGNORECASE,
)
ONE_TO_TWELVE = r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
TELLS_WHEN = re.compile(
    r"\d:\d\d|\b(?:19|20)\d\d\b|\b(?:today|tomorrow|yesterday|tonight|noon|midnight|morning|afternoon|evening|night"
    r"|o'clock|weeks?|months?|years?|days?|hours?|minutes?|daily|weekly|always|never|now|soon|later"
    rf"|{NAMED_TIME}|spring|summer|autumn|winter|half|quarter)s?\b"
    rf"|\b(?:at|by|until|till|before|after|around|about|past|from|since|to|on|on the)\s+{ONE_TO_TWELVE}\b"
    rf"|\b{ONE_TO_TWELVE}\s?(?:o'clock|[ap]\.?m\b)|\b\d{{1,2}}(?:st|nd|rd|th)\b"
    rf"|\b(?:first|second|third|\w+th) of\b|^\W*{ONE_TO_TWELVE}\W*$"
    r"|[今明昨前后]天|[早晚]上|上午|下午|中午|点|月|号|周|星期|年|[一二三四五六七八九十\d]+日",
    re.IGNORECASE,
)
ASKS_WHO = re.compile(r"^who\b|谁", re.IGNORECASE)
ASKS_WHOM = re.compile(r"^(?:whom?\b.*\b(?:for|to|with|from)\W*$|for whom\b)|给谁|跟谁|和谁", re.IGNORECASE)
TELLS_WHOM = re.compile(
    r"(?<=[\w,;:] )[A-Z][a-z]+"
    r"|(?i:\b(?:me|us|him|her|you|neighbou?rs?|friends?|mother|mum|mom|father|dad|brother|sister|son|daughter|wife|husband"
    r"|grand\w+|aunt|uncle|doctor|teacher|everybody|everyone|nobody)\b)"
    r"|我|你|他|她|邻居|朋友|妈|爸|哥|弟|姐|妹|奶奶|爷爷|老师|医生|大家"
)
ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|old|often|tall|heavy|high|deep|wide|fast)\b|多少|几[个位次岁]|多[高重深宽快]",
    re.IGNORECASE,
)
TELLS_NUMBER = re.compile(
    r"\d|\b(?:no|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty"
    r"|few|several|couple|daily|weekly|monthly|yearly|sixty|seventy|eighty|ninety|hundred|thousand|once|twice|half|every|never|always)\b"
    r"|[零一二两三四五六七八九十百千万半]",
    re.IGNORECASE,
)
ASKS_COLOUR = re.compile(r"\b(?:what|which) colou?rs?\b|(?:什么|啥|哪种)颜色", re.IGNORECASE)
TELLS_COLOUR = re.compile(
    r"\b(?:red|orange|yellow|green|blue|purple|violet|pink|brown|black|white|gr[ae]y|beige|gold\w*|silver\w*|turquoise|navy)\b"
    r"|[红橙黄绿蓝紫粉棕褐黑白灰金银青]|咖啡色",
    re.IGNORECASE,
)
ASKS_PRICE = re.compile(
    r"\bhow much\b.*\b(?:costs?|pay|paid|price|charged?|spen[dt])\b|\bprice of\b|多少钱|花了多少",
    re.IGNORECASE,
)
TELLS_PRICE = re.compile(
    r"[€$£¥]|\b(?:euros?|dollars?|pounds?|cents?|pence|yuan|francs?|free|nothing)\b|[块元钱]|免费"
    r"|\b(?:costs?|paid|pay|price\W+\w+|for)\W+(?:only |about |just )?(?:\d|\w*teen|\w+ty|hundred)",
    re.IGNORECASE,
)
ASKS_WHY = re.compile(r"^why\b|为什么|为何|怎么会", re.IGNORECASE)
TELLS_WHY = re.compile(
    r"\b(?:because|since|so|as|due|reason|therefore|in order|to avoid|for|cause[sd]?|allergic)\b"
    r"|因为|由于|所以|为了|过敏",
    re.IGNORECASE,
)
ASKS_HOW = re.compile(
    r"^how (?:did|do|does|will|can|could|should) .*\b(?:get|go|come|do|make)\b|怎么(?:去|来|做)",
    re.IGNORECASE,
)
TELLS_HOW = re.compile(
    r"\b(?:by|using|via|through|on foot|\w*walk\w*|driv\w+|drove|rode|bus|train|taxi|car|bike|bicycle|plane|flight"
    r"|fl[ye]\w*|first|then|must|should|can|need|use|take|\w+ly)\b|用|坐|开车|走路|骑|先|然后",
    re.IGNORECASE,
)
ASKS_LENGTH = re.compile(r"\bhow long\b(?! ago)|多久|多长时间", re.IGNORECASE)
TELLS_LENGTH = re.compile(
    r"\b(?:seconds?|minutes?|hours?|days?|nights?|weeks?|weekends?|months?|years?|decades?|always|forever|since|until|till|whole"
    r"|all (?:day|night|week|year)|overnight|short|long|metres?|meters?|kilomet\w+|miles?|feet|inch\w*|cm|km)\b"
    r"|秒|分钟|小时|天|周|星期|月|年|一直|米|公里",
    re.IGNORECASE,
)
ASKS_FAR = re.compile(r"\bhow far\b|多远", re.IGNORECASE)
TELLS_FAR = re.compile(
    r"\b(?:metres?|meters?|kilomet\w+|miles?|yards?|blocks?|streets?|km|minutes?|hours?|far|near|close|next|around)\b"
    r"|米|公里|里路|分钟|小时|近|远|旁边",
    re.IGNORECASE,
)
MEASURES = (
    (ASKS_LENGTH, TELLS_LENGTH, "length"),
    (ASKS_FAR, TELLS_FAR, "distance"),
    (ASKS_NUMBER, TELLS_NUMBER, "number"),
    (ASKS_PRICE, TELLS_PRICE, "price"),
    (ASKS_COLOUR, TELLS_COLOUR, "colour"),
)
COUNTS = re.compile(r"\bhow many (?:different |other |more )?(?P<what>\w{3,})", re.IGNORECASE)
ASKS_WHERE = re.compile(r"^where\b|哪里|哪儿", re.IGNORECASE)
TELLS_WHERE = re.compile(
    r"\b(?:in|on|at|to|from|under|behind|beside|between|next|near|inside|outside|above|below|over|into|through|there|here"
    r"|home|upstairs|downstairs|abroad|away|has|have|had|took|taken|gave)\b|在(?!\s*\d|.{0,3}[点时])|到|去|从|里|边|面|旁|楼|家",
    re.IGNORECASE,
)
# Before a thing: it is where something else is ("I left my phone in the car").
HOLDS = (
    r"\b(?:in|on|into|onto|inside|under|behind|over|from|of)"
    r"(?: (?:the|an?|my|your|his|her|our|their|this|that))?(?: \w+)? "
)
# "What did the dentist say", who is nobody known: somebody must tell what was said.
ASKS_SAYING = re.compile(
    r"^what (?:did|does|has) (?:(?:the|an?|my|our|your|his|her|their) .*\b(?:say|said|tell|told)\b"
    r"|\w+ tell (?!us\b|you\b|me\b)\w)",
    re.IGNORECASE,
)
TELLS_SAYING = re.compile(
    r"\b(?:say|says|said|tells?|told|according|asks?|asked|wrote|calls?|(?<!is )(?<!are )called)\b",
    re.IGNORECASE,
)
TIMES = re.compile(
    r"\b(?:at|by|around|about) \d{1,2}\b(?!\w)"
    r"|\b(?:on |in |at |of |since |until )*(?:the )?(?:\d{1,2}:\d\d|today|yesterday|tomorrow|morning|afternoon|evening"
    r"|night|(?:spring|summer|autumn|winter)|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:\d{1,2}(?:st|nd|rd|th)? )?(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december)(?:,? (?:\d{1,2}|(?:19|20)\d\d)\b)*|(?:19|20)\d\d)\b"
    r"|在?(?:\d+[年月日号点分]|星期[一二三四五六日天]|[今昨明前后]天|[早晚]上|[上下中]午)",
    re.IGNORECASE,
)
ASKS_NAME = re.compile(
    r"\bnames? of\b|\w['’]s (?:\w+ ){0,2}names?\b|\bname (?:does|do|did|has|have)\b"
    r"|\bwhat (?:is|are|was|were)\b.*\b(?:called|named)\b|叫什么|名字",
    re.IGNORECASE,
)
TELLS_CALLED = re.compile(
    r"(?i:\b(?:is|are|was|were|be|been|it|him|her|them|one|\w['’]s) (?:called|named)\b)"
    r"|(?i:\b(?:his|her|its|their|the) names?\b)|叫(?!什么)|名字"
)
TELLS_NAME = re.compile(r"\b(?:this is|that is|Dr\.|Doctor|Mrs?\.|Ms\.) [A-Z]|(?<=\w )[A-Z][a-z]+")
INTRODUCES = re.compile(r"\b(?:I am|I['’]m) [A-Z]|\b[Mm]y name\b")
# "My dog biscuit tried to eat it": speech recognition writes few names with a capital.
BESIDE_NOUN = re.compile(r"\b(?:my|our|your|his|her|their) [a-z]+ (?P<name>[a-z]+)\b", re.IGNORECASE)
# Asked whether: yes or no may be all that is new in the answer.
ASKS_WHETHER = re.compile(
    r"^(?:\w+, )?(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might)(?:n't)?\b"
    r"|[吗嘛][?？]?$|是不是|有没有|是否|[会能]不[会能]",
    re.IGNORECASE,
)
ASKS_OF_TIME = re.compile(
    r"^(?:since |until )?when\b|\b(?:what|which) (?:time|day|date|month|year|season|week)"
    r"|\bhow (?:long|old|often|many|much)\b|\bbirthday\b|什么时候|何时|几|哪[天年月]|多[久长少大]|生日",
    re.IGNORECASE,
)
