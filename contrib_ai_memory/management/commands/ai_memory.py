"""`evennia ai_memory`: the operators' command.

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
from pathlib import Path
from typing import Any, NamedTuple

import evennia
from django.core.management.base import BaseCommand, CommandError

from contrib_ai_memory.embedding.model import ModelError
from contrib_ai_memory.management import archives, removal, repair, status, text_files
from contrib_ai_memory.management.console import refuse_another_time, refuse_while_server_runs
from contrib_ai_memory.store.errors import StoreError

AN_NPC = "key or #dbref of the NPC"


class Action(NamedTuple):
    """What is run, and what to say when it was interrupted."""

    run: Callable[[BaseCommand, dict[str, Any]], None]
    interrupted: str


ACTIONS = {
    "status": Action(status.status, "Nothing was changed."),
    "replay": Action(
        text_files.replay, "What was read is kept. Run the same command again and it goes on."
    ),
    "teach": Action(
        text_files.teach, "What was learned is kept. Run the same command again and it goes on."
    ),
    "export": Action(archives.export, "No file was written."),
    "import": Action(
        archives.import_,
        "Where it had begun to write, the NPC is half imported and paused: run the same command "
        "again, which begins anew.",
    ),
    "erase": Action(
        removal.erase,
        "It may be half done. Run the same command again, with the memory identity that it told "
        "in the place of the name: it takes out the rest.",
    ),
    "backup": Action(archives.backup, "No file was written."),
    "restore": Action(
        archives.restore,
        "Run the same command again before the game is started: what was there is kept until all "
        "is in place.",
    ),
    "doctor": Action(
        repair.doctor, "What was mended is mended. Run the same command again for the rest."
    ),
    "reindex": Action(
        repair.reindex, "Nothing is lost. Run the same command again; it is quicker then."
    ),
    "uninstall": Action(
        removal.uninstall, "It is half done. Run the same command again for the rest."
    ),
}
WHILE_SERVER_RUNS = ("status", "backup")
WRITES = ("replay", "teach", "import", "erase", "reindex")  # into a store that fits the database


class Command(BaseCommand):
    """The operators' command: each action is a function in `management`."""

    help = "Operate the memories of NPCs from the shell."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("status", help="every NPC's memory and the store, on one screen")
        replay = actions.add_parser("replay", help="feed a log into an NPC's memory")
        replay.add_argument("file", type=Path, help="JSON lines: id, time, session, speaker, …")
        replay.add_argument("--npc", required=True, help=AN_NPC)
        replay.add_argument("--sleep", action="store_true", help="a night after each session")
        teach = actions.add_parser("teach", help="let an NPC learn a text")
        teach.add_argument("npc_key", metavar="npc", help=AN_NPC)
        teach.add_argument("file", type=Path, help="Markdown or plain text, UTF-8")
        export = actions.add_parser("export", help="write a whole memory to a file")
        export.add_argument("npc_key", metavar="npc", help=AN_NPC)
        export.add_argument("file", type=Path, help="is replaced where there is one")
        import_ = actions.add_parser("import", help="make a file the memory of an NPC")
        import_.add_argument("file", type=Path, help="what export wrote")
        import_.add_argument("--npc", required=True, help=AN_NPC)
        import_.add_argument("--replace", action="store_true", help="what it remembers now goes")
        erase = actions.add_parser("erase", help="erase a person from memories")
        erase.add_argument("person", help="name, #dbref or memory identity")
        erase.add_argument("--npc", help="only from this one; else from all")
        erase.add_argument("--yes", action="store_true", help="without a question")
        backup = actions.add_parser("backup", help="write all of it to a file, also while it runs")
        backup.add_argument("file", type=Path, help="a .tar.gz; is replaced where there is one")
        restore = actions.add_parser("restore", help="put a backup in the place of what is there")
        restore.add_argument("file", type=Path, help="what backup wrote")
        restore.add_argument("--yes", action="store_true", help="without a question")
        doctor = actions.add_parser("doctor", help="find what does not fit together")
        doctor.add_argument("npc_key", metavar="npc", nargs="?", help="only this one")
        doctor.add_argument("--mend", action="store_true", help="and mend it")
        reindex = actions.add_parser("reindex", help="make vectors and keys anew")
        reindex.add_argument("npc_key", metavar="npc", nargs="?", help="only of this one")
        uninstall = actions.add_parser("uninstall", help="take everything out of the game")
        uninstall.add_argument("--yes", action="store_true", help="without a question")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["action"]
        if name not in WHILE_SERVER_RUNS:
            refuse_while_server_runs()
        if evennia.DefaultCharacter is None:
            evennia._init()  # the evennia program leaves that to the server
        action = ACTIONS[name]
        try:
            if name in WRITES:
                refuse_another_time()
            action.run(self, options)
        except (StoreError, ModelError) as problem:
            raise CommandError(str(problem)) from None
        except KeyboardInterrupt:
            raise CommandError(f"Interrupted. {action.interrupted}", returncode=130) from None
