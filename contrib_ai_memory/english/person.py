"""What someone says of themselves, told to others: first person to third, first to second.

Rules, not a parser: where they do not reach, the words are quoted instead (see `offline`).
"""

from __future__ import annotations

import re

from . import verbs

_TOKEN = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)*|[^A-Za-z]+")

# verb forms that stay as they are after a name: modals and irregular pasts
_SAME = (
    verbs.IRREGULAR.keys()
    | verbs.SAME_IN_THE_PAST
    | frozenset(
        "can cannot can't could couldn't will would won't wouldn't shall should shouldn't may "
        "might must mustn't had hadn't did didn't was wasn't ought used".split()
    )
)
_IRREGULAR = {"am": "is", "are": "is", "haven't": "hasn't", "don't": "doesn't", "wanna": "wants to"}
_CONTRACTED = {"m": "is", "ve": "has", "ll": "will", "d": "would"}
_ADVERBS = frozenset(
    "always never often also still just really usually only sometimes rarely seldom even once "
    "already almost then now".split()
)


def third_person(text: str, name: str) -> str:
    """First-person talk of `name` as others would tell it: the first mention by name, then they.

    >>> third_person("I keep the ferry, and my brother helps me.", "Alice")
    'Alice keeps the ferry, and their brother helps them.'
    """
    text = _AND_I.sub(r"I and \g<mine>", text.replace("’", "'"))
    tokens = _TOKEN.findall(text)
    out: list[str] = []
    named = False
    verb_of_name = False
    present = False  # the name does something now: "and say" is another thing that it does
    plural = False
    for place, token in enumerate(tokens):
        word, _, clitic = token.partition("'")
        lower = token.lower()
        if word == "I" and (not clitic or clitic.lower() in _CONTRACTED):
            if named:
                out.append("they" + _clitic_of_they(clitic))
                plural = not clitic
            else:
                contracted = _CONTRACTED.get(clitic.lower(), "")
                if contracted == "would" and _is_participle(tokens[place + 2 :]):
                    contracted = "had"
                out.append(f"{name} {contracted}".rstrip())
                verb_of_name = not clitic
                named = True
        elif lower in _FORMS:
            first, later = _FORMS[lower]
            out.append(later if named else first.format(name=name))
            named = True
        elif word.lower() in _OF_US and (not clitic or word.lower() == "we"):
            out.append(_OF_US[word.lower()] + (f"'{clitic}" if clitic else ""))
        elif verb_of_name and token[0].isalpha():
            if lower in ("and", "or"):
                verb_of_name = False  # "Alice and their brother sing"
            elif lower not in _ADVERBS and not lower.endswith("ly"):
                told = _third(token)
                present = told != token
                token, verb_of_name = told, False
            out.append(token)
        elif plural and token[0].isalpha():
            out.append({"am": "are", "was": "were"}.get(lower, token))
            plural = False
        else:
            if lower in ("who", "that") or (lower == "to" and _is_verb(tokens[place + 2 :][:1])):
                present = False
            out.append(verbs.third(token) if present and _goes_on(tokens, place) else token)
    return capital("".join(out))


def _is_participle(rest: list[str]) -> bool:
    """Whether "I'd" is "I had": "I'd been", "I'd always wanted"; and not "I'd like"."""
    words = [
        token.lower() for token in rest if token[0].isalpha() and token.lower() not in _ADVERBS
    ]
    return bool(words) and (verbs.is_participle(words[0]) or words[0] == "better")


def _is_verb(tokens: list[str]) -> bool:
    return bool(tokens) and tokens[0].lower() in verbs.BASES


def _goes_on(tokens: list[str], place: int) -> bool:
    """Whether a word is one more verb of the same subject: "keep sheep and sell the wool"."""
    before = [token.lower() for token in tokens[:place] if token[0].isalpha()][-1:]
    after = tokens[place + 1 : place + 3]
    beside = not after or not after[0].isspace() or after[-1].lower() in _AFTER_A_VERB
    return tokens[place].lower() in verbs.BASES and before in (["and"], ["or"]) and beside


def second_person(text: str) -> str:
    """First-person talk given back to the one who said it.

    >>> second_person("I am tired and my feet hurt me.")
    'you are tired and your feet hurt you.'
    """
    out: list[str] = []
    after_i = False
    for token in _TOKEN.findall(text.replace("’", "'")):
        word, _, clitic = token.partition("'")
        lower = token.lower()
        if word == "I" and (not clitic or clitic.lower() in _CONTRACTED):
            out.append("you" + {"": "", "m": "'re"}.get(clitic.lower(), f"'{clitic}"))
            after_i = not clitic
        elif lower in _SECOND:
            out.append(_SECOND[lower])
        elif after_i and token[0].isalpha():
            out.append({"am": "are", "was": "were", "wasn't": "weren't"}.get(lower, token))
            after_i = False
        else:
            out.append(token)
    return "".join(out)


def speaks_of_self(text: str) -> bool:
    """Whether the speaker is the subject: the text begins with I, my, or we and the like."""
    return bool(re.match(r"(?:I\b|my\b|mine\b|me\b|myself\b)", text, re.IGNORECASE))


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_FORMS = {
    "my": ("{name}'s", "their"),
    "mine": ("{name}'s", "theirs"),
    "me": ("{name}", "them"),
    "myself": ("{name}", "themselves"),
}
_OF_US = {
    "we": "they",
    "us": "them",
    "our": "their",
    "ours": "theirs",
    "ourselves": "themselves",
}
_AND_I = re.compile(r"^(?P<mine>[Mm]y [\w-]+(?: [\w-]+)?) and I\b")
_AFTER_A_VERB = frozenset(
    "a an the my your his her its our their this that these those it him them me us in on at to "
    "for from with up out off over about away down back all some".split()
)
_SECOND = {"my": "your", "mine": "yours", "me": "you", "myself": "yourself"}


def _clitic_of_they(clitic: str) -> str:
    return {"": "", "m": " are"}.get(clitic.lower(), f"'{clitic}")


def _third(verb: str) -> str:
    lower = verb.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    return verb if lower in _SAME or verbs.is_past(verb) else verbs.third(verb)
