"""A memory belongs to one body: copies begin empty by whatever road, deletion takes its own."""

from __future__ import annotations

import pytest
from django.contrib.contenttypes.models import ContentType
from django.urls import reverse
from evennia.objects.models import ObjectDB
from evennia.prototypes import prototypes, spawner
from evennia.scripts.models import ScriptDB
from evennia.typeclasses.attributes import Attribute
from evennia.utils.create import create_account, create_object
from evennia.utils.search import search_object

from contrib_ai_memory import deletion, offload
from contrib_ai_memory.admin import archive, doctor, game_npcs
from contrib_ai_memory.script import KEY
from contrib_ai_memory.store import attributes, memory_store, owner
from typeclasses.npcs import AssistantNPC

SECRET = "silver key"


class Seeded(AssistantNPC):
    """A game's own typeclass that gives its NPCs something to remember when they are made."""

    def at_object_creation(self):
        super().at_object_creation()
        self.memory.add("I was born in Elmstead.")


@pytest.fixture
def talked(mara, alice, bram):
    """An NPC with a whisper, facts, links, a profile, a preference and a night behind it."""
    for who, line in (
        (alice, "say I keep the ferry at Millbrook."),
        (alice, "say I prefer tea."),
        (bram, "say Wolves took two of my sheep near Harrow Hill."),
        (alice, "whisper Mara = I hide a silver key in Elmstead."),
        (bram, "say My sheep graze in the north field."),
    ):
        who.execute_cmd(line)
    offload.wait(mara.assistant.sleep.whole_night())
    mara.memory.flush()
    return mara


@pytest.fixture
def spoken(mara, alice):
    """An NPC with a whisper in its journal and in the store."""
    alice.execute_cmd("whisper Mara = I hide a silver key in Elmstead.")
    offload.wait(mara.memory.index_pending())
    mara.memory.flush()
    return mara


@pytest.fixture
def admin(types_as, tavern, settings):
    settings.DEFAULT_HOME = tavern.dbref  # which nobody may destroy
    return types_as("Admin", "Admin")


def found(name):
    [obj] = search_object(name, exact=True)
    return obj


def rows_of(obj):
    """Keys, values and categories of all Attributes, as they lie in the database."""
    return [
        (row.db_key, row.db_category, row.db_value, row.db_strvalue)
        for row in Attribute.objects.filter(objectdb=obj)
    ]


def typed_copy(mara, admin):
    admin("copy Mara = Marabelle")
    return found("Marabelle")


def typed_copy_without_a_name(mara, admin):
    admin("copy Mara")
    return found("Mara_copy")


def copy_object(mara, admin):
    return ObjectDB.objects.copy_object(mara, new_key="Marabelle")


def own_copy(mara, admin):
    return mara.copy(new_key="Marabelle")


def spawned(mara, admin):
    prototype = spawner.prototype_from_object(mara) | {"prototype_key": "innkeeper"}
    prototype["key"] = "Marabelle"
    prototypes.save_prototype(prototype)
    admin("spawn innkeeper")
    return found("Marabelle")


def spawned_of_an_old_prototype(mara, admin):
    """As prototypes were that earlier versions made: with every Attribute."""
    prototype = spawner.prototype_from_object(mara) | {"prototype_key": "innkeeper"}
    rows = [(a.key, a.value, a.category, "") for a in mara.db_attributes.all()]
    [body] = spawner.spawn(prototype | {"key": "Marabelle", "attrs": rows})
    return body


def cloned_rows(mara, admin):
    """Row by row in the database, texts of JSON Attributes included."""
    body = create_object("typeclasses.npcs.AssistantNPC", key="Marabelle", location=mara.location)
    return clone_rows(mara, body)


def clone_rows(mara, body, left_out=()):
    for row in list(mara.db_attributes.exclude(db_key__in=left_out)):
        twin = Attribute(
            db_key=row.db_key,
            db_category=row.db_category,
            db_value=row.db_value,
            db_strvalue=row.db_strvalue,
            db_model=row.db_model,
            db_lock_storage=row.db_lock_storage,
        )
        twin.save()
        body.db_attributes.add(twin)
    body.attributes.reset_cache()
    return body


