"""Errors of the memory store. Each message says what happened and what to do.

Secrets of the settings are redacted, whatever a client wrote into its own error.
"""

from typing import Self

from ..text.redaction import redact


class StoreError(RuntimeError):
    """The memory store cannot be used now."""

    def __init__(self, message: str):
        super().__init__(redact(message))


class StoreInUse(StoreError):
    """Another process holds the store."""


class StoreUnusable(StoreError):
    """The store of the settings cannot be opened."""


class StoreUnreachable(StoreError):
    """The store's server does not answer."""

    def __init__(self, provider: str, error: Exception | str):
        reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        super().__init__(
            f"The memory store ({provider}) does not answer: {reason.strip()}. NPCs go on hearing, "
            "and remember and answer again when it is back. Check that server, or correct "
            'CONTRIB_AI_MEMORY["VECTOR_STORE"].'
        )


class StoreMismatch(StoreError):
    """The store on disk was written by another embedding model, or another version."""

    @classmethod
    def of_size(cls, what: str, theirs: int | None, ours: int) -> Self:
        """The error for a collection (`what`) whose vectors have another length."""
        return cls(
            f"{what} holds vectors of {theirs} numbers, and the embedding model makes {ours}. Name "
            'another collection_name in CONTRIB_AI_MEMORY["VECTOR_STORE"]["config"], or put the '
            'old model back into CONTRIB_AI_MEMORY["EMBEDDING"].'
        )


class StoreClosed(StoreError):
    """The server is stopping: the store takes no more work."""


class StoreHeld(StoreError):
    """The store takes no writes for now; only the journal goes on, and is indexed later."""


class StoreFull(StoreHeld):
    """The disk has too little room."""


class StoreUnpaired(StoreHeld):
    """The store and the game's database are of different generations."""
