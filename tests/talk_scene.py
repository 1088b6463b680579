"""What tests of talk share: Alice and Bram in turn before Mara, and her agenda."""

MONDAY = "2026-11-23T12:00:00+00:00"


def turn(alice, bram):
    """Bram comes in for Alice."""
    bram.location, alice.location = alice.location, None


def states(mara):
    return {item.text[:20]: item.state for item in mara.memory.agenda}