def cloned_id_alone(mara, admin):
    body = create_object("typeclasses.npcs.AssistantNPC", key="Marabelle", location=mara.location)
    body.attributes.add("memory_id", mara.memory.id)
    return body


ROADS = [
    typed_copy,
    typed_copy_without_a_name,
    copy_object,
    own_copy,
    spawned,
    spawned_of_an_old_prototype,
    cloned_rows,
    cloned_id_alone,
]


def told(npc, query, **options):
    result = offload.wait(npc.memory.recall(query, **options))
    return [item.memory.content for item in result.memories]


def assert_empty(npc):
    memory = npc.memory
    assert len(memory.journal) == 0
    assert list(memory.journal.read()) == []
    assert len(memory.people) == 0
    assert len(memory.profiles) == 0
    assert list(memory.preferences) == []
    assert list(memory.links.ids_in(range(2048))) == []
    assert memory.links.count == 0
    assert attributes.read(npc, "working_memory") in (None, {})
    assert npc.assistant.sleep.records == []
    assert not attributes.read(npc.assistant, "conversation_history")
    assert told(npc, "Where is the silver key?") == []


@pytest.mark.parametrize("road", ROADS)
def test_a_copy_begins_with_an_empty_memory_of_its_own(talked, admin, road):
    whole = memory_store.shared().counts(talked.memory.id)
    body = road(talked, admin)
    assert body.memory.id != talked.memory.id
    assert_empty(body)
    assert not any(SECRET in f"{row}" for row in rows_of(body))
    assert any(SECRET in text for text in told(talked, "Where is the silver key?"))
    assert memory_store.shared().counts(talked.memory.id) == whole


@pytest.mark.parametrize("road", [typed_copy, spawned_of_an_old_prototype])
def test_a_copy_holds_nothing_of_its_original_before_anybody_looks_at_it(talked, admin, road):
    body = road(talked, admin)
    assert not any(SECRET in f"{row}" for row in rows_of(body))


def test_a_prototype_of_an_npc_holds_nothing_of_its_memory(spoken):
    assert SECRET not in f"{spawner.prototype_from_object(spoken)}"
    assert "persona" in f"{spawner.prototype_from_object(_with_persona(spoken))}"


def _with_persona(npc):
    npc.db.persona = "A warm soul."
    return npc


@pytest.mark.parametrize("road", [typed_copy, spawned_of_an_old_prototype, cloned_rows])
def test_destroying_a_copy_leaves_the_original_whole(talked, admin, road):
    whole = memory_store.shared().counts(talked.memory.id)
    body = road(talked, admin)
    admin(f"destroy/force {body.dbref}")
    assert not ObjectDB.objects.filter(db_key=body.key).exists()
    assert memory_store.shared().counts(talked.memory.id) == whole
    assert any(SECRET in text for text in told(talked, "Where is the silver key?"))


@pytest.mark.parametrize("road", [typed_copy, cloned_rows])
def test_destroying_the_original_leaves_the_copy_what_it_lived_itself(talked, alice, admin, road):
    body = road(talked, admin)
    alice.execute_cmd(f"whisper {body.key} = I keep geese at Millbrook.")
    offload.wait(body.memory.index_pending())
    gone = talked.memory.id
    admin(f"destroy/force {talked.dbref}")
    assert memory_store.shared().count(gone) == 0
    assert any("geese" in text for text in told(body, "geese"))


def test_a_copied_npc_has_one_heartbeat_of_its_own(spoken, admin):
    body = typed_copy(spoken, admin)
    [script] = ScriptDB.objects.filter(db_obj=body)
    assert script != spoken.assistant
    assert body.assistant == script
    assert not script.state.asked


def test_an_npc_that_remembers_from_its_creation_keeps_that_and_one_heartbeat(tavern, admin):
    first = create_object(Seeded, key="Odo", location=tavern)
    admin("say I hide a silver key.")
    first.memory.flush()
    admin("copy Odo = Otto")
    second = found("Otto")
    own = second.memory.id
    second.memory.flush(people=False)
    for script in ScriptDB.objects.filter(db_obj=second):
        script.at_repeat()
    assert ScriptDB.objects.filter(db_obj=second).count() == 1
    del second.__dict__["memory"]  # as after a reload
    assert second.memory.id == own != first.memory.id
    assert [entry.content for entry in second.memory.journal.read()] == ["I was born in Elmstead."]
    assert told(second, "Where were you born?") == ["I was born in Elmstead."]


