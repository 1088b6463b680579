"""Why the store cannot be used. Each message says what happened and what to do."""


class StoreError(RuntimeError):
    """The memory store cannot be used now."""


class StoreInUse(StoreError):
    """Another process holds the store."""


class StoreUnusable(StoreError):
    """The settings name a store that cannot be made."""


class StoreMismatch(StoreError):
    """The store on disk was written by another embedding model, or another version."""


class StoreClosed(StoreError):
    """The server is stopping: the store takes no more work."""


class StoreHeld(StoreError):
    """The store takes no writes for now: the journal alone goes on, and the rest follows later."""


class StoreFull(StoreHeld):
    """The disk has too little room."""


class StoreUnpaired(StoreHeld):
    """The store and the game's database are of different times."""
