"""What someone says of themselves, told to others: first person to third, first to second.

Rules, not a parser: where they do not reach, the words are quoted instead (see `offline`).
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)*|[^A-Za-z]+")

# verb forms that stay as they are after a name: modals and irregular pasts
_SAME = frozenset(
    "can cannot can't could couldn't will would won't wouldn't shall should shouldn't may "
    "might must mustn't had hadn't did didn't was wasn't ought need became began bent bet bit "
    "bled blew bought bound bred broke brought built burnt came caught chose clung cost crept "
    "cut dealt drank dreamt drew drove dug ate fed fell felt fled flew forbade forgave forgot "
    "fought found froze gave got grew heard held hid hit hurt kept knelt knew laid lay learnt "
    "led left lent let lit lost made meant met paid put quit ran rang read rode rose said sang "
    "sank sat saw sent set shone shook shot shut slept slid slung sold sought spat spent spilt "
    "spoke sprang stole stood struck stuck stung swam swept swore swung taught thought threw "
    "told took tore trod understood went wept woke won wore wound wove wrote".split()
)
_IRREGULAR = {
    "am": "is",
    "are": "is",
    "have": "has",
    "haven't": "hasn't",
    "do": "does",
    "don't": "doesn't",
    "go": "goes",
}
_CONTRACTED = {"m": "is", "ve": "has", "ll": "will", "d": "would"}
_BASE_IN_ED = frozenset("need feed seed heed speed bleed breed weed succeed proceed exceed".split())
_ADVERBS = frozenset(
    "always never often also still just really usually only sometimes rarely seldom even once "
    "already almost then now".split()
)


def third_person(text: str, name: str) -> str:
    """First-person talk of `name` as others would tell it: the first mention by name, then they.

    >>> third_person("I keep the ferry, and my brother helps me.", "Alice")
    'Alice keeps the ferry, and their brother helps them.'
    """
    out: list[str] = []
    named = False
    verb_of_name = False
    plural = False
    for token in _TOKEN.findall(text.replace("’", "'")):
        word, _, clitic = token.partition("'")
        lower = token.lower()
        if word == "I" and (not clitic or clitic.lower() in _CONTRACTED):
            if named:
                out.append("they" + _clitic_of_they(clitic))
                plural = not clitic
            else:
                contracted = _CONTRACTED.get(clitic.lower(), "")
                out.append(f"{name} {contracted}".rstrip())
                verb_of_name = not clitic
                named = True
        elif lower in _FORMS:
            first, later = _FORMS[lower]
            out.append(later if named else first.format(name=name))
            named = True
        elif verb_of_name and token[0].isalpha():
            if lower not in _ADVERBS and not lower.endswith("ly"):
                token = _third(token)
                verb_of_name = False
            out.append(token)
        elif plural and token[0].isalpha():
            out.append({"am": "are", "was": "were"}.get(lower, token))
            plural = False
        else:
            out.append(token)
    return capital("".join(out))


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
_SECOND = {"my": "your", "mine": "yours", "me": "you", "myself": "yourself"}


def _clitic_of_they(clitic: str) -> str:
    return {"": "", "m": " are"}.get(clitic.lower(), f"'{clitic}")


def _third(verb: str) -> str:
    lower = verb.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    past = lower.endswith("ed") and len(lower) > 4 and lower not in _BASE_IN_ED
    if lower in _SAME or past:
        return verb
    if re.search(r"(?:s|x|z|ch|sh|o)$", lower):
        return verb + "es"
    if re.search(r"[^aeiou]y$", lower):
        return verb[:-1] + "ies"
    return verb + "s"