def test_an_npc_keeps_its_memory_when_anothers_is_cloned_over_it(spoken, tavern, alice):
    zed = create_object("typeclasses.npcs.AssistantNPC", key="Zed", location=tavern)
    alice.execute_cmd("whisper Zed = I keep geese at Millbrook.")
    offload.wait(zed.assistant.at_tick())
    own = zed.memory.id
    rows = [(a.key, a.value, a.category) for a in spoken.db_attributes.all()]
    zed.attributes.batch_add(*rows)
    offload.wait(zed.assistant.at_tick())
    del zed.__dict__["memory"]
    assert zed.memory.id == own != spoken.memory.id
    assert any("geese" in entry.content for entry in zed.memory.journal.read())
    assert not any(SECRET in entry.content for entry in zed.memory.journal.read())
    assert not any(SECRET in text for text in told(zed, "silver key"))


# --- games from before ----------------------------------------------------------------------------


def as_before(*bodies):
    """As earlier versions left them: an id, and no word of whose it is."""
    for body in bodies:
        body.db_attributes.get(db_key="memory_owner").delete()
        Attribute.objects.filter(objectdb=body).update(db_lock_storage="")
        body.__dict__.pop("memory", None)


def test_an_npc_from_before_keeps_its_memory(spoken):
    own = spoken.memory.id
    as_before(spoken)
    assert spoken.memory.id == own
    assert any(SECRET in text for text in told(spoken, "Where is the silver key?"))
    assert attributes.read(spoken, "memory_owner").split() == [own, owner.body_of(spoken)]


def test_an_npc_whose_owner_was_stored_plainly_keeps_its_memory(spoken):
    own = spoken.memory.id
    for row in spoken.db_attributes.filter(db_key="memory_owner"):
        row.value, row.db_strvalue = attributes.read(spoken, "memory_owner"), None
        row.save()
    spoken.__dict__.pop("memory")
    assert owner.id_of(spoken) == own and spoken.memory.id == own
    assert spoken.attributes.get("memory_owner") is None, "it is text now"


@pytest.mark.parametrize("typeclass", ["npcs.AssistantNPC", "objects.Object"])
def test_a_builder_cannot_give_an_npc_of_their_own_the_memory_of_another(
    spoken, tavern, types_as, typeclass
):
    """The memory stays closed (`memory_look`), and is not deleted with the other NPC."""
    spoken.locks.add("memory_look:perm(Developer);memory_edit:perm(Developer)")
    own, types = spoken.memory.id, types_as("Builder", "Builder")
    locks = "control:all();edit:all()"
    odo = create_object(f"typeclasses.{typeclass}", key="Odo", location=tavern, locks=locks)
    types(f"@set Odo/memory_id = '{own}'")
    types(f"@set Odo/memory_owner = '{own} {owner.body_of(odo)}'")
    types("@typeclass/force Odo = typeclasses.npcs.AssistantNPC")
    odo.__dict__.pop("memory", None)
    assert "recalls nothing" in types("@memory/search Odo = Where is the silver key?")
    assert odo.memory.id != own
    assert odo.delete()
    assert any(SECRET in text for text in told(spoken, "Where is the silver key?"))


@pytest.mark.parametrize("copy_first", [True, False])
def test_of_two_from_before_with_one_id_the_older_keeps_it(talked, admin, copy_first):
    own = talked.memory.id
    body = cloned_rows(talked, admin)
    as_before(talked, body)
    for each in (body, talked) if copy_first else (talked, body):
        assert each.memory
    assert talked.memory.id == own
    assert body.memory.id != own
    assert_empty(body)
    assert any(SECRET in text for text in told(talked, "Where is the silver key?"))


@pytest.mark.parametrize("road", ["destroy", "queryset"])
def test_an_unseen_copy_from_before_takes_nothing_with_it(
    spoken, admin, road, django_capture_on_commit_callbacks
):
    whole = memory_store.shared().counts(spoken.memory.id)
    body = cloned_rows(spoken, admin)
    as_before(spoken, body)
    with django_capture_on_commit_callbacks(execute=True):
        if road == "destroy":
            admin(f"destroy/force {body.dbref}")
        else:
            ObjectDB.objects.filter(id=body.id).delete()
    assert memory_store.shared().counts(spoken.memory.id) == whole


