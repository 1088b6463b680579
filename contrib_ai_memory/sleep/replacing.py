"""What holds one thing at a time, and now holds another: where somebody lives, who the reeve is.

Two names in one place are no contradiction (who has a brother in Wick may have one in Elmstead).
They are where the later statement says that it is so *now*, of what can be one thing only.
"""

from __future__ import annotations

import re

from ..text.sameness import negated, times

_NOW = re.compile(
    r"\b(?:now|nowadays|these days|from now on|currently|at present|instead)\b", re.IGNORECASE
)
_BESIDE = re.compile(r"\b(?:also|too|as well|still|both|another|sometimes|often)\b", re.IGNORECASE)
_WHO = r"^(?P<who>[\w'’-]+?(?: [\w'’-]+){0,4}?)"
_AM = r"(?:['’](?:m|s|re|ve)| am| is| are| have| has)?(?: been)?"
_PLACE = re.compile(
    _WHO + _AM + r" (?:(?P<home>liv|dwell|resid)|work|serv)(?:es?|s|ing)?"
    r"(?: with(?: [\w'’-]+){1,3}?)? (?:in|at|on) (?P<what>.+)$",
    re.IGNORECASE,
)
_MOVED = re.compile(
    _WHO + r"(?: have| has|['’]ve|['’]s)? moved (?:house |back |away ){0,2}to (?P<what>.+)$",
    re.IGNORECASE,
)
_HOLDER = re.compile(
    r"^(?P<who>(?:the|my|our|his|her|their) [\w'’-]+(?: [\w'’-]+){0,4}?) (?:is|are)"
    r" (?:called |named )?(?P<what>.+)$",
    re.IGNORECASE,
)
_NAMED = re.compile(r"^(?:(?:the|old|young|master|mistress) )?(?P<name>[A-Z][\w'’-]+)")
_COMMON = re.compile(r"^(?:the|a|an|my|our|his|her|their) (?P<name>[a-z][\w'’-]+)", re.IGNORECASE)


def replaces(new: str, known: str) -> bool:
    """Whether `new` says what took the place of `known`: of one subject, as it is now.

    >>> replaces("I live in Harbourtown now.", "I live in Wick.")
    True
    >>> replaces("I live in Harbourtown.", "I live in Wick.")
    False
    """
    after, before = _held(new), _held(known)
    if after is None or before is None or after[:2] != before[:2] or times(new) != times(known):
        return False
    if _BESIDE.search(new) or negated(new) or negated(known):
        return False
    changed = _NOW.search(new) or _MOVED.match(new)
    return bool(changed) and after[2] != before[2] and after[2] not in known.lower()


def _held(text: str) -> tuple[str, str, str] | None:
    """Whose, which kind of thing, and what it is; None where it is not of one thing at a time."""
    flat = " ".join(_NOW.sub(" ", text).split()).strip(".,!? ")
    for kind, rule in (("home", _MOVED), ("place", _PLACE), ("holder", _HOLDER)):
        found = rule.match(flat)
        if found is None:
            continue
        if kind == "place":
            kind = "home" if found["home"] else "work"
        name = _NAMED.match(found["what"])
        if name is None and kind == "work":
            name = _COMMON.match(found["what"])
        return (found["who"].lower(), kind, name["name"].lower()) if name else None
    return None
