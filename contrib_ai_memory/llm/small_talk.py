"""Small talk: lines that ask for a friendly word and tell nothing to remember.

Apologies, compliments, teasing and riddles are known by their form. Whatever else is not worth
remembering is judged by the sentence classifier, as for the night.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..embedding import embedder
from ..embedding.model import ModelAway
from ..english import sentence_classifier
from ..english.sentence_classifier import NOISE, Sentence

LONGEST = 10  # words of small talk
_YOU_ARE = r"(?:you|u|ye|ya)(?:['’]?re| are| r| look| seem| sound| smell)"
_FINE = (
    r"(?:nice|lovely|fine|great|good(?: (?:one|un|'un))?|beautiful|pretty|cosy|cozy|cool|amazing"
    r"|wonderful|delicious|kind|sweet|clever|wise|funny|brave|the best|awesome|charming"
    r"|friendly|generous)"
)
_VERY = r"(?:(?:so|very|really|such an?|an?|too|quite|always|the) )*"
# the first that is found decides: the kind of phrase that answers it
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(form, re.IGNORECASE))
    for kind, form in (
        (
            "apology",
            r"^\W*(?:(?:i['’]?m|i am|so|very|oh|oops) )*(?:sorry|my apologies|apologies|forgive me"
            r"|pardon(?: me)?|my bad)\b(?!.*\b(?:to hear|for your|about your)\b)"
            r"|^\W*(?:i was )?(?:only|just) (?:joking|kidding|teasing|messing)\b",
        ),
        # its own answer follows a riddle
        ("riddle", r"^\W*why\b[^.?!]+\?+\s+(?:to|because|cos)\b.*[^?]$"
         r"|^\W*what (?:do you call|has|have|gets|goes)\b[^.?!]+\?+\s+an?\b.*[^?]$"),
        ("corrected", r"\b(?:you|u) (?:said|told me|were wrong|are wrong|got)\b.*"
         r"\b(?:wrong|not true|not right|false|a lie|mistaken)\b"
         r"|^\W*(?:no,? |nah,? |but )?(?:that|this|it)(?:['’]?s| is|) (?:all )?"
         r"(?:wrong|not (?:true|right|so)|false)\W*$"
         r"|^\W*(?:no|nope|nah),? (?:it|that|he|she|they|i)(?:['’]?s| is| was| are"
         r"| am|['’]?m)? ?(?:not|n['’]?t|isn['’]?t|wasn['’]?t|didn['’]?t)\W*$"
         r"|^\W*(?:you|u)(?:['’]?re| are| r) wrong(?: (?:about|on|there)\b.{0,20})?\W*$"),
        ("misheard", r"^\W*(?:that|this)(?:['’]?s| is| was)(?: not|n['’]?t) what i"
         r" (?:asked|said|meant|wanted)|^\W*i did(?: not|n['’]?t) ask (?:that|about that)"),
        ("dropped", r"^\W*(?:never ?mind|nm|nvm|forget it|it does(?:n['’]?t| not) matter)\W*$"),
        ("no more", r"^\W*(?:(?:oh|aw+|ah) )?(?:go on|come on|pretty please|please|pls)"
         r"(?:[, ]+(?:then|please|pls|tell me))*\W*$"),
        ("tired", r"^\W*(?:(?:oh|ugh|phew|well)\W+)?(?:i['’]?m|i am|i feel)"
         r" (?:so |very |dead |really |all )?(?:tired|knackered|exhausted|weary|shattered"
         r"|worn out|beat|done in|frozen|freezing|soaked|starving|parched)"
         r"(?: (?:today|tonight|now|stiff|through|out))*\W*$"
         r"|^\W*(?:(?:oh|ooh|ugh|phew|ow)\W+)?(?:my|me) (?:poor )?"
         r"(?:feet|back|head|legs?|bones|knees?|arms?)(?:['’]?s| is| are)?"
         r" (?:killin[g'’]?|achin[g'’]?|sore|hurtin[g'’]?)\b(?: me\b)?\W*$"),
        ("so it is",
         r"^\W*(?:it )?(?:looks?|smells?|feels?) like (?:rain|snow|storms?|a storm|frost)\b"
         r"|^\W*(?:(?:what|it['’]?s|its) (?:a |an )?)?"
         r"(?:nice|lovely|foul|cold|hot|warm|wet|fine|grim|grand|rotten|miserable|bitter|wild|raw)"
         r" (?:weather|wind|day|night|evening|morning|out|outside|in here)(?: out(?:side)?)?"
         r"(?:,? (?:today|tonight|again|innit|isn['’]?t it|for the time of year))*\W*$"),
        ("chatter",
         r"^\W*(?:it['’]?s )?(?:very |so |awful |a bit )?(?:quiet|busy|lively|packed|slow|dead)"
         r"(?: in here| here| round here)?"
         r"(?:,? (?:today|tonight|again|innit|isn['’]?t it|for the time of year))*\W*$"),
        ("compliment", rf"^\W*(?:(?:ha)+h?|lol|aw+|oh|ah|well)?\W*{_YOU_ARE} {_VERY}{_FINE}\b"
         rf"|^\W*(?:what an? |this is an? |that['’]?s an? |it['’]?s an? )?{_VERY}{_FINE}"
         r" (?:place|inn|tavern|shop|house|room|stew|ale|food|work|spot|hall|bar|pub|fire)\b"
         r"|^\W*i (?:really )?(?:like|love) (?:you|it here|this place|your|ur)\b"),
        ("of itself", rf"^\W*{_YOU_ARE} {_VERY}(?!(?:invited|welcome|to|going|coming|my|owed)\b)"
         r"(?:\w+ ){0,3}\w+\W*$"),
    )
)  # fmt: skip


def small_talk_in(said: str) -> str:
    """Return the kind of phrase that answers a line by its form, "" for none.

    >>> [small_talk_in(said) for said in ("u look tired", "sorry, only joking", "I sell eels")]
    ['of itself', 'apology', '']
    """
    return next((kind for kind, form in _FORMS if form.search(said)), "")


def are_noise(lines: Sequence[str]) -> list[bool]:
    """Judge which lines of talk to the NPC are worth nothing later (worker thread).

    Small talk is short: a longer line may hold what somebody asks for. Where no classifier fits the
    embedding model, or the model is away, none is judged so.
    """
    try:
        model = embedder.shared()
        classifier = sentence_classifier.load(model.name, model.dimensions)
        if classifier is None or not lines:
            return [False] * len(lines)
        vectors = model.encode(list(lines), known=True)
    except ModelAway:
        return [False] * len(lines)
    judged = classifier.judge(vectors, [Sentence(each, named=True) for each in lines])
    return [
        each.at_least[0] < NOISE and len(line.split()) <= LONGEST
        for line, each in zip(lines, judged, strict=True)
    ]