# --- deletion -------------------------------------------------------------------------------------


def log_in(client):
    ContentType.objects.clear_cache()  # of the test before
    staff = create_account("root", "root@example.com", "a lantern by the door")
    staff.is_superuser = staff.is_staff = True
    staff.save()
    client.force_login(staff)


def bulk_of_the_admin(npc, client):
    log_in(client)
    deed = {"action": "delete_selected", "_selected_action": [npc.pk], "post": "yes"}
    answer = client.post(reverse("admin:objects_objectdb_changelist"), deed)
    assert answer.status_code == 302


def page_of_the_admin(npc, client):
    log_in(client)
    page = reverse("admin:objects_objectdb_delete", args=[npc.pk])
    assert client.post(page, {"post": "yes"}).status_code == 302


def queryset(npc, client):
    ObjectDB.objects.filter(db_key=npc.key).delete()


def with_the_room(npc, client):
    """Django sends its signals for all of them in the name of the first one's class."""
    ObjectDB.objects.filter(id__in=[npc.location.id, npc.id]).delete()


def with_its_account(npc, client):
    account = create_account("player", "p@example.com", "a lantern by the door")
    npc.db_account = account
    npc.save()
    ObjectDB.objects.filter(db_account=account).delete()
    account.delete()


@pytest.mark.parametrize(
    ("road", "seen"),
    [
        (bulk_of_the_admin, True),
        (page_of_the_admin, True),
        (with_its_account, True),
        (queryset, True),
        (queryset, False),
        (with_the_room, False),
    ],
)
def test_deleted_behind_evennias_back_it_leaves_nothing(
    spoken, tavern, client, road, seen, django_capture_on_commit_callbacks
):
    other = create_object("typeclasses.npcs.AssistantNPC", key="Zed", location=None)
    offload.wait(other.memory.add("The cellar floods."))
    agent_id = spoken.memory.id
    if not seen:  # since the server started
        del spoken.__dict__["memory"]
        spoken.attributes.reset_cache()
    with django_capture_on_commit_callbacks(execute=True):
        road(spoken, client)
    assert not ObjectDB.objects.filter(db_key="Mara").exists()
    assert memory_store.shared().count(agent_id) == 0
    assert memory_store.shared().count(other.memory.id) == 1
    assert deletion.noted_deletions() == []


def test_a_deletion_that_is_taken_back_leaves_the_memory_whole(
    spoken, django_capture_on_commit_callbacks
):
    from django.db import transaction

    whole = memory_store.shared().counts(spoken.memory.id)
    with (
        django_capture_on_commit_callbacks(execute=True),
        pytest.raises(KeyboardInterrupt),
        transaction.atomic(),
    ):
        ObjectDB.objects.filter(id=spoken.id).delete()
        raise KeyboardInterrupt
    assert memory_store.shared().counts(spoken.memory.id) == whole
    assert deletion.noted_deletions() == []


def test_an_npc_that_refuses_to_be_destroyed_keeps_its_memory(spoken, admin, monkeypatch):
    monkeypatch.setattr(AssistantNPC, "at_object_delete", lambda self: False, raising=False)
    whole = memory_store.shared().counts(spoken.memory.id)
    admin(f"destroy/force {spoken.dbref}")
    assert ObjectDB.objects.filter(id=spoken.id).exists()
    assert memory_store.shared().counts(spoken.memory.id) == whole
    assert deletion.noted_deletions() == []


def test_a_deletion_that_was_killed_half_way_is_finished_at_the_next_start(spoken):
    from contrib_ai_memory import start

    agent_id = spoken.memory.id
    ObjectDB.objects.filter(id=spoken.id).delete()  # and killed before the store heard of it
    assert deletion.noted_deletions() == [agent_id]
    assert memory_store.shared().count(agent_id) > 0
    offload.wait(start.forget_the_deleted())
    assert memory_store.shared().count(agent_id) == 0
    assert deletion.noted_deletions() == []


