"""Questions about who was there: when something happened, before somebody came, after it.

Rules on words as players type them. Which event is meant is a matter of answer selection, by the
words of the clause that names it.
"""

from __future__ import annotations

import re

from ..language import PresenceQuestion, Relation

_WHEN = (
    r"(?:wh?en|while|whilst|as|after|(?:on |in )?(?:the|that) (?:\w+ )?(?:night|nite|day|evening"
    r"|eve|time|morning|afternoon|moment)(?: (?:that|wh?en))?)"
)
_SOME_PLACE = r"(?:in|at|by|round|on) (?:the|this|that|your|ur|my|our) (?!question|matter)\w+"
_HERE = rf"(?:here|there|around|present|about|with (?:us|you|u|me)|inside|{_SOME_PLACE}|in)"
_IN = r"(?:(?:all|else|already|still|also|sitting|standing|out|up|over|back|in|down) )*"
_WHO = (
    rf"who(?: all| else)*(?: (?:was|were|is|sat|stood)|['’]s) {_IN}{_HERE}(?: {_HERE})*"
    r"(?: (?!what)[\w'’]+){0,3}?"
)
_HEARD = r"who(?: all| else)* (?:heard?|hears|overheard|witnessed)\b(?: \w+){0,3}?(?: say| tell)?"
_WHETHER = (
    rf"(?:was|were) (?P<whom>(?:[\w'’-]+ ){{1,3}}?){_IN}{_HERE}(?: {_HERE})*(?: [\w'’]+){{0,3}}?"
)
_I_CAME = (
    r"i (?:\w+ )?(?:came|come|walked|got|stepped|arrived|entered|turned up)"
    r"(?: (?:in|here|by|back))*"
)

# (pattern, relation); the first that is found decides
_PATTERNS: tuple[tuple[str, Relation], ...] = (
    (r"\bwho (?:was (?:the )?(?:next|first)(?: one)? to|next)?\s*(?:come|came|walk(?:ed)?|arrived?"
     r"|turned up)(?: (?:in|by|here))* (?:right |just |straight )?after (?:me|i\b)", "after"),
    (rf"\b{_WHO} (?:before (?:me|i\b)|(?:already )?{_WHEN} {_I_CAME})", "before"),
    (rf"\b{_WHO},? (?:already )?{_WHEN} (?P<event>.+)", "at"),
    (rf"(?:^|\b){_WHEN} (?P<event>.+?),? (?:and )?{_WHO}", "at"),
    (rf"\b{_WHETHER} {_WHEN} (?P<event>.+)", "at"),
    (rf"^\W*{_WHEN} (?P<event>.+?),? {_WHETHER}", "at"),
    (rf"^\W*{_WHEN} (?P<event>.+?),? {_HEARD}", "at"),
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
