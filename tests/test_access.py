"""Who may look into, edit and erase a memory, and what the audit log says."""

import pytest
from spent_day import entry_of

from contrib_ai_memory import offload
from contrib_ai_memory.admin import access, edit, forget

wait = offload.wait


@pytest.fixture
def as_perm(tavern):
    from evennia.utils.create import create_object

    def make(perm):
        made = create_object("typeclasses.characters.Character", key=perm or "Player")
        if perm:
            made.permissions.add(perm)
        return made

    return make


@pytest.mark.parametrize(
    ("perm", "deeds"),
    [
        ("", ()),
        ("Helper", ()),
        ("Builder", ("look", "edit")),
        ("Admin", ("look", "edit", "erase")),
        ("Developer", ("look", "edit", "erase")),
    ],
)
def test_builders_look_and_edit_and_admins_erase(mara, as_perm, perm, deeds):
    who = as_perm(perm)
    assert tuple(d for d in ("look", "edit", "erase") if access.may(who, mara, d)) == deeds
    assert not access.may(None, mara, "look")


def test_an_npcs_own_lock_keeps_builders_out(mara, as_perm):
    who = as_perm("Builder")
    mara.locks.add("memory_edit:perm(Admin)")
    assert access.may(who, mara, "look") and not access.may(who, mara, "edit")
    assert access.may(as_perm("Admin"), mara, "edit")


@pytest.mark.parametrize("deed", ["edit", "erase"])
def test_whoever_may_not_look_changes_nothing_either(mara, as_perm, deed):
    who = as_perm("Admin")
    mara.locks.add("memory_look:perm(Developer)")
    assert not access.may(who, mara, deed)
    assert access.may(as_perm("Developer"), mara, deed)


def test_each_act_is_in_the_audit_log_without_what_it_says(day, alice, monkeypatch):
    from evennia.utils import logger

    lines = []
    monkeypatch.setattr(logger, "log_sec", lines.append)
    entry = entry_of(day, "silver key")
    wait(edit.edit(day, alice, str(entry.id), content="I hide a golden key."))
    wait(forget.forget(day, alice, str(entry.id)))
    wait(edit.undo(day, alice))
    edit.pause(day, alice)
    assert len(lines) == 4
    assert f"Alice (#{alice.id}): edit Mara (#{day.id}): {entry.id}" in lines[0]
    assert not any("key" in line for line in lines)
