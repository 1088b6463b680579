"""Privacy: who may be told something again, and what holds for things drawn from several sources.

Every way out of a memory asks `may_hear`: recall, conversations and the chat log, profiles,
preferences, the agenda, mood. Whether an answer has to be whispered is judged by
`recall.told_secrets` where a language model wrote it; without one, an answer that tells a private
memory is whispered (`recall.reply`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple, Protocol

_MASK = "~mask:"  # between an identity and the digest of a mask


def may_hear(private: bool, witnesses: Iterable[str], listeners: tuple[str, ...] | None) -> bool:
    """Return whether all `listeners` may hear of a memory. None means staff, who see everything."""
    if not private or listeners is None:
        return True
    return bool(listeners) and set(listeners) <= set(witnesses)


class Privacy(NamedTuple):
    """Whether something is private, and the witnesses who may still hear of it."""

    private: bool = False
    witnesses: tuple[str, ...] = ()

    @property
    def audience(self) -> tuple[str, ...] | None:
        """The people who may hear of it; None means anyone."""
        return self.witnesses if self.private else None


class Witnessed(Protocol):
    """Anything with privacy: an entry, a memory, a `Privacy`."""

    @property
    def audience(self) -> tuple[str, ...] | None: ...

    @property
    def witnesses(self) -> tuple[str, ...]: ...


def shared_privacy(sources: Iterable[Witnessed]) -> Privacy:
    """Return the privacy of a memory drawn from several sources.

    It is private if any source is kept to an audience, and witnessed only by people who witnessed
    every source that names witnesses or is kept to some.
    """
    sources = list(sources)
    kept = any(source.audience is not None for source in sources)
    witnessed = [set(s.witnesses) for s in sources if s.witnesses or s.audience is not None]
    shared = set.intersection(*witnessed) if witnessed else set()
    return Privacy(kept, tuple(sorted(shared)))


def masked(identity: str, look: str) -> str:
    """Return the guise of a person behind a mask: the identity and a digest of what is seen.

    Two people behind one mask are two.
    """
    seen = hashlib.blake2b(look.casefold().encode(), digest_size=4).hexdigest()
    return f"{identity}{_MASK}{seen}"


def unmasked(guise: str) -> str:
    """Return the identity of the person behind a guise; an identity is returned as it is."""
    return guise.partition(_MASK)[0]
