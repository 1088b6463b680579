"""Local time: times are stored in UTC; days such as "tomorrow" are days of TIME_ZONE."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.utils import timezone


def local(moment: str) -> str:
    """Return an ISO 8601 time as TIME_ZONE has it, with its offset; "" for ""."""
    if not moment or settings.TIME_ZONE == "UTC":
        return moment
    here = timezone.get_default_timezone()
    return datetime.fromisoformat(moment).astimezone(here).isoformat(timespec="milliseconds")
