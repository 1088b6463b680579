"""`evennia ai_memory`: operate the memories of NPCs from the shell.

evennia ai_memory status
evennia ai_memory replay FILE --npc NPC [--sleep]
evennia ai_memory teach NPC FILE
evennia ai_memory export NPC FILE
evennia ai_memory import FILE --npc NPC [--replace]
evennia ai_memory erase PERSON [--npc NPC] [--yes]
evennia ai_memory backup FILE
evennia ai_memory restore FILE [--yes]
evennia ai_memory doctor [NPC] [--mend]
evennia ai_memory reindex [NPC]
evennia ai_memory uninstall [--yes]
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import evennia
from django.core.management.base import BaseCommand, CommandError

from contrib_ai_memory.embedding.model import ModelError
from contrib_ai_memory.management import maintenance, npc_files, removal, status
from contrib_ai_memory.management.console import begin_generation, require_stopped_server
from contrib_ai_memory.store.errors import StoreError


@dataclass(frozen=True, slots=True)
class Action:
    """What an action runs, and under which conditions.

    Attributes:
        run: Called with the command and its options.
        interrupted: What to tell after Ctrl-C.
        writes: Whether it writes memories, so that store and database must match.
        beside_server: Whether it may run while the game does.
    """

    run: Callable[[BaseCommand, dict[str, Any]], None]
    interrupted: str
    writes: bool = False
    beside_server: bool = False


ACTIONS = {
    "status": Action(status.status, "Nothing was changed.", beside_server=True),
    "replay": Action(
        npc_files.replay,
        "The lines read so far are kept. To continue, run the same command again.",
        writes=True,
    ),
    "teach": Action(
        npc_files.teach,
        "What was learned so far is kept. To continue, run the same command again.",
        writes=True,
    ),
    "export": Action(npc_files.export, "No file was written."),
    "import": Action(
        npc_files.import_,
        "If the import had begun to write, the NPC is half imported and paused: run the same "
        "command again, which starts over.",
        writes=True,
    ),
    "erase": Action(
        removal.erase,
        "The erasure may be incomplete. To complete it, run the same command again with the "
        "identity printed above instead of the name.",
        writes=True,
    ),
    "backup": Action(maintenance.backup, "No file was written.", beside_server=True),
    "restore": Action(
        maintenance.restore,
        "Run the same command again before you start the game: the previous data is kept until "
        "everything is in place.",
    ),
    "doctor": Action(
        maintenance.doctor,
        "What was mended so far is kept. To continue, run the same command again.",
    ),
    "reindex": Action(
        maintenance.reindex,
        "Nothing is lost. To continue, run the same command again; it will take less time.",
        writes=True,
    ),
    "uninstall": Action(
        removal.uninstall, "The removal is incomplete. Run the same command again for the rest."
    ),
}


class Command(BaseCommand):
    """Parses the arguments and runs one of `ACTIONS`."""

    help = "Operate the memories of NPCs from the shell."

    def add_arguments(self, parser: ArgumentParser) -> None:
        npc = "name or #dbref of the NPC"
        yes = "do not ask for confirmation"
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("status", help="show all NPCs with a memory, and the store")
        replay = actions.add_parser("replay", help="let an NPC live through a log")
        replay.add_argument(
            "file", type=Path, help="JSON lines (id, time, session, speaker, …), or JSON"
        )
        replay.add_argument("--npc", required=True, help=npc)
        replay.add_argument("--sleep", action="store_true", help="run a night after each session")
        teach = actions.add_parser("teach", help="let an NPC learn a text")
        teach.add_argument("npc_key", metavar="npc", help=npc)
        teach.add_argument("file", type=Path, help="Markdown or plain text, UTF-8")
        export = actions.add_parser("export", help="write an NPC's memory to a file")
        export.add_argument("npc_key", metavar="npc", help=npc)
        export.add_argument("file", type=Path, help="file to write; replaced if it exists")
        import_ = actions.add_parser("import", help="load an exported memory into an NPC")
        import_.add_argument("file", type=Path, help="a file written by export")
        import_.add_argument("--npc", required=True, help=npc)
        import_.add_argument("--replace", action="store_true", help="replace what it remembers")
        erase = actions.add_parser("erase", help="erase a person from the memories of NPCs")
        erase.add_argument("person", help="name, #dbref or memory identity")
        erase.add_argument("--npc", help="erase from this NPC only")
        erase.add_argument("--yes", action="store_true", help=yes)
        backup = actions.add_parser("backup", help="back up everything, even while the game runs")
        backup.add_argument("file", type=Path, help="a .tar.gz to write; replaced if it exists")
        restore = actions.add_parser("restore", help="replace everything by a backup")
        restore.add_argument("file", type=Path, help="a file written by backup")
        restore.add_argument("--yes", action="store_true", help=yes)
        doctor = actions.add_parser("doctor", help="report inconsistencies, or repair them")
        doctor.add_argument("npc_key", metavar="npc", nargs="?", help="check this NPC only")
        doctor.add_argument("--mend", action="store_true", help="repair what was found")
        reindex = actions.add_parser("reindex", help="rebuild vectors and keys")
        reindex.add_argument("npc_key", metavar="npc", nargs="?", help="of this NPC only")
        uninstall = actions.add_parser("uninstall", help="remove all data of this contrib")
        uninstall.add_argument("--yes", action="store_true", help=yes)

    def handle(self, *args: Any, **options: Any) -> None:
        action = ACTIONS[options["action"]]
        if not action.beside_server:
            require_stopped_server()
        if evennia.DefaultCharacter is None:
            evennia._init()  # the evennia launcher leaves that to the server
        try:
            if action.writes:
                begin_generation()
            action.run(self, options)
        except (StoreError, ModelError) as problem:
            raise CommandError(str(problem)) from None
        except KeyboardInterrupt:
            raise CommandError(f"Interrupted. {action.interrupted}", returncode=130) from None
