"""Runs once, when the game database is new: the tavern is built."""

from world import tavern


def at_initial_setup() -> None:
    tavern.build()
