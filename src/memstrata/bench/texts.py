"""Invented memories and questions for measuring speed: plausible, seeded, with Zipf's word law.

About 4,000 distinct names and words, most of them put together from syllables, so that a few
are in many texts and most are rare, as in real conversations. Nothing is taken from a data set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from random import Random
from typing import NamedTuple

__all__ = ["Fact", "facts", "questions"]


def _words(text: str, between: str = " ") -> tuple[str, ...]:
    return tuple(text.split(between))


def _joined(*parts: str, between: str = "") -> tuple[str, ...]:
    return tuple(map(between.join, product(*map(_words, parts))))


_GIVEN = _words(
    "Ada Alba Amir Anouk Arlo Bashir Bea Benno Bruna Carys Cosmo Dalia Dario Edda Elio Enid Ezra "
    "Fadi Farah Fern Gwen Hana Hugo Ilse Imre Inga Isaac Jonas Juno Kavi Keira Lars Leda Lotte "
    "Luca Mabel Marek Mina Nadia Nico Noor Odile Omar Orla Otis Paloma Petra Quinn Rafi Ravi Rhea "
    "Rosa Runa Sami Selma Tariq Thea Uma Viggo Wanda Yara Yusuf Zadie Zeno"
)
_FAMILIES = _joined(
    "Ash Bar Bel Cor Dun Ell Far Gar Hal Hol Ken Lang Mar Nor Os Pem Quil Ros Sel Thorn Vas Wim",
    "bury croft dale den field ford gate ham hurst ley man mere more son stead ton vane wick wood "
    "worth",
)
_PLACES = _joined(
    "Amber Birch Clear Cold Copper Deep Elder Fair Glen Green Grey High Iron Kings Lake Long "
    "Maple North Oak Old Pine Port Red River Rose Salt Silver South Stone Swan Upper West",
    "bank beach bridge brook cliff court cross end gate grove harbour haven hill hollow lane "
    "market mill moor park point quay ridge row side square street view wharf",
    between=" ",
)
_PRODUCTS = _joined(
    "Ax Bril Cy Do Era Flo Gla Hy In Jo Ka Lu Mo Ne Or Pra Qui Ri Sol Tra Ul Ve Xi Zan",
    "a be di lo mu",
    "bex cord dra fin gon hub kit lio max nix pad quest ron sta tek val wave yo zel bit",
)
_THINGS = _words(
    "kettle bicycle violin laptop garden notebook camera sofa passport umbrella keyboard lamp "
    "tent recipe novel puzzle poster ticket contract invoice backpack scarf mirror ladder printer "
    "radio blender canoe compass curtain drill easel fridge guitar hammock heater helmet jacket "
    "jigsaw kayak lantern mattress microscope oven painting piano pillow projector quilt raincoat "
    "rug saddle scooter shelf skateboard suitcase table telescope thermos toolbox trumpet vase "
    "wardrobe wheelbarrow windsurfer workbench budget deadline dentist interview lecture "
    "marathon meeting mortgage rehearsal reunion seminar surgery vaccine visa wedding workshop "
    "allergy asthma migraine cough fever knee shoulder ankle peanut mushroom lentil walnut oyster "
    "almond basil cinnamon dumpling espresso falafel ginger honey lasagne mango noodle olive "
    "pancake ramen saffron tofu waffle sparrow beagle parrot tabby hamster tortoise pony terrier"
)
_QUALITIES = _words(
    "blue broken cheap little old spare second-hand wooden folding heavy quiet borrowed new lost "
    "favourite leather yellow dusty portable antique striped unopened rusty bright crooked digital "
    "empty fragile green handmade narrow orange plain purple round shiny slim soft square steep "
    "tiny waterproof worn woollen expensive electric silver grey late early weekly yearly urgent "
    "private shared local remote annual final gluten-free vegan roasted frozen fresh"
)
_DOINGS = _words(
    "painting running baking sewing hiking reading cycling singing gardening swimming climbing "
    "coding fishing skating sailing writing dancing knitting rowing camping drawing translating "
    "juggling fencing surfing pottery chess yoga judo archery beekeeping calligraphy carpentry "
    "birdwatching photography badminton volleyball karaoke origami astronomy genealogy improv"
)
_REASONS = _words(
    "the old one broke|the train was late|the doctor said so|it was on sale|the lease ends soon|"
    "the children asked for it|work got too busy|the weather turned|a friend recommended it|"
    "the course starts then|there was no room left|it hurts in the morning|the shop had closed|"
    "the flight was cancelled|it reminds them of home|the noise was too much|money is tight|"
    "the neighbours complained|it matches the walls|nobody else wanted it",
    between="|",
)
_DAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")

_FACTS = (
    ("{person} moved the {quality} {thing} to {place} because {reason}.",
     "Where did {person} move the {thing}?"),
    ("I promised {person} to bring the {quality} {thing} to {place} on {day}.",
     "What did I promise to bring to {place}?"),
    ("{person} started {doing} at {place} and goes there every {day}.",
     "Who goes {doing} at {place}?"),
    ("My {thing} from {product} stopped working, so I borrowed one from {person}.",
     "What happened to my {product} {thing}?"),
    ("{person} cannot stand the {quality} {thing}, {reason}.",
     "Which {thing} can {person} not stand?"),
    ("We met {person} near {place} and talked about {doing} for an hour.",
     "What did we talk about with {person}?"),
    ("I paid {number} euros for the {quality} {thing} at {product}.",
     "How much did I pay for the {quality} {thing}?"),
    ("{person} works for {product} in {place} and likes {doing} after work.",
     "Who works for {product}?"),
    ("The {thing} for {person} is planned on {day} at {place}.",
     "When is the {thing} of {person} planned?"),
    ("I gave up {doing} last year because {reason}, but {person} still does it.",
     "Why did I give up {doing}?"),
    ("{person} asked whether the {product} {thing} could be delivered to {place} by {day}.",
     "By when should the {product} {thing} be delivered?"),
    ("Remember that {person} is allergic to {thing} and prefers {quality} {thing2}.",
     "What is {person} allergic to?"),
    ("The door code at {place} is kept by {person}, who is in on {day}.",
     "Who keeps the door code at {place}?"),
    ("{person} sold {number} tickets for the {doing} evening in {place}.",
     "How many tickets for the {doing} evening did {person} sell?"),
    ("My sister and {person} are learning {doing} together with an app called {product}.",
     "Which app does my sister use for {doing}?"),
    ("The {quality} {thing} belongs to {person}, the {thing2} is mine.",
     "Whose is the {quality} {thing}?"),
)  # fmt: skip


class Fact(NamedTuple):
    """A memory, and a question it answers."""

    text: str
    question: str


@dataclass(frozen=True, slots=True)
class _Urn:
    """Words drawn with a chance falling as one over their rank."""

    words: tuple[str, ...]
    weights: tuple[float, ...]

    def draw(self, random: Random) -> str:
        return random.choices(self.words, cum_weights=self.weights)[0]


def _urn(words: Sequence[str], random: Random) -> _Urn:
    shuffled = random.sample(words, len(words))
    return _Urn(tuple(shuffled), tuple(accumulate(1.0 / n for n in range(1, len(words) + 1))))


class _Speaker:
    """Fills templates from a world of its own."""

    def __init__(self, seed: int) -> None:
        self._random = random = Random(seed)
        self._urns = {
            "given": _urn(_GIVEN, random),
            "family": _urn(_FAMILIES, random),
            "place": _urn(_PLACES, random),
            "product": _urn(_PRODUCTS, random),
            "thing": _urn(_THINGS, random),
            "quality": _urn(_QUALITIES, random),
            "doing": _urn(_DOINGS, random),
            "reason": _urn(_REASONS, random),
            "day": _urn(_DAYS, random),
        }

    def say(self) -> Fact:
        words = {name: urn.draw(self._random) for name, urn in self._urns.items()}
        words["person"] = f"{words['given']} {words['family']}"
        words["thing2"] = self._urns["thing"].draw(self._random)
        words["number"] = str(self._random.randrange(3, 900))
        text, question = self._random.choice(_FACTS)
        return Fact(text.format_map(words), question.format_map(words))


def facts(count: int, *, seed: int) -> list[Fact]:
    """`count` facts of different texts; more of the same seed begin with the same ones."""
    speaker, found = _Speaker(seed), dict[str, Fact]()
    while len(found) < count:
        fact = speaker.say()
        found.setdefault(fact.text, fact)
    return list(found.values())


def questions(among: Sequence[Fact], count: int, *, seed: int) -> list[str]:
    """`count` different questions, each about one of these facts, drawn evenly."""
    known = list(dict.fromkeys(fact.question for fact in among))
    return Random(f"questions {seed}").sample(known, count)