def test_what_is_still_somebodys_is_not_swept_away(spoken):
    from contrib_ai_memory import start

    whole = memory_store.shared().counts(spoken.memory.id)
    deletion.note(spoken.memory.id)
    offload.wait(start.forget_the_deleted())
    assert memory_store.shared().counts(spoken.memory.id) == whole
    assert deletion.noted_deletions() == []


def test_beside_a_store_of_another_time_nothing_is_swept_away(spoken):
    from contrib_ai_memory import start
    from contrib_ai_memory.store import generations

    agent_id = spoken.memory.id
    ObjectDB.objects.filter(id=spoken.id).delete()
    generations.adopt(generations.of_store() | {"store_id": "another"})
    offload.wait(start.forget_the_deleted())
    assert memory_store.shared().count(agent_id) > 0
    assert deletion.noted_deletions() == [agent_id]


# --- doctor, status, import -----------------------------------------------------------------------


def test_the_doctor_names_two_npcs_with_one_memory(talked, admin):
    body = cloned_rows(talked, admin)
    findings = offload.wait(doctor.check())
    [finding] = [each for each in findings if "memory id" in each.what]
    assert finding.where == f"Marabelle ({body.dbref})"
    assert f"Mara ({talked.dbref})" in finding.what
    assert not finding.mended
    assert any(SECRET in f"{row}" for row in rows_of(body)), "changed without --mend"
    mended = offload.wait(doctor.check(mend=True))
    assert [each.mended for each in mended if "memory id" in each.what] == [True]
    assert offload.wait(doctor.check()) == []
    assert_empty(body)
    assert any(SECRET in text for text in told(talked, "Where is the silver key?"))


def test_the_doctor_of_one_npc_names_it_too(spoken, admin):
    body = cloned_rows(spoken, admin)
    [finding] = offload.wait(doctor.check([body]))
    assert "memory id" in finding.what
    assert offload.wait(doctor.check([spoken])) == []


def test_the_doctor_finds_a_copy_that_has_no_memory_by_its_typeclass(spoken, tavern):
    chest = create_object("typeclasses.objects.Object", key="chest", location=tavern)
    clone_rows(spoken, chest)
    [finding] = offload.wait(doctor.check(mend=True))
    assert finding.where == f"chest ({chest.dbref})"
    assert not any(SECRET in f"{row}" for row in rows_of(chest))


def test_the_status_does_not_count_the_originals_memory_for_a_copy(spoken, admin, capsys):
    from django.core.management import call_command

    cloned_rows(spoken, admin)
    call_command("ai_memory", "status")
    lines = capsys.readouterr().out.splitlines()
    [copy] = [line.split() for line in lines if line.startswith("Marabelle")]
    assert copy[3:7] == ["0", "0", "0", "0"]


def test_a_memory_is_known_by_the_body_that_owns_it(spoken, admin):
    cloned_rows(spoken, admin)
    assert game_npcs.owners_of(spoken.memory.id) == [spoken]
    assert game_npcs.known_agent_ids() == {spoken.memory.id}


def test_an_import_gives_a_memory_to_its_new_body_though_a_copy_carries_its_id(
    talked, admin, tavern, tmp_path
):
    own = talked.memory.id
    body = cloned_rows(talked, admin)
    offload.wait(archive.export(talked, tmp_path / "a.jsonl"))
    admin(f"destroy/force {talked.dbref}")
    again = create_object("typeclasses.npcs.AssistantNPC", key="Mara", location=tavern)
    made = offload.wait(archive.import_(again, tmp_path / "a.jsonl"))
    assert not made.copied
    del again.__dict__["memory"]
    assert again.memory.id == own != body.memory.id
    assert any(SECRET in text for text in told(again, "Where is the silver key?"))
    assert_empty(body)


def test_a_game_made_anew_does_not_inherit_by_number(talked):
    """The same dbref, made at another time: another body."""
    whole = memory_store.shared().counts(talked.memory.id)
    own = talked.memory.id
    del talked.__dict__["memory"]
    made = talked.db_date_created.replace(year=2001)
    ObjectDB.objects.filter(id=talked.id).update(db_date_created=made)
    talked.db_date_created = made
    assert talked.memory.id != own
    assert_empty(talked)
    assert memory_store.shared().counts(own) == whole
    assert talked.scripts.get(KEY)
