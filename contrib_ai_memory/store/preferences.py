"""What people prefer: key-value, one Attribute each, category `preferences` [C §1.6, DESIGN §3].

The key is the slot that a preference fills, so that a changed one takes the place of the old one,
which moves into its history with the time in which it held. What was whispered has a slot of its
own, for those who heard it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from .. import conf
from . import attributes

CATEGORY = "preferences"
NOBODY = "-"  # in a key, where it is not known whose preference it is
KEY_LENGTH = 180  # of the readable part; an Attribute's key holds 255


@dataclass(frozen=True, slots=True)
class Held:
    """A preference as it once was: `since` and `until` are ISO 8601 UTC."""

    text: str
    memory_id: str
    since: str
    until: str
    journal_id: int | None = None


@dataclass(frozen=True, slots=True)
class Preference:
    """What somebody prefers now, and what they preferred before, oldest first.

    Attributes:
        identity: Memory identity of whose it is; "" where that is not known.
        slot: What it is about.
        text: What was said.
        memory_id: The memory in the store that says so.
        since, seen: When it was first and when it was last said; ISO 8601 UTC.
        journal_id: The journal entry it was said in.
        private, witnesses: Who may hear of it, as with any memory.
        mentions: Slots of what it was compared with.
    """

    identity: str
    slot: str
    text: str
    since: str
    seen: str
    memory_id: str = ""
    journal_id: int | None = None
    private: bool = False
    witnesses: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    history: tuple[Held, ...] = ()

    @property
    def audience(self) -> tuple[str, ...] | None:
        return _audience(self.private, self.witnesses)

    def says(self, text: str) -> bool:
        """Whether `text` says the same, but for capitals, white space and the full stop."""
        return _bare(self.text) == _bare(text)

    def visible_to(self, listeners: Sequence[str] | None) -> bool:
        """Whether all of `listeners` may hear of it; None is a look from outside the game."""
        if not self.private or listeners is None:
            return True
        return bool(listeners) and set(listeners) <= set(self.witnesses)

    def memory_of(self, text: str) -> str | None:
        """The memory that says `text`, of now or else of the latest time that it held."""
        if self.says(text):
            return self.memory_id
        for held in reversed(self.history):
            if _bare(held.text) == _bare(text):
                return held.memory_id
        return None


class Preferences:
    """The preferences that one NPC knows of. Reactor thread only."""

    def __init__(self, owner: Any):
        self._owner = owner

    def set(
        self,
        identity: str,
        slot: str,
        text: str,
        when: str,
        journal_id: int | None = None,
        *,
        memory_id: str = "",
        mentions: Sequence[str] = (),
        private: bool = False,
        witnesses: Sequence[str] = (),
    ) -> Preference:
        """Note what somebody prefers. Said again, only `seen` changes; changed, the old is kept.

        Args:
            identity: Whose it is; "" where that is not known.
            slot: From `english.preferences`; use `slot_for` first where it is a comparison.
            text: The sentence.
            when: ISO 8601 UTC.
            journal_id: The entry it was said in, if it was.
            memory_id: The memory in the store that says so.
            mentions: Slots of what it is compared with.
            private, witnesses: As of the entry.
        """
        known = self.get(identity, slot, _audience(private, witnesses))
        if known and known.says(text):
            now = replace(known, seen=max(known.seen, when))
        else:
            history: tuple[Held, ...] = ()
            if known:
                held = Held(known.text, known.memory_id, known.since, when, known.journal_id)
                history = (*known.history, held)[-conf.PREFERENCE_HISTORY :]
            now = Preference(
                identity=identity,
                slot=slot,
                text=text,
                since=when,
                seen=when,
                memory_id=memory_id,
                journal_id=journal_id,
                private=private,
                witnesses=tuple(sorted(witnesses)) if private else tuple(witnesses),
                mentions=tuple(mentions),
                history=history,
            )
        if now != known:
            self.put(now)
        return now

    def slot_for(
        self,
        identity: str,
        slot: str,
        mentions: Sequence[str],
        audience: tuple[str, ...] | None = None,
    ) -> str:
        """The slot that a statement fills: "coffee to tea" that of "tea to coffee", if known."""
        for other in mentions:
            known = self.get(identity, other, audience)
            if known and slot in known.mentions:
                return other
        return slot

    def get(
        self, identity: str, slot: str, audience: tuple[str, ...] | None = None
    ) -> Preference | None:
        """What `identity` prefers in `slot`; `audience` is None for what anyone may know."""
        plain = attributes.read_json(self._owner, key_of(identity, slot, audience), CATEGORY)
        return from_plain(plain) if plain else None

    def of(self, identity: str, listeners: Sequence[str] | None = None) -> list[Preference]:
        """All that is known of one person's preferences, newest first.

        Args:
            identity: Whose.
            listeners: Who will hear of it; None looks from outside the game.
        """
        prefix = f"{identity or NOBODY}/"[:KEY_LENGTH]
        found = [
            preference
            for preference in map(
                from_plain, attributes.read_all_json(self._owner, CATEGORY, prefix)
            )
            if preference.identity == identity and preference.visible_to(listeners)
        ]
        return sorted(found, key=lambda preference: (preference.since, preference.slot))[::-1]

    def history(
        self, identity: str, slot: str, audience: tuple[str, ...] | None = None
    ) -> tuple[Held, ...]:
        """What was preferred before, oldest first."""
        known = self.get(identity, slot, audience)
        return known.history if known else ()

    def __iter__(self) -> Iterator[Preference]:
        for plain in attributes.read_all_json(self._owner, CATEGORY):
            yield from_plain(plain)

    def forget(self, identity: str) -> int:
        """Forget all preferences of one person. Returns how many that were."""
        doomed = self.of(identity)
        for preference in doomed:
            self.remove(preference)
        return len(doomed)

    def remove(self, preference: Preference) -> None:
        """Forget one preference, with all that was preferred before."""
        key = key_of(preference.identity, preference.slot, preference.audience)
        attributes.remove_json(self._owner, key, CATEGORY)

    def clear(self) -> None:
        self._owner.attributes.clear(category=CATEGORY)

    def put(self, preference: Preference) -> None:
        """Write a preference as it is."""
        plain = {
            name: value
            for name, value in asdict(preference).items()
            if value not in (None, "", (), False)
        }
        key = key_of(preference.identity, preference.slot, preference.audience)
        attributes.write_json(self._owner, key, plain, CATEGORY)


def from_plain(plain: dict[str, Any]) -> Preference:
    """A preference from what is stored of it."""
    return Preference(
        **{
            **plain,
            "identity": plain.get("identity", ""),
            "witnesses": tuple(plain.get("witnesses", ())),
            "mentions": tuple(plain.get("mentions", ())),
            "history": tuple(Held(**held) for held in plain.get("history", ())),
        }
    )


def key_of(identity: str, slot: str, audience: tuple[str, ...] | None) -> str:
    """The Attribute's key. Evennia puts keys in small letters: what that would mix up is told
    apart by a digest."""
    readable = f"{identity or NOBODY}/{slot}"
    if audience is None and readable == readable.lower() and len(readable) <= KEY_LENGTH:
        return readable
    circle = ("*",) if audience is None else ("private", *audience)
    exact = "\x1f".join((identity, slot, *circle))
    digest = hashlib.blake2b(exact.encode(), digest_size=8).hexdigest()
    return f"{readable[:KEY_LENGTH]}/{digest}"


def _audience(private: bool, witnesses: Sequence[str]) -> tuple[str, ...] | None:
    return tuple(sorted(witnesses)) if private else None


def _bare(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!\"'“”’")
