"""English verbs and their forms."""

from __future__ import annotations

__all__ = ["FORMS", "verb_form"]

_IRREGULAR = """
sleep sleeps slept sleeping
wake wakes woke woken waking
draw draws drew drawn drawing
feed feeds fed feeding
shop shops shopped shopping
jog jogs jogged jogging
lead leads led leading
be am is are was were been being
have has had having
do does did done doing
go goes went gone going
get gets got gotten getting
buy buys bought buying
meet meets met meeting
leave leaves left leaving
lose loses lost losing
win wins won winning
find finds found finding
make makes made making
take takes took taken taking
give gives gave given giving
see sees saw seen seeing
come comes came coming
become becomes became becoming
begin begins began begun beginning
teach teaches taught teaching
speak speaks spoke spoken speaking
drive drives drove driven driving
eat eats ate eaten eating
drink drinks drank drunk drinking
grow grows grew grown growing
run runs ran running
swim swims swam swum swimming
sing sings sang sung singing
write writes wrote written writing
read reads reading
build builds built building
sell sells sold selling
break breaks broke broken breaking
fall falls fell fallen falling
fly flies flew flown flying
hurt hurts hurting
quit quits quitting
keep keeps kept keeping
say says said saying
tell tells told telling
think thinks thought thinking
know knows knew known knowing
stand stands stood standing
feel feels felt feeling
pass passes passed passing
pay pays paid paying
spend spends spent spending
attend attends attended attending
adopt adopts adopted adopting
prefer prefers preferred preferring
plan plans planned planning
stop stops stopped stopping
study studies studied studying
marry marries married marrying
try tries tried trying
hike hikes hiked hiking
catch catches caught catching
hold holds held holding
ride rides rode ridden riding
throw throws threw thrown throwing
bring brings brought bringing
sign signs signed signing
send sends sent sending
put puts putting
cut cuts cutting
set sets setting
hear hears heard hearing
hate hates hated hating
travel travels traveled travelled traveling travelling
celebrate celebrates celebrated celebrating
"""
_REGULAR = """
bike cycle ski skate dance meditate stretch exercise garden knit sew crochet sketch water
clean wash iron listen journal pray nap row lift surf sail fish hunt sing type code brew ferment
mentor babysit wander foster relocate
live work visit move relocate start finish join attend graduate adopt own love like enjoy adore
dislike despise detest play want hope learn practise practice collect suffer reside retire turn
volunteer enter perform paint cook bake launch open close publish apply accept complete host
organize organise participate train switch stay return rescue use smoke major specialize
specialise call name commute earn receive pick purchase order book schedule cancel watch talk
chat discuss help raise donate walk climb camp hike fear prefer fix repair plant register
enroll enrol sign present create design record release arrive land interview injure sprain
experience decide dream miss crave follow support need wear
"""


def _forms() -> dict[str, tuple[str, str]]:
    """Each form with its verb and what it is: base, third, past, participle, ing."""
    table: dict[str, tuple[str, str]] = {}
    for line in _IRREGULAR.strip().splitlines():
        words = line.split()
        for word in words:
            table.setdefault(word, (words[0], _what(word, words[0])))
    for verb in _REGULAR.split():
        stem = verb.removesuffix("e")
        table.setdefault(verb, (verb, "present"))
        for form in (f"{verb}s", f"{verb}es", f"{verb[:-1]}ies"):
            table.setdefault(form, (verb, "present"))
        for form in (f"{stem}ed", f"{verb[:-1]}ied", f"{verb}{verb[-1]}ed"):
            table.setdefault(form, (verb, "past"))
        for form in (f"{stem}ing", f"{verb}ing", f"{verb}{verb[-1]}ing"):
            table.setdefault(form, (verb, "ing"))
    return table


def _what(form: str, verb: str) -> str:
    if form.endswith("ing") and form != verb:
        return "ing"
    return (
        "present" if form in (verb, f"{verb}s", f"{verb}es", f"{verb[:-1]}ies", "has") else "past"
    )


FORMS = _forms()


def verb_form(word: str) -> tuple[str, str] | None:
    """The verb a word is a form of, and whether it is present, past or ing."""
    known = FORMS.get(word)
    if known is None and word.endswith("ed") and len(word) > 4 and word.isalpha():
        return word[:-2], "past"
    if known is None and word.endswith("ing") and len(word) > 5 and word.isalpha():
        return word[:-3], "ing"
    return known
