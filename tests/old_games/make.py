"""Keeps database and store of a game that an older commit played, for tests/test_upgrade.py.

Run in an environment with PyTorch and sentence-transformers, which old commits need:

    python tests/old_games/make.py abfb7ac tests/old_games/2026-11-21.tar.gz
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVENING = """
from pathlib import Path
from world.game import Game
game = Game(Path({folder!r}), repository=Path({old!r}))
game.build()
game.migrate()
game.enter()
from evennia.utils.create import create_object
from contrib_ai_memory import offload
for name in ("Keeper", "Limbo"):
    create_object("typeclasses.rooms.Room", key=name, nohome=True)
tavern = create_object("typeclasses.rooms.Room", key="The Drowned Lantern", nohome=True)
def someone(typeclass, key):
    return create_object(typeclass, key=key, location=tavern, home=tavern)
mara = someone("typeclasses.npcs.AssistantNPC", "Mara")
alice = someone("typeclasses.characters.Character", "Alice")
bram = someone("typeclasses.characters.Character", "Bram")
for who, line in (
    (alice, "say I keep the ferry at Millbrook."),
    (alice, "say My brother Tom has been missing since the flood."),
    (alice, "whisper Mara = I hide a silver key under the third step in Elmstead."),
    (bram, "say Mara, wolves took two of my sheep."),
    (alice, "say I prefer elderflower wine to ale."),
):
    who.execute_cmd(line)
mara.memory.flush()
offload.wait(mara.assistant.at_tick())
offload.wait(mara.assistant.sleep_through())
bram.execute_cmd("say Mara, my mill burned down.")
mara.memory.flush()
mara.assistant.at_server_shutdown()
"""
KEPT = ("evennia.db3", "ai_memory")
RECOMPUTED = ("embeddings.sqlite3",)


def main(commit: str, file: str) -> None:
    with tempfile.TemporaryDirectory() as work:
        old, folder = Path(work) / "repository", Path(work) / "game"
        old.mkdir()
        archive = subprocess.run(
            ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "x"], cwd=old, input=archive.stdout, check=True)
        subprocess.run(
            [sys.executable, "-c", EVENING.format(folder=str(folder), old=str(old))],
            cwd=old,
            env=os.environ | {"PYTHONPATH": f"/-:{old}"},  # Evennia's launcher replaces the first
            check=True,
        )
        # the store's files are mostly holes, which Python would write as zeros
        left_out = [f"--exclude={name}" for name in RECOMPUTED]
        owner = ["--owner=0", "--group=0", "--numeric-owner"]
        tar = ["tar", "--sparse", "--format=gnu", *owner, *left_out, "-czf", Path(file).absolute()]
        subprocess.run([*tar, *KEPT], cwd=folder / "server", check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
