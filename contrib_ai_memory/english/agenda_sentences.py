"""Agenda sentences: what an NPC says of an agenda item to somebody, or in its prompt.

Each sentence quotes the line that states the item.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from ..language import Teller
from ..local_time import date_of, day_of, local
from ..offline.matter import sums_in
from ..offline.realisation import ended, names_addressee, to_the_point, with_capitals
from ..offline.told_days import dated, day_told
from ..records import AgendaItem, Entry
from ..text.sanitising import oneline
from .addressing import without_address
from .commitments import creditor, leaves_rest, owes
from .commitments import message as message_in
from .due_dates import due
from .reported_speech import after_that, capital, of_speaker, second_person
from .tokens import FILLERS, FUNCTION_WORDS, content_words

# of a promise, which is told as one
_SWORN = re.compile(
    r"you (?:do )?(?:promised?|swear|swore|vow(?:ed)?)(?: me| (?P<whom>[\w'-]+))??,?(?: that)?"
    r"(?= (?:to|you'll|you will|you would|you'd) )"
)
# "tell Jex that his parcel is here"
_THEIRS = re.compile(r"^(?:h|['’])(?P<whose>is|er)(?= [a-z])", re.IGNORECASE)
_OF_THEM = {
    each: re.compile(rf"(?<![\w'’])(?:h|['’]){form}(?![\w'’])(?: (?P<on>\w+))?", re.IGNORECASE)
    for each, form in (("is", "i[sm]"), ("er", "er"))
}
_THEM = re.compile(  # "my brother waits for him"; not "lost her ring"
    rf"(?<![\w'’])(?:him|her(?= (?:{'|'.join(sorted(FUNCTION_WORDS))})\b|\W*$))(?![\w'’])"
    r"(?: (?P<on>\w+))?",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"[,;:.!?] |\b(?:and|but|that|s?he|who)\b", re.IGNORECASE)
_OTHERS = re.compile(r"[a-z,] [A-Z][a-z]")  # somebody else may be meant
_YOU = re.compile(r"\b(?:you|your|yours|u|ur|ye|yer|ya|yourself)\b", re.IGNORECASE)


def quoted(item: AgendaItem, teller: Teller, *, message: bool) -> str:
    """Return the words that state an item; of a message, what it says."""
    if message:
        said = message_in(oneline(without_address(item.text, teller.called)))
        return capital(ended(_to_them(said)))
    return capital(ended(oneline(to_the_point(item.text, teller.called))))


def _to_them(said: str) -> str:
    """Tell a message to whom it is for: "his wife seeks him" as "your wife seeks you"."""
    found = _THEIRS.match(said)
    rest = said[found.end() :] if found else said
    if not _OTHERS.search(rest) and (found or not _SEVERAL.search(rest)):
        rest = (_OF_THEM[found["whose"].lower()] if found else _THEM).sub(_as_you, rest)
    return f"your{rest}" if found else rest


def _as_you(found: re.Match[str]) -> str:
    on, word = found["on"] or "", found[0].split()[0].lower()
    owns = word.endswith("is") or (word.endswith("er") and on and on.lower() not in FUNCTION_WORDS)
    return f"{'your' if owns else 'you'} {on}".strip()


def told(item: AgendaItem, stating: Entry, teller: Teller, *, message: bool, noted: bool) -> str:
    """Say an item, as `language.AgendaLanguage.told`."""
    naming = _Naming(teller, noted)
    when, falls_due = naming.when(stating.timestamp), naming.falls_due(item)
    if item.told:
        then, now = (due(item.told, local(at)) for at in (stating.timestamp, teller.now))
        said = "" if then == now else f"{capital(when)}: "  # "tomorrow" was so then
        return f"{said}{ended(oneline(item.told))}{falls_due}"
    who, to = naming.subject(item.who), naming.object(item.to)
    speaker, asked = naming.subject(stating.source_entity or ""), item.kind == "request"
    quote = quoted(item, teller, message=message)
    if item.kind == "promise" and item.who == stating.source_entity:
        head = f"{who} promised {to}"
    elif message:
        left = "a question" if quote.startswith(("Whether ", "If ")) else "word"
        head = f"{speaker} left {left} for {naming.object(teller.asker)}"
    elif asked:
        head = f"{speaker} asked {naming.object(item.who)}"
    else:
        head = f"{speaker} said"
    stranger = second_person(creditor(item.text)) if speaker == "You" else creditor(item.text)
    owed, owed_to = () if leaves_rest(item.text) else sums_in(item.text), to or stranger
    sides = [*filter(None, map(teller.name_of, (item.to, item.who)))]
    own = stating.source_entity == teller.asker and not (noted or message or asked)
    if item.to not in ("", teller.own) or names_addressee(quote, sides):
        own = own and not _YOU.search(quote)  # which is somebody else
    reported = with_capitals(after_that(quote), sides) if own else ""
    if item.kind == "debt" and item.who and owed and owed_to and owes(item.text):
        verb = "owe" if who in ("You", "I") else "owes"
        sum_owed = f"{who} {verb} {owed_to} {owed[0]}."
        if reported and not content_words(reported) - content_words(sum_owed) - FILLERS:
            return sum_owed + falls_due
        if not (reported or message or noted or speaker in ("You", "I")):
            to_teller = item.to == teller.own
            reported = with_capitals(of_speaker(quote, speaker, to_teller=to_teller), sides)
        states = capital(reported).startswith(f"{who} {verb} {owed_to} ")
        if states and owed[0].split()[0] in reported:
            return capital(reported) + falls_due
        head = f"{sum_owed} {head}"
    told = f': "{quote}"'
    if sworn := _SWORN.match(reported):
        rest = reported[sworn.end() :].strip()
        head = head if to or not sworn["whom"] else f"{head.rstrip()} {sworn['whom']}"
        told = f" {rest}" if rest.startswith("to ") else f" that {rest}"
    elif reported:
        told = f" that {reported}"
    return f"{' '.join(head.split())} {when}{told}{falls_due}"


@dataclass(frozen=True)
class _Naming:
    """How people and days are named: to the asker, who is "you"; in a prompt the NPC is "you",
    the asker goes by name, and days are ISO dates."""

    teller: Teller
    noted: bool

    def subject(self, identity: str) -> str:
        if identity == self.teller.own:
            return "You" if self.noted else "I"
        if identity == self.teller.asker and identity and not self.noted:
            return "You"
        return self.teller.name_of(identity) or "Somebody"

    def object(self, identity: str) -> str:
        named = self.subject(identity) if identity else ""
        return {"I": "me", "You": "you"}.get(named, self.teller.name_of(identity))

    def when(self, time: str) -> str:
        return f"on {day_of(time)}" if self.noted else day_told(time, self.teller.now)

    def falls_due(self, item: AgendaItem) -> str:
        """Say when it is due ("That is due tomorrow, Friday, 6 March."), "" without a date."""
        if not item.due:
            return ""
        day, today = date.fromisoformat(item.due), date_of(self.teller.now)
        near = {0: "today, ", 1: "tomorrow, "}.get((day - today).days, "on ")
        verb = "was" if day < today else "is"
        named = item.due if self.noted else dated(day, today)
        return f" That {verb} {'' if item.kind == 'plan' else 'due '}{near}{named}."
