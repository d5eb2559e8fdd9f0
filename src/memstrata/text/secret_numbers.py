"""Secret numbers: told by their check digits, and by what the words beside them call them.

Check digits: payment cards, Chinese identity numbers, IBANs. Words, English and Chinese: PINs and
door codes, accounts, social security, national insurance and passport numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memstrata.text.secret_shapes import Secret, hinted, within

__all__ = ["numbers"]

_LONG = re.compile(r"[0-9](?:[ -]?[0-9]){5}")
_THREE = re.compile(r"[0-9]{3}|[0-9]-[0-9]{1,2}-")


def numbers(text: str, small: str) -> list[Secret]:
    """The secret numbers in a text; `small` is the text in lower case."""
    found: list[Secret] = []
    if _LONG.search(text):
        if _CARD_LONG.search(text):
            found += _cards(text)
            found += _identity_numbers(text)
        if _SSN_HINT.search(text):
            found += _ssns(text, small)
        if hinted(small, _ACCOUNT_HINTS, _ACCOUNT_HINTS_CHINESE):
            found += _accounts(text, small)
        if _NINO_HINT.search(text):
            found += _ninos(text, small)
        if _IBAN_HINT.search(text):
            found += _ibans(text)
    if hinted(small, _PASSPORT_HINTS, _PASSPORT_HINTS_CHINESE):
        found += _passports(text, small)
    if hinted(small, _PIN_HINTS, _PIN_HINTS_CHINESE) and _THREE.search(text):
        found += _pins(text, small)
    return found


_CARD_LONG = re.compile(r"[0-9](?:[ -]?[0-9]){12}")
_NUMBER = r"(?<![A-Za-z0-9_.-]){}(?![A-Za-z0-9_-]|\.[0-9])"
_CARD = re.compile(
    _NUMBER.format(
        r"(?:[0-9]{13,19}|[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{1,4}(?:\1[0-9]{1,3})?"
        r"|[0-9]{4}([ -])[0-9]{6}\2[0-9]{4,5}|62[0-9]{4} [0-9]{13})"
    )
)
# Issuers by their first digits, and how long their numbers are.
_ISSUERS = re.compile(
    r"4[0-9]{12}(?:[0-9]{3}){0,2}|(?:5[1-5]|2[2-7])[0-9]{14}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|35[0-9]{14}|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}"
    r"|6[02-4][0-9]{14,17}|(?:50|5[6-8])[0-9]{14,17}|955[0-9]{13,16}|81[0-9]{14,17}"
    r"|220[0-4][0-9]{12}|9792[0-9]{12}"
)
_NO_CARD = re.compile(
    r"(?:(?<![A-Za-z])(?:order|invoice|tracking|ticket|reference|ref|id|ids|isbn|imei|serial"
    r"|waybill|parcel"
    r"|shipment|case|article|snowflake|timestamp|ean|upc|barcode|sku|transaction|txn)\W{0,3}"
    r"(?:number|no|nr|code|is)?|(?:订单|运单|单|快递|编|序列|流水|物流|条形|条|追踪|交易|商品"
    r"|作品|时间)"
    r"[号码戳]?码?(?:是|为)?)[\s:：#.是\"'=\[]{0,4}\Z",
    re.IGNORECASE,
)


def _cards(text: str) -> Iterator[Secret]:
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        grouped = len(digits) < len(match[0])
        if not (_ISSUERS.fullmatch(digits) and _luhn(digits)):
            continue
        if grouped or not _NO_CARD.search(text, max(0, match.start() - 24), match.start()):
            yield Secret(match.start(), match.end(), "payment card number")


def _luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    total = sum(map(int, digits[-1::-2]))
    total += sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return total % 10 == 0 and len(set(digits)) > 1


_IDENTITY = re.compile(
    r"(?<![A-Za-z0-9_.])(?<![0-9]-)"
    r"[1-9][0-9]{5}[ -]?(?:18|19|20)[0-9]{2} ?(?:0[1-9]|1[0-2]) ?(?:0[1-9]|[12][0-9]|3[01])[ -]?"
    r"[0-9]{3}[0-9Xx](?![A-Za-z0-9_-]|\.[0-9])"
)


def _identity_numbers(text: str) -> Iterator[Secret]:
    """Chinese resident identity numbers with a right check digit (GB 11643-1999)."""
    for match in _IDENTITY.finditer(text):
        number = re.sub("[ -]", "", match[0]).upper()
        total = sum(int(digit) * pow(2, 17 - at, 11) for at, digit in enumerate(number[:17]))
        if "10X98765432"[total % 11] == number[17]:
            yield Secret(match.start(), match.end(), "identity number")


_IBAN_HINT = re.compile(r"[A-Za-z]{2}[0-9]{2} ?[A-Za-z0-9]{4}")
_IBAN = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?:[A-Za-z0-9]{11,30}|(?:[ -][A-Za-z0-9]{4}){2,7}"
    r"(?:[ -][A-Za-z0-9]{1,4})?)(?![A-Za-z0-9])"
)
_SMALL_RUN = re.compile(r"(?=[^a-z]*[a-z])[A-Za-z0-9]+")
# How long an IBAN is where it is used.
_IBAN_LENGTHS = {
    country: int(length)
    for length, countries in (
        part.split(":")
        for part in (
            "15:NO 16:BE 18:DK FI FO GL NL SD 19:MK SI 20:AT BA EE KZ LT LU MN XK 21:CH HR LI LV "
            "22:BG BH CR DE GB GE IE ME RS VA 23:AE GI IL IQ OM SO TL 24:AD CZ ES MD PK RO SA "
            "SE SK "
            "TN VG 25:LY PT ST 26:IS TR 27:BI DJ FR GR IT MC MR SM 28:AL AZ BY CY DO GT HU LB "
            "NI PL "
            "SV 29:BR EG PS QA UA 30:JO KW MU 31:MT SC 32:LC 33:RU"
        )
        .replace(" ", ",")
        .replace(",1", " 1")
        .replace(",2", " 2")
        .replace(",3", " 3")
        .split(" ")
    )
    for country in countries.split(",")
}


def _ibans(text: str) -> Iterator[Secret]:
    """International account numbers with right check digits (ISO 13616)."""
    for match in _IBAN.finditer(text):
        number = re.sub(r"[ -]", "", match[0]).upper()
        end = match.end()
        length = _IBAN_LENGTHS.get(number[:2])
        if length is None or len(number) < length:
            continue
        if _SMALL_RUN.fullmatch(match[0]) and not _BANKING.search(
            text[max(0, match.start() - 40) : match.start()].lower()
        ):
            continue  # an id in small hexadecimal digits may pass the check
        if len(number) > length:  # the next word of the sentence came along
            end -= len(number) - length + 1
            number = number[:length]
            if text[end : end + 1] not in (" ", "-"):
                continue
        if int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97 == 1:
            yield Secret(match.start(), end, "IBAN")


_BANKING = re.compile(
    r"bank|routing|iban|swift|\bbic\b|sort[ -]code|checking|savings|\bwire|deposit|transfer"
    r"|direct debit|payee|beneficiary|payroll|refund|\bbsb\b|\bach\b"
    r"|ifsc|clabe|\brtn\b|\baba\b|chase|wells\sfargo|hsbc|barclays|citibank|santander"
    r"|[工农建招中交]行|邮储|信用社|银行|開戶|开户|户名|戶名|支行|收款|汇款|匯款|转账|轉賬|打款"
    r"|退款|付款|对公|汇丰|户口|工资卡|储蓄|公积金"
)
_ACCOUNT_HINTS = ("acc", "a/c", "sort")
_ACCOUNT_HINTS_CHINESE = (
    *(
        "账号",
        "帐号",
        "帳號",
        "賬號",
        "账户",
        "帐户",
        "賬戶",
        "户口",
        "打到",
        "转到",
        "汇到",
        "付到",
    ),
)
_ACCOUNT = re.compile(
    r"(?:(?<![a-z])(?:bank)?(?:account|acct?|a/c)(?:number|num|no)?(?![a-z])|账号|帐号|帳號|賬號|账户|帐户|賬戶|户口"
    r"|[打转汇付]到)"
    r"|sort[ -]code\W{0,4}[0-9]{2}-?[0-9]{2}-?[0-9]{2}(?=\W{1,4}[0-9]{8}(?![0-9]))"
)
_NUMBERED = re.compile(r"account[ _]?(?:number|num|no)(?![a-z])")
_ACCOUNT_VALUE = re.compile(
    r"(?:[ _]?(?:number|num|no\.?|nr\.?|#|号码|號碼|号))?[^\n0-9，。；]{0,24}?[\s:：=#\"'>]{0,4}"
    r"(?P<number>[0-9](?:[ -]?[0-9]){5,24})(?![A-Za-z0-9_%]|\.[0-9]|[年月日元])"
)
_NO_ACCOUNT = re.compile(
    r"aws|amazon|azure|gcp|qq|微信|steam|游戏|wechat|twilio|user|customer|邮箱|id\Z"
)
_NO_ACCOUNT_VALUE = re.compile(r"phone|mobile|tel|手机|电话|order|invoice|订单|balance|余额|[$€£¥]")
_PHONE = re.compile(
    r"1[3-9][0-9]{9}|0[1-9][0-9]{8,10}|(?:19|20)[0-9]{2}[ -]?[01][0-9][ -]?[0-3][0-9]"
)


def _accounts(text: str, small: str) -> Iterator[Secret]:
    """Numbers of bank accounts, where the text speaks of a bank or of a payment."""
    if not _BANKING.search(small) and not _NUMBERED.search(small):
        return
    for cue in _ACCOUNT.finditer(small):
        match = _ACCOUNT_VALUE.match(small, cue.end())
        if match is None or _NO_ACCOUNT.search(small, max(0, cue.start() - 10), cue.start()):
            continue
        if _PHONE.fullmatch(match["number"]):
            continue
        if not _NO_ACCOUNT_VALUE.search(small, cue.end(), match.start("number")):
            yield Secret(*match.span("number"), "account number")


_SSN_HINT = re.compile(r"[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4}")
_SSN = re.compile(
    _NUMBER.format(r"(?!000|666|9)[0-9]{3}(?P<sep>[- ]?)(?!00)[0-9]{2}(?P=sep)(?!0000)[0-9]{4}")
)
_SSN_WORD = re.compile(
    r"(?<![a-z])(?:ssn|soc(?:ial)?\.?(?:\s{1,2}sec(?:urity)?\.?)?|tax\s?id|itin|tin"
    r"|w-?[249])(?![a-z])|(?<![a-z])ss\s?#"
    r"|社会安全|社安|社會安全"
)


_NO_SSN = re.compile(
    r"(?:phone|tel|fax|call|mobile|part|model|sku|order|ref|ticket|case|serial|isbn|id|no\.?|#"
    r"|电话|手机|订单|编号|型号|单号)[^A-Za-z0-9]{0,4}\Z"
)


def _ssns(text: str, small: str) -> Iterator[Secret]:
    """American social security numbers, beside words that say so."""
    words = [match.end() for match in _SSN_WORD.finditer(small)]
    for match in _SSN.finditer(text):
        start, end = match.span()
        if match["sep"] == "-":
            told = _near(words, start, end, 120, 120) or not _NO_SSN.search(
                small, max(0, start - 24), start
            )
        else:
            told = _near(words, start, end, 24, 24)
        if told:
            yield Secret(match.start(), match.end(), "social security number")


_NINO = re.compile(
    r"(?<![A-Za-z0-9])(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
    r"(?:(?P<spaced>( [0-9]{2}){3} )|[ -]?(?:[0-9]{2}[ -]?){3})[A-D](?![A-Za-z0-9])",
    re.IGNORECASE,
)
_NINO_HINT = re.compile(r"[0-9]{2}[ -]?[0-9]{2}[ -]?[0-9]{2}[ -]?[A-Da-d](?![A-Za-z0-9])")
_NINO_WORD = re.compile(
    r"(?<![a-z])(?:nino|ni[ _-]?(?:no|num|number|n)|n\.i\.|ni(?=\W)"
    r"|national\s{0,2}insurance(?:number)?|nat\s?ins|hmrc"
    r"|paye|p45|p60|payslip)(?![a-z])|国民保险|国家保险|國民保險"
)


def _ninos(text: str, small: str) -> Iterator[Secret]:
    """British national insurance numbers, beside words that say so or written in groups."""
    words = [match.end() for match in _NINO_WORD.finditer(small)]
    for match in _NINO.finditer(text):
        if match["spaced"] or _near(words, match.start(), match.end(), 160, 60):
            yield Secret(match.start(), match.end(), "national insurance number")


_PASSPORT_HINTS = ("passport", "passeport", "reisepass")
_PASSPORT_HINTS_CHINESE = ("护照", "護照", "通行证", "通行證", "台胞证", "回乡证")
_PASSPORT = re.compile(
    r"(?<![A-Za-z0-9_.-])(?:[A-Z]{1,3} ?[0-9]{6,9}|[a-z]{1,2}[0-9]{6,9}|[0-9]{8,9}"
    r"|[A-Za-z][0-9]{2}[A-Za-z]{2}[0-9]{4}"
    r"|[A-Z][A-Z0-9]{2}[0-9]{4,5}[A-Z0-9]"
    r"|[A-Z](?=[A-Z]*[0-9][A-Z0-9]*[0-9][A-Z0-9]*[0-9])[A-Z0-9]{8}"
    r"|[0-9]{2}[A-Z]{2}[0-9]{5})(?![A-Za-z0-9_-]|\.[0-9])"
)
_PASSPORT_WORD = re.compile(
    r"passe?port(?:s|no|num|number|_?no|_?number)?|护照|護照|通行证|通行證|台胞证|回乡证|reisepass"
)
_NO_PASSPORT = re.compile(
    r"(?:phone|tel|mobile|flight|ticket|order|booking|case|receipt|航班|手机|电话|订单"
    r"|预约)[^A-Za-z0-9]{0,12}\Z"
)


def _passports(text: str, small: str) -> Iterator[Secret]:
    """Passport numbers, behind a word that says so; several may follow one word."""
    words = [match.end() for match in _PASSPORT_WORD.finditer(small)]
    if not words:
        return
    for match in _PASSPORT.finditer(text):
        start, end = match.span()
        letters = text[start].isalpha()
        if _PHONE.fullmatch(match[0]) or not _near(
            words, start, end, 60 if letters else 32, 28 if letters else 0
        ):
            continue
        if not _NO_PASSPORT.search(small, max(0, start - 24), start):
            yield Secret(start, end, "passport number")


def _near(words: list[int], start: int, end: int, before: int, after: int) -> bool:
    """Whether one of the words ends so closely before or behind the place."""
    return within(words, start - before, start + 1) or within(words, end + 1, end + after + 1)


_PIN_HINTS = (
    "pin",
    "cv",
    "csc",
    "code",
    "combo",
    "combination",
    "puk",
    "keypad",
    "lockbox",
    "digits on",
)
_PIN_HINTS_CHINESE = ("密码", "密碼", "安全码", "三位", "门禁码", "开门码", "房门码")
_PIN = re.compile(
    r"(?<![a-z])(?P<pin>(?:card|user|atm|sim)?pin|puk)(?:[ _-](?:code|number|no\.?"
    r"|#)|\s?#)?(?:码|碼)?(?![a-z])"
    r"|(?<![a-z])(?P<cvv>(?:card)?(?:cvv2?|cvc2?|csc|cvn)(?:\s(?:code|number|no\.?|#))?|(?:card[\s_-]?)?(?:security"
    r"|sec)[\s_-]{0,2}code|card\s(?:verification|security)\s(?:code|number|value)|(?:three|four"
    r"|[34])[ -]digits?(?:\scode)?\son\s(?:the\s)?(?:back|front))(?![a-z])|(?P<cvv2>安全码"
    r"|[后後末]三位(?:数字?|码)?|背面的?(?:那|后)?三位(?:数字?)?)"
    r"|(?<![a-z])(?P<door>(?:door|gate|garage|alarm|entry|entrance|access|safe|lock|lockbox"
    r"|locker|keypad"
    r"|building|unlock|vault|house|apartment|flat|garage\sdoor|gym|pass|buzzer|key\s?box|disarm"
    r"|padlock"
    r"|intercom|airbnb|shed|luggage|suitcase|i?phone|ipad|tablet|laptop|screen|parental|lobby"
    r"|front|back)[\s_-]?(?:pin\s)?codes?"
    r"|(?:padlock|lock|locker|safe|bike\slock)\s{1,2}(?:combination|combo)|combo|combination"
    r"|keypad|lockbox"
    r"|(?:gate|door|garage|alarm|lockbox|safe)[:,]\s(?:the\s)?code"
    r"|code(?=\s[0-9]{3,8}#?\sfor\s(?:the\s|my\s|our\s)?(?:[a-z]{2,12}\s)?(?:door|gate|garage|safe"
    r"|lock|alarm|building|house|lobby|office|gym)))(?![a-z])"
    r"|(?<![a-z])(?P<door2>code\s(?:for|to|of|on|at)\s(?:(?:the|my|our|his|her|their)\s)?(?:[a-z]{2,12}\s){0,2}"
    r"(?:door|gate|garage|safe|lock(?:er|box)?|alarm|building|house|apartment|flat|lobby|office|gym"
    r"|intercom|phone|i?phone|ipad|laptop|keypad|shed|suitcase|entrance|elevator|lift))(?![a-z])"
    r"|(?P<zh>密码|密碼|门禁码|开门码|房门码)"
)
_PIN_NUMBER = r"[\"'“]?(?P<number>[0-9]{3,8}|[0-9]{1,2}(?:-[0-9]{1,2}){2,3})"
_PIN_IS = (
    r"(?:\s{0,2}[:：=→(]|\s?->|(?:['’]s|\s{1,2}(?:is|was|are|will\sbe))(?:\s(?:now|still))?"
    r"|\s{1,2}(?:(?:is|was)\s)?(?:now|changed\sto|set\sto|reset\sto))\s{0,2}"
)
_PIN_VALUE = re.compile(
    r"[\"']?(?:\s?\([^()\n0-9]{1,20}\))?(?:(?:\s{1,2}(?:for|to|on|of|at|in)\s[^\n.;]{1,48}?)?"
    + _PIN_IS
    + r"|\s{1,2}"
    r"|\s(?:for|to|on|of|at|in)\s(?:(?:the|my|your)\s)?(?:(?!ending|last)[a-z]{2,12}\s){1,2})"
    + _PIN_NUMBER
    + r"(?![A-Za-z0-9_%]|[.,:/-][0-9]"
    r"|\s?(?:digit|char|number|error|time|people|day|year|min|item|line|am\b|pm\b))"
)
_PIN_VALUE_ZH = re.compile(
    r"[^\n，。；;0-9]{0,8}?(?:\s{0,2}[:：=→]|是|为|為|[改设設換换][成为為]了?|就是)?\s{0,2}[“\"「]?"
    r"(?<![A-Za-z0-9_@.-])(?P<number>[0-9]{3,12}|[0-9]{1,2}(?:-[0-9]{1,2}){2,3})"
    r"(?!#?[A-Za-z0-9_%@!$*&^.-]|\s?[年月日元块次位个個天分秒条字人万本件章号度])"
)
_NO_PIN_ZH = re.compile(r"[锁學学箱]|错|位|输|试|超过|至少|手机|电话|版|共|尾号")
_NO_PIN = re.compile(r"(?:zip|area|error|status|promo|discount|exit|country|postal|pin)\s{0,2}\Z")


# Without a look behind, the search jumps from one first letter to the next.
_PIN_CORE = re.compile(
    r"(?:pin|puk|cv[cvn]2?|csc|codes?|combo|combination|keypad|lockbox"
    r"|digits?\s(?:code\s)?on)(?![a-z])"
    r"|密|碼|安全码|三位|门码|禁码"
)


def _pins(text: str, small: str) -> Iterator[Secret]:
    """The digits that open a card, a door or a phone."""
    if not _PIN_CORE.search(small):
        return
    for cue in _PIN.finditer(small):
        chinese = cue["zh"] is not None or cue["cvv2"] is not None or cue[0][-1] in "码碼"
        at = cue.end()
        match = None
        if not chinese:
            match = _PIN_VALUE.match(small, at)
        if match is None:
            match = _PIN_VALUE_ZH.match(small, at) if chinese or not small.isascii() else None
            if match is not None and _NO_PIN_ZH.search(small, at, match.start("number")):
                match = None
        if match is None:
            yield from _pin_before(small, cue)
            continue
        if (len(match["number"]) < 4 and not (cue["cvv"] or cue["cvv2"])) or _is_place(
            small, cue, match
        ):
            continue
        if not _NO_PIN.search(small, max(0, cue.start() - 12), cue.start()):
            yield Secret(*match.span("number"), _pin_caption(cue))


_BEFORE = re.compile(
    r"(?<![\w.,:/$-])(?P<number>[0-9]{4,8})#?[\"']?(?:\s(?:is|as|was)\s(?:(?:the|my|our|your"
    r"|his|her)\s)?"
    r"(?:[a-z]{2,12}['’]?s?\s){0,2}|\s?(?:是|就是|做|当)[一-龥]{0,6})\Z"
)
_PLACES = re.compile(
    r"india|delhi|mumbai|bangalore|bengaluru|chennai|hyderabad|pune|kolkata|kerala|nagar|address"
    r"|postal|post\soffice|district|village|area"
)


def _pin_before(small: str, cue: re.Match[str]) -> Iterator[Secret]:
    """The digits that a text names before it says what they are."""
    match = _BEFORE.search(small, max(0, cue.start() - 60), cue.start())
    if match is not None:
        yield Secret(*match.span("number"), _pin_caption(cue))


def _is_place(small: str, cue: re.Match[str], match: re.Match[str]) -> bool:
    """Whether a PIN is the postal code of that name."""
    return cue["pin"] is not None and len(match["number"]) == 6 and bool(_PLACES.search(small))


def _pin_caption(cue: re.Match[str]) -> str:
    if cue["pin"] is not None:
        return "PIN"
    if cue["zh"] is not None:
        return "password"
    return "access code" if cue["door"] or cue["door2"] else "card security code"
