"""Local time: times are stored in UTC; days such as "tomorrow" are days of TIME_ZONE."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime

from django.conf import settings
from django.utils import timezone


def local(moment: str) -> str:
    """Return an ISO 8601 time as TIME_ZONE has it, with its offset; "" for ""."""
    if not moment or settings.TIME_ZONE == "UTC":
        return moment
    here = timezone.get_default_timezone()
    with suppress(OverflowError):  # in the years 1 and 9999, where the local time may not exist
        moment = datetime.fromisoformat(moment).astimezone(here).isoformat(timespec="milliseconds")
    return moment


def day_of(moment: str) -> str:
    """Return the local day of an ISO 8601 time, as "2026-05-09"; "" for ""."""
    return local(moment)[:10]


def date_of(moment: str) -> date:
    """Return the local day of an ISO 8601 time."""
    return date.fromisoformat(day_of(moment))
