"""Agenda sentences: what an NPC says of an agenda item to somebody, or in its prompt.

Each sentence quotes the line that states the item.
"""

from __future__ import annotations

import re
from datetime import date

from ..language import Teller
from ..local_time import date_of, day_of, local
from ..offline.realisation import ended
from ..offline.told_days import dated, day_told
from ..records import AgendaItem, Entry
from ..text.sanitising import oneline
from .addressing import without_address
from .commitments import creditor, message, owed
from .due_dates import due
from .reported_speech import capital, second_person
from .tokens import is_past

_PRONOUN = re.compile(r"\b(?:he|she|him|her|his|hers)\b", re.IGNORECASE)


def quoted(item: AgendaItem, teller: Teller, *, message: bool) -> str:
    """Return the words that state an item; of a message, what it says."""
    return _Telling(teller, message=message).words(item)


def told(item: AgendaItem, stating: Entry, teller: Teller, *, message: bool, noted: bool) -> str:
    """Say an item, as `language.AgendaLanguage.told`."""
    return (_Noting if noted else _Telling)(teller, message=message).sentence(item, stating)


def _of_the_debtor(what: str, who: str) -> str:
    """Tell what somebody owes for: "for a jug he broke" is "a jug you broke", if that is clear."""
    one = _PRONOUN.findall(what)
    told = {"You": "you", "I": "I"}.get(who)
    found = re.search(r"\b(?:he|she) (?P<did>\w+)", what, re.IGNORECASE)
    if told is None or found is None or len(one) > 1 or not is_past(found["did"]):
        return what
    if found["did"] in ("was", "had"):
        return what
    return f"{what[: found.start()]}{told} {what[found.start('did') :]}"


class _Telling:
    """Sentences for the speaker of a line, who is "you"; the NPC is "I"."""

    def __init__(self, teller: Teller, *, message: bool):
        self._is_message = message
        self._asker = teller.asker or None
        self._own = teller.own
        self._called = teller.called
        self._name_of = teller.name_of
        self._now = teller.now
        self._today = date_of(teller.now)

    def sentence(self, item: AgendaItem, stating: Entry) -> str:
        """Say an item: whose it is, when and in which words it was said, and when it is due.

        Args:
            stating: The line that states it.
        """
        when = self._when(stating.timestamp)
        if item.told:
            then, now = (due(item.told, local(at)) for at in (stating.timestamp, self._now))
            said = "" if then == now else f"{capital(when)}: "  # "tomorrow" was so then
            return f"{said}{ended(oneline(item.told))}{self._due(item)}"
        who, to = self._subject(item.who), self._object(item.to)
        teller = self._subject(stating.source_entity or "")
        quote, falls_due = f'"{self.words(item)}"', self._due(item)
        if item.kind == "promise" and item.who == stating.source_entity:
            head = " ".join(filter(None, [who, "promised", to, when]))
        elif self._is_message:
            head = f"{teller} left word for {self._object(self._asker or '')} {when}"
        elif item.kind == "request":
            head = " ".join(filter(None, [teller, "asked", self._object(item.who), when]))
        elif (
            item.kind == "debt"
            and item.who
            and (to := to or self._stranger(item, stating))
            and (what := owed(item.text))
        ):
            owes = "owe" if who in ("You", "I") else "owes"
            if item.who != stating.source_entity:  # "he owes me four crowns for a cup he broke"
                what = _of_the_debtor(what, who)
            head = f"{who} {owes} {to} {what}{self._until(item)}. {teller} said {when}"
            falls_due = falls_due if self._is_past(item.due) else ""  # it is told once
        else:
            head = f"{teller} said {when}"
        return f"{head}: {quote}{falls_due}"

    def words(self, item: AgendaItem) -> str:
        """Return the words that state an item; of a message, what it says."""
        said = oneline(without_address(item.text, self._called))
        return capital(ended(message(said) if self._is_message else said))

    def _subject(self, identity: str) -> str:
        if identity == self._own:
            return "I"
        if identity == self._asker:
            return "You"
        return self._name_of(identity) or "Somebody"

    def _object(self, identity: str) -> str:
        if not identity:
            return ""
        if identity == self._own:
            return "me"
        return "you" if identity == self._asker else self._name_of(identity)

    def _stranger(self, item: AgendaItem, stating: Entry) -> str:
        """Name somebody unknown whom a debt is owed to: "the miller"."""
        named = creditor(item.text)
        if re.match(r"(?:my|our|his|her|their)\b", named, re.IGNORECASE):
            return second_person(named) if stating.source_entity == self._asker else ""
        return named

    def _until(self, item: AgendaItem) -> str:
        if not item.due or self._is_past(item.due):
            return ""
        return f", by {self._near(item.due)}"

    def _is_past(self, day: str) -> bool:
        return bool(day) and date.fromisoformat(day) < self._today

    def _near(self, day: str) -> str:
        """Name a day to come: "tomorrow, Friday, 6 March"."""
        ahead = (date.fromisoformat(day) - self._today).days
        return {0: "today, ", 1: "tomorrow, "}.get(ahead, "") + self._date(day)

    def _due(self, item: AgendaItem) -> str:
        """Say when it is due, "" without a date."""
        if not item.due:
            return ""
        verb = "was" if self._is_past(item.due) else "is"
        named = self._near(item.due)
        on = named if named.startswith("to") else f"on {named}"
        return f" That {verb} {'' if item.kind == 'plan' else 'due '}{on}."

    def _when(self, time: str) -> str:
        return day_told(time, self._now)

    def _date(self, day: str) -> str:
        return dated(date.fromisoformat(day), self._today)


class _Noting(_Telling):
    """The same sentences for a prompt: the NPC is "you", the speaker goes by name.

    Days are told as in the memory block, by ISO dates.
    """

    def _when(self, time: str) -> str:
        return f"on {day_of(time)}"

    def _date(self, day: str) -> str:
        return day

    def _subject(self, identity: str) -> str:
        if identity == self._own:
            return "You"
        return self._name_of(identity) or "Somebody"

    def _object(self, identity: str) -> str:
        return "you" if identity == self._own else self._name_of(identity)
