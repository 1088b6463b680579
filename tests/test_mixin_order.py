"""A typeclass with MemoryMixin behind its base would be deaf in silence: the log says so."""

from __future__ import annotations

import logging

from evennia import DefaultCharacter
from evennia.objects.models import ObjectDB
from evennia.utils.create import create_object

from contrib_ai_memory import MemoryMixin, start

MODULE = """
from evennia import DefaultCharacter
from contrib_ai_memory import MemoryMixin

class Stableboy(DefaultCharacter, MemoryMixin):
    pass
"""


def made():
    return type(DefaultCharacter)(
        "Backwards", (DefaultCharacter, MemoryMixin), {"__module__": __name__}
    )


def test_the_mixin_behind_its_base_is_told_of_when_the_typeclass_is_first_used(logged, tavern):
    backwards = made()
    [said] = logged(logging.ERROR)
    assert "test_mixin_order.Backwards" in said
    assert "class Backwards(MemoryMixin, DefaultCharacter)" in said
    npc = create_object(backwards, key="Odo", location=tavern)
    npc.execute_cmd("say The game goes on.")


def test_the_right_order_is_not_told_of(logged, mara):
    type(DefaultCharacter)("Right", (MemoryMixin, DefaultCharacter), {"__module__": __name__})
    assert logged(logging.ERROR) == []


def test_a_typeclass_that_derives_from_a_wrong_one_is_not_told_of_again(logged, caplog):
    backwards = made()
    assert len(logged(logging.ERROR)) == 1
    caplog.clear()
    type(DefaultCharacter)("Further", (backwards,), {"__module__": __name__})
    assert logged(logging.ERROR) == []


def test_it_is_told_of_at_the_start_for_every_typeclass_that_the_game_uses(
    logged, mara, tmp_path, monkeypatch
):
    (tmp_path / "stables.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    paths = ("stables.Stableboy", "stables.NoMore", "no_module.NPC")
    for number, path in enumerate(paths):
        npc = create_object("typeclasses.npcs.AssistantNPC", key=f"N{number}")
        ObjectDB.objects.filter(id=npc.id).update(db_typeclass_path=path)
    start.check_typeclasses()
    [said] = logged(logging.ERROR)
    assert "stables.Stableboy" in said
    assert "class Stableboy(MemoryMixin, DefaultCharacter)" in said
