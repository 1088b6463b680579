"""Errors that are expected: what they say is written for players, builders and operators."""

from __future__ import annotations


class ExpectedError(Exception):
    """Something cannot be done. The message says what happened and what to do."""


class InputError(ExpectedError, ValueError):
    """What was given cannot be used, or is not there."""
