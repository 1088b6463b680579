"""Made-up talk of a tavern: the same seed gives the same lines, and no data file is needed."""

from __future__ import annotations

import random
from collections.abc import Iterator

NAMES = (
    "Alice Bram Cerys Doran Edda Fenn Greta Hale Isolde Jory Katrin Lorcan Maeve Niall Orla "
    "Piers Quill Rhona Silas Tamsin Ulric Vesna Wystan Yara Zeb Agnes Baldric Constance "
    "Dunstan Elowen Fulk Gwen Hugo Imogen Jasper Kester Linnet Merrick Nessa Osric"
).split()
PLACES = [
    "the mill",
    "the old lighthouse",
    "Thornwick",
    "the salt harbour",
    "the north gate",
    "the chapel crypt",
    "Millbrook",
    "the tanner's yard",
    "the flooded quarry",
    "Greyfen",
    "the abbot's orchard",
    "the rope walk",
    "the customs house",
    "Ravenscar",
    "the beacon hill",
    "the drovers' inn",
    "the sunken bridge",
    "Oakhollow",
    "the smugglers' cove",
    "the granary",
    "the bell tower",
    "the fish market",
    "Saltmarsh",
    "the charcoal pits",
    "the widow's cottage",
    "the toll road",
    "the east dock",
    "Hollowmere",
    "the stone circle",
    "the leper house",
]
THINGS = (
    "lantern ledger cutlass locket barrel saddle map key chalice net anvil compass violin "
    "cloak candlestick bell coin-purse dagger letter plough boat ferry wagon goat falcon clock "
    "ring mirror kettle spade crown chest harp tapestry quiver helmet loom drum cart sail"
).split()
KINDS = (
    "silver rusty stolen cracked borrowed painted heavy broken gilded wooden copper blessed "
    "cursed patched foreign ancient little crooked iron forgotten"
).split()
DEEDS = (
    "hid sold mended lost buried pawned carried found burned polished traded stole weighed "
    "painted dropped fetched wrapped counted repaired gave"
).split()
TRADES = (
    "cooper smith tanner ferryman midwife chandler reeve fletcher miller friar sexton bailiff "
    "weaver apothecary drover tinker beekeeper mason thatcher falconer"
).split()
TIMES = [
    "last winter",
    "before the flood",
    "on market day",
    "at midnight",
    "three days ago",
    "after the harvest",
    "in the week of the great storm",
    "the morning the bells fell silent",
    "when the fleet came in",
    "on the eve of the fair",
    "two summers back",
    "while everyone slept",
]
FOOD = ("tea coffee cider mead ale porridge herring honey cheese pears chestnuts bread").split()

LINES = (
    "{name} {deed} the {kind} {thing} near {place} {time} and nobody has spoken of it since.",
    "I saw the {trade} with a {kind} {thing} down by {place} {time}, in the pouring rain.",
    "They say the {trade} from {place} owes {name} {number} crowns for that {kind} {thing}.",
    "My brother {deed} his {thing} at {place} {time}, and {name} was the only one who helped.",
    "If you go to {place}, ask the {trade} about the {kind} {thing} that {name} {deed} {time}.",
    "The {kind} {thing} belongs to {name}, whatever the {trade} of {place} may tell you.",
    "{name} married the {trade}'s daughter {time}, and the feast at {place} lasted {number} days.",
    "Somebody {deed} my {thing} {time}; I would look for it around {place} if I were you.",
    "I always prefer {food} to {food2}, but {name} at {place} pours nothing else {time}.",
)
HEARSAY = (
    " So the {trade} swore to {name} over {food} at {place} {time}, at any rate.",
    " That is what {name} the {trade} wrote from {place} {time}, with a {kind} {thing} as proof.",
    " Ask {name}, who was at {place} with the {trade} {time} and {deed} a {thing} there.",
)
QUESTIONS = (
    "What happened to the {kind} {thing} that {name} {deed} near {place} {time}?",
    "Do you know where the {trade} put the {kind} {thing} {time}?",
    "Has {name} said anything about a {kind} {thing} at {place}?",
)
PREFERENCES = len(LINES) - 1  # the line that states one; the others are drawn twice as often


def lines(seed: int = 1) -> Iterator[str]:
    """Lines of about 15 words without end, hardly ever two alike; one in 17 is a preference."""
    dice = random.Random(seed)
    weights = [2] * PREFERENCES + [1]
    while True:
        (template,) = dice.choices(LINES, weights)
        yield _filled(template, dice)


def hearsay(line: str, seed: int) -> str:
    """`line` with a second sentence of its own: near the first in meaning, in other words."""
    dice = random.Random(seed)
    return line + _filled(dice.choice(HEARSAY), dice)


def questions(seed: int = 2) -> Iterator[str]:
    """Questions that fit the lines, never the same twice."""
    dice = random.Random(seed)
    asked = set()
    while True:
        question = _filled(dice.choice(QUESTIONS), dice)
        if question not in asked:
            asked.add(question)
            yield question


def _filled(template: str, dice: random.Random) -> str:
    food, food2 = dice.sample(FOOD, 2)
    text = template.format(
        name=dice.choice(NAMES),
        place=dice.choice(PLACES),
        thing=dice.choice(THINGS),
        kind=dice.choice(KINDS),
        deed=dice.choice(DEEDS),
        trade=dice.choice(TRADES),
        time=dice.choice(TIMES),
        number=dice.randint(2, 99),
        food=food,
        food2=food2,
    )
    return text[0].upper() + text[1:] if text[0] != " " else text
