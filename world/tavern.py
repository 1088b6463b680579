"""The tavern: a green, a door, an innkeeper who remembers. Building it again adds nothing."""

from evennia import create_object, search_object
from evennia.objects.models import ObjectDB

TAVERN = "The Drowned Lantern"
INNKEEPER = "Mara"


def build() -> ObjectDB:
    """Make the tavern and its innkeeper, where they are missing. Returns the innkeeper."""
    green = ObjectDB.objects.get_id(2)  # Evennia's first room, where new characters appear
    green.key = "The Village Green"
    green.db.desc = (
        "Geese have the green to themselves. A lantern over a low door marks the |wtavern|n."
    )
    tavern = _room(
        TAVERN,
        "Low beams, river mud on the boards, a fire that is never let out. The innkeeper hears "
        "everything that is said in here, and forgets none of it.",
    )
    _exit("tavern", green, tavern, ("inn", "door"))
    _exit("green", tavern, green, ("out", "leave"))
    found = search_object(INNKEEPER, typeclass="typeclasses.npcs.AssistantNPC")
    if found:
        return found[0]
    mara = create_object(
        "typeclasses.npcs.AssistantNPC", key=INNKEEPER, location=tavern, home=tavern
    )
    mara.aliases.add("innkeeper")
    mara.db.desc = (
        "Mara has kept the Drowned Lantern for thirty years. She wipes the same mug, slowly, and "
        "listens."
    )
    mara.db.goals = "Know who comes and goes on the river, and keep her guests safe."
    return mara


def _room(key: str, desc: str) -> ObjectDB:
    found = search_object(key, exact=True)
    room = found[0] if found else create_object("typeclasses.rooms.Room", key=key)
    room.db.desc = desc
    return room


def _exit(key: str, here: ObjectDB, there: ObjectDB, aliases: tuple[str, ...]) -> None:
    if not any(door.destination == there for door in here.exits):
        create_object(
            "typeclasses.exits.Exit", key=key, location=here, destination=there, aliases=aliases
        )
