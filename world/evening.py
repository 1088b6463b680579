"""Four evenings at the tavern as a log to replay: something to look at in pages and screenshots.

One line of it is a file's line for `evennia ai_memory replay`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

FIRST_DAY = datetime(2026, 3, 2, 19, 0, tzinfo=UTC)
PAUSE = timedelta(seconds=50)
NPC = "Mara"

EVENINGS = (
    """
    Alice: Good evening, Mara. I am Alice, I keep the ferry at Millbrook.
    Alice: The ferry crosses at dawn and at dusk, and never when the river is brown.
    Bram: I am Bram, the smith. My forge stands behind the mill.
    Alice: My brother Tom bakes the bread that you serve here, Mara.
    Bram: Tom burnt his hand on my anvil last week.
    Alice: I am afraid of the river since the ferry sank with my father on it.
    Bram: I made the new chain for the ferry. It weighs two hundred pounds.
    Alice: Mara, I like tea with honey, never coffee.
    Alice > whisper: I hide a silver key under the third step of the ferry house.
    Bram: The miller owes me eleven silver for the mill wheel.
    Alice: You are a good friend, Mara. I trust you like a sister.
    """,
    """
    Bram: The miller paid me today, all eleven silver.
    Cora: Good evening. I am Cora, I sing for my supper, and I come from the coast.
    Cora: There is a light on the drowned mill at night. I saw it twice.
    Alice: Nobody has lived in the drowned mill for thirty years.
    Bram: I saw the light too. It moved like a lantern in a hand.
    Cora: Mara, I love this house, it is warm and everybody is kind to me.
    Alice: The river rose by a foot since Monday. The ferry stays ashore tomorrow.
    Bram > whisper: I sold a lock to a stranger who would not tell his name.
    Cora: I prefer cider, if you have any.
    Alice: Tom is getting married in May, to the miller's daughter.
    """,
    """
    Cora: They found a boat by the drowned mill, with wet ropes in it.
    Bram: Those ropes came from my forge. I know the knots.
    Alice: I hate whoever took my boat without asking!
    Cora: The stranger with the lock sleeps at the mill, I am sure of it.
    Bram: Mara, I am worried. The stranger asked me about the ferry house.
    Alice: Mara, my key is gone from under the step.
    Cora: I am leaving for the coast when the roads are dry.
    Bram: I will make a new lock for the ferry house, for nothing.
    Alice: Bram is the best neighbour that I ever had.
    """,
    """
    Alice: The river is low again. The ferry crosses at dawn and at dusk.
    Bram: The stranger is gone. He left my lock on the step, and the silver key in it.
    Alice: Mara, I have coffee now instead of tea, Cora taught me to like it.
    Cora: I wrote a song about the light on the drowned mill.
    Bram: Mara, what did Alice hide under the step?
    Cora: I am so happy here, Mara. I stay until Tom's wedding in May.
    Alice: My father would have laughed at all of this.
    """,
)


def write(file: Path) -> int:
    """Write the log. Returns how many lines it has."""
    lines = []
    for evening, text in enumerate(EVENINGS, start=1):
        when = FIRST_DAY + timedelta(days=evening - 1)
        for line in filter(None, map(str.strip, text.splitlines())):
            who, _, said = line.partition(": ")
            speaker, _, kind = who.partition(" > ")
            lines.append(
                {
                    "id": f"evening-{len(lines)}",
                    "time": when.isoformat(),
                    "session": f"evening-{evening}",
                    "speaker": speaker,
                    "kind": kind or "say",
                    "to": NPC if kind else None,
                    "text": said,
                }
            )
            when += PAUSE
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return len(lines)
