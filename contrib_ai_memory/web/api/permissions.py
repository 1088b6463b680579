"""Who may use the API: those who may use the commands.

Evennia's own `EvenniaPermission` lets every player who is logged in through on actions that it does
not know. Here whoever is no staff is refused before a view looks at anything, and each NPC's own
locks are asked where its memory is (`gate.with_mind`).
"""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from .. import bridge, gate


class MayTend(BasePermission):
    """Superusers, staff accounts and Builders."""

    message = "The memories of NPCs are for the staff of the game: it takes the permission Builder."

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user.is_authenticated:
            return False
        try:
            bridge.on_reactor(gate.visitor, request.user.pk)
        except gate.Stranger:
            return False
        return True
