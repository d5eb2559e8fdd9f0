"""Standing wishes to the agent, and contacts, in the speaker's own words."""

from __future__ import annotations

import re

from memstrata.ingest.local.clauses import Sentence

__all__ = ["contact", "wish"]

_STANDING = re.compile(
    r"\b(?:always|never|from now on|in future|in the future|going "
    r"forward|whenever you|every time you|by default)\b",
    re.IGNORECASE,
)
_TO_AGENT = (
    r"(?:answer|reply|respond|write to me|use|speak|talk to me|call me|address me|"
    r"give me|explain|keep (?:your|it|the|answers|replies)|format|translate|start your|"
    r"end your|don't use|avoid|stop using|your (?:answers|replies|responses)|"
    r"be (?:brief|concise|direct|honest))"
)
_ASKED = re.compile(
    r"(?:^|[,;:]\s*|\b(?:please|always|never|on|future|forward|default|you to|you should|"
    r"you must|"
    r"and|(?:when|every time)(?:ever)? you|don't|do not)\s+)"
    r"(?:please\s+|always\s+|never\s+|"
    r"just\s+|don't\s+)*"
    rf"{_TO_AGENT}\b",
    re.IGNORECASE,
)
_CALL_ME = re.compile(
    r"(?:^|[,.!]\s*|\b(?:[Pp]lease|[Jj]ust|[Yy]ou can|and)\s+)[Cc]all "
    r"me (?P<v>[A-Z][\w'-]*(?:\s[A-Z][\w'-]*)?)(?=[\s,.!]|$)(?!\s+(?:at|"
    r"on|when|if)\b)",
    re.ASCII,
)
_PREFERS = re.compile(
    r"\bI(?:'d)? prefer (?P<v>(?:(?:short|brief|concise|detailed|"
    r"long|direct|simple|clear)\S*\s|your )[\w ,-]*(?:answers|"
    r"replies|responses|explanations|bullet points|summaries)\b.*)",
    re.IGNORECASE,
)
_ZH_CALL = re.compile(
    r"(?:请|以后|就|可以)?(?:叫|称呼)我(?P<v>[一-龥]{1,4}|[A-Za-z]{2,12})(?:吧|就好|就行|"
    r"就可以了?|即可)?[。！!.]?$"
)
_ZH_STANDING = re.compile(r"以后|今后|从现在起|从今天起|总是|始终|别再|不要再|每次|一律|永远")
_ZH_TO_AGENT = re.compile(
    r"回答|回复|答复|说话|跟我说|和我说|用(?:中文|英文|简体|繁体|表格|列表)|输出|称呼|格式|"
    r"表情符号|emoji|废话|啰嗦"
)
_ZH_OTHERS = re.compile(
    r"^我(?!希望|想|要)|[他她它]|我[^，。]{0,4}(?:总是|每次|永远)|^(?:是啊|对啊)"
)
_ZH_LANGUAGE = re.compile(
    r"请(?:都|一直|总是)?用(?:中文|英文|简体中文|繁体中文)(?:回答|回复)|"
    r"(?:希望|请|麻烦)你?的?(?:回答|回复|说话)[^，。]{0,4}(?:简短|简洁|详细|直接|口语|正式|通俗)"
)
_THIS_TIME = re.compile(
    r"这次|这一次|下面|\bthis time\b|\bfor this (?:one|question|task)\b|\bthis (?:essay|"
    r"email|article)\b",
    re.IGNORECASE,
)


def wish(sentence: Sentence) -> str | None:
    """A line for the block about the user, if the sentence says how the agent should be."""
    text = sentence.text.strip().rstrip("。.!！")
    if sentence.asks or len(text) > 200 or _THIS_TIME.search(text):
        return None
    if sentence.chinese:
        return _chinese(text)
    if call := _CALL_ME.search(text):
        return f"Call the user: {call['v']}"
    if prefers := _PREFERS.search(text):
        return f"Prefers {prefers['v']}"
    if _STANDING.search(text) and _ASKED.search(text) and not _ABOUT_SELF.match(text):
        return text[:1].upper() + text[1:]
    return None


_ABOUT_SELF = re.compile(
    r"(?:I|we|he|she|they|my|it|you|there|this|that|these|those|the)\b"
    r"(?!.*\byou (?:to|"
    r"should|must|always)\b)",
    re.IGNORECASE,
)


def _chinese(text: str) -> str | None:
    if call := _ZH_CALL.search(text):
        return None if re.search(r"别|不要|他们|大家|都叫|妈|爸", text) else f"称呼: {call['v']}"
    standing = _ZH_STANDING.search(text) and _ZH_TO_AGENT.search(text)
    if (standing and not _ZH_OTHERS.search(text)) or _ZH_LANGUAGE.search(text):
        return text
    return None


_PHONE = r"(?P<v>\+?\d[\d ()-]{5,18}\d)"
_MAIL = r"(?P<m>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
_CONTACT = re.compile(
    rf"\b(?P<who>(?-i:[A-Z][\w-]+(?: [A-Z][\w-]+)?)(?='s)|my)"
    rf"(?:'s)?\s+(?P<what>(?:[\w-]+(?:'s)?\s+){{0,2}}?(?:phone "
    rf"number|number|phone|mobile|cell|e-?mail(?: address)?))\s+is\s+(?:{_PHONE}|"
    rf"{_MAIL})",
    re.IGNORECASE,
)
_ZH_CONTACT = re.compile(
    rf"(?P<who>[一-龥A-Za-z]{{1,6}}?)的?(?P<what>电话号码|电话|手机号码?|手机|"
    rf"邮箱|邮件地址|电子邮箱)(?:号码|地址)?(?:是|：|:)\s*(?:{_PHONE}|{_MAIL})"
)


def contact(sentence: Sentence, speaker: str) -> tuple[str, str] | None:
    """What a contact is and how it reads: `Maya: phone number`, `+47 …`."""
    if sentence.asks:
        return None
    match = (_ZH_CONTACT if sentence.chinese else _CONTACT).search(sentence.text)
    if match is None:
        return None
    own = match["who"].lower() in ("my", "我")
    return f"{speaker if own else match['who']}: {match['what']}", match["v"] or match["m"]
