"""Questions about who was there: when something happened, before somebody came, after it.

Which event is meant is a matter of answer selection, by the words of the clause that names it.
"""

from __future__ import annotations

import re

from ..language import PresenceQuestion, Relation

_WHEN = (
    r"(?:wh?en|while|as|after|(?:on |in )?(?:the|that) (?:\w+ )?(?:night|day|evening|time|morning"
    r"|afternoon|moment)(?: (?:that|wh?en))?)"
)
_PLACE = r"(?:in|at|by|on) (?:the|this|that|your|my|our) (?!question|matter)\w+"
_HERE = rf"(?:here|there|around|present|with (?:us|you|me)|inside|{_PLACE}|in)"
_WHO = (
    r"who(?: all| else)*(?: (?:was|were|is|sat|stood)|['’]s) (?:(?!what|when)\w+ ){0,2}?"
    rf"{_HERE}(?: {_HERE})*(?: (?!what)[\w'’]+){{0,3}}?"
)
_WHETHER = rf"(?:was|were) (?P<whom>(?:[\w'’-]+ ){{1,3}}?){_HERE}(?: {_HERE})*(?: [\w'’]+){{0,3}}?"
_HEARD = r"who(?: all| else)* (?:heard?|hears|overheard|witnessed)\b(?: \w+){0,3}?(?: say| tell)?"
_I_CAME = r"i (?:\w+ )?(?:came|come|walked|got|stepped|arrived)(?: (?:in|here|by|back))*"

# (pattern, relation); the first that is found decides
_PATTERNS: tuple[tuple[str, Relation], ...] = (
    (r"\bwho (?:was (?:the )?(?:next|first)(?: one)? to )?(?:come|came|walked|arrived)"
     r"(?: in| here)* (?:right |just )?after (?:me|i\b)", "after"),
    (rf"\b{_WHO} (?:before (?:me|i\b)|{_WHEN} {_I_CAME})", "before"),
    (rf"\b{_WHO},? {_WHEN} (?P<event>.+)", "at"),
    (rf"\b{_WHETHER} {_WHEN} (?P<event>.+)", "at"),
    (rf"\b{_WHEN} (?P<event>.+?),? (?:and )?{_WHO}", "at"),
    (rf"^\W*{_WHEN} (?P<event>.+?),? (?:{_WHETHER}|{_HEARD})", "at"),
    (rf"\b{_HEARD} (?P<event>.+)", "at"),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), relation) for pattern, relation in _PATTERNS)
_FIRST = re.compile(r"\bfirst\b", re.IGNORECASE)
_REST = re.compile(r"\?.*|,? (?:or|and) (?:did|was|were|had|who)\b.*")
_DRESSING = " \t\n.,!?;:…\"'”’()-–—~*"


def read(text: str) -> PresenceQuestion | None:
    """Return what a question asks about presence, or None if it asks for something else.

    Args:
        text: A line without the name of whom it is addressed to.

    >>> read("Was Bram here when Alice lost the bet?")
    PresenceQuestion(event='Alice lost the bet', whom='Bram', relation='at', first=False)
    """
    bare = " ".join(text.split()).strip(_DRESSING)
    for pattern, relation in _COMPILED:
        if found := pattern.search(bare):
            parts = found.groupdict()
            return PresenceQuestion(
                event=_REST.sub("", parts.get("event") or "").strip(_DRESSING),
                whom=(parts.get("whom") or "").strip(_DRESSING),
                relation=relation,
                first=relation != "at" and bool(_FIRST.search(bare)),
            )
    return None
