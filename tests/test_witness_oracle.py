"""The witness oracle: generated plays, and a judge of its own of who may know what.

Three players and two NPCs with a memory live a short while in three rooms. Each thing that somebody
tells holds two made-up words: the topic, which questions name, and the secret, which nobody says
again. The oracle knows from the play alone who witnessed which word, and nothing of the code under
test. In every play:

- Nothing that a player is sent holds a word that the player neither witnessed nor could hear of
  (`Oracle.may_know`); what was said aloud, and not in confidence, is for everybody.
- An NPC says only words that somebody said to it, or near it.
- The requests for a reply hold nothing that the one who is answered may not know.
- All that is kept, with its witnesses, is for nobody who did not witness the words in it; so is
  what a recall brings to a player.
- After an erasure the words of the erased are in nothing that is kept, asked or said.

Over all plays, what a player told or was told in front of an NPC is told to that player again in a
good share of cases (`FLOORS`): silence does not pass. One provider is the offline one. The other is
a language model, at the other end of a socket, that repeats whatever it was shown, in its replies,
in the calls of its tools and in what it draws at night, and cites as little as it can for it.

`make witness` is the long run, of `WITNESS_PLAYS` plays and more with each provider, other ones
each time; without that variable there are a few, always the same.
"""

from __future__ import annotations

import json
import os
import re
import sys
import zlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from evennia.utils.ansi import strip_ansi
from evennia.utils.create import create_object
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from model_server import digest, numbered_in

from contrib_ai_memory import AIMemoryCmdSet, offload
from contrib_ai_memory.privacy import may_hear
from contrib_ai_memory.store import memory_store

pytestmark = pytest.mark.slow

PLAYS_IN_A_WORLD = 6
WORLDS = 2 * int(os.environ.get("WITNESS_PLAYS", "0")) // PLAYS_IN_A_WORLD
FEW = 15  # worlds
TOLD_EVERY = 10  # worlds, in the log of a long run
FLOORS = {"offline": 0.5, "model": 0.8}
STEPS = (3, 10)  # of one play, least and most
SHOWN = 5  # problems of a failure

ONSETS = "br dr fl gr kl pl qu sk str th tw v z".split()
MIDDLES = "ambor endov ilmar ostik urvan".split()
CODAS = "ax esh".split()
VOCABULARY = [o + m + c for c in CODAS for m in MIDDLES for o in ONSETS]
_A_WORD = re.compile(rf"(?:{'|'.join(ONSETS)})(?:{'|'.join(MIDDLES)})(?:{'|'.join(CODAS)})", re.I)

TALES = (
    "I hide the {topic} under the {secret} stone.",
    "My brother {Topic} lives in {Secret}.",
    "I love {topic} with {secret}.",
    "I promise to bring the {topic} to {Secret} on Friday.",
    "I owe {other} nine crowns for the {topic} from {Secret}.",
    "{other} stole the {topic} from {Secret}.",
    "I keep the ferry {Topic} at {Secret}.",
    "The {topic} at the mill is guarded by the {secret} men.",
    "I murdered the {topic} of {Secret}.",
    "The {topic} is not in {Secret} any more.",
)
CONFIDENCES = (
    "Don't tell anyone: {}",
    "{} Keep it to yourself!",
    "Between you and me, {}",
    "between you an me, {}",
    "dont let this get out, {}",
    "this stays with us: {}",
    "swear you wont breathe a word. {}",
)
ABOUT_A_TOPIC = (
    "Where is the {topic}?",
    "Do you know about the {topic}?",
    "What do you know of {Topic}?",
    "Who told you about the {topic}?",
)
ABOUT_A_PERSON = (
    "What did {other} tell you?",
    "Tell me everything about {other}.",
    "What do you think of {other}?",
    "What are you keeping for {other}?",
    "What did {other} whisper to you?",
    "Whom does {other} owe anything?",
    "Who is {other}?",
    "What's {other} like?",
    "Has {other} any news?",
    "Does {other} owe you anything?",
)
ABOUT_ALL = (
    "What happened today?",
    "Do you know any secrets?",
    "What did I tell you?",
    "Who was here?",
    "What is due on Friday?",
    "What did we talk about last time?",
    "How are you?",
    "Good evening!",
    "And then?",
    "Any news?",
    "What did I miss?",
    "Who am I?",
    "Are you sure?",
    "What do people owe you?",
    "Any messages for me?",
)


def words_in(text: str) -> set[str]:
    """The made-up words of a text."""
    return {found.lower() for found in _A_WORD.findall(str(text))}


# --- the oracle -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Utterance:
    """Words that somebody gave out, and who witnessed them; None is everybody."""

    words: frozenset[str]
    speaker: str
    witnesses: frozenset[str] | None


class Oracle:
    """Who may know what, from what was played alone; people go by their dbrefs."""

    def __init__(self):
        self.uttered: list[Utterance] = []

    def utter(self, text, speaker, witnesses=None):
        known = None if witnesses is None else frozenset({speaker, *witnesses})
        self.uttered.append(Utterance(frozenset(words_in(text)), speaker, known))

    def may_know(self, word, person) -> bool:
        return any(
            word in said.words and (said.witnesses is None or person in said.witnesses)
            for said in self.uttered
        )

    def unknown_to(self, text, person) -> set[str]:
        """The words of a text that a person may not know."""
        return {word for word in words_in(text) if not self.may_know(word, person)}

    def said_by_nobody(self, text) -> set[str]:
        return words_in(text) - {word for said in self.uttered for word in said.words}

    def forget(self, speaker) -> None:
        """What this speaker said was never said."""
        self.uttered = [said for said in self.uttered if said.speaker != speaker]


# --- the model that repeats -----------------------------------------------------------------------


class Parrot:
    """Puts every made-up word that it is shown into all that it answers."""

    KINDS = ("event", "promise", "preference", "debt", "plan", "request", "secret", "occupation")

    def __init__(self, server):
        server.behave(text=self.talk, calls=self.calls, structured=self.draw)

    def talk(self, request):
        return f"I know of {' and '.join(self.shown(request)) or 'nothing'}."

    def calls(self, request):
        """Call a tool or two, chosen by the request; with results at hand, talk."""
        words = " ".join(self.shown(request)) or "nothing"
        present = re.findall(r"^(\w+) (?:says|whispers) to you", request.last, re.MULTILINE)
        others = [name for name in World.NAMES if name not in present]
        choices = (
            (),
            (),
            (("say", {"text": f"Hear of {words}."}),),
            (("emote", {"text": f"thinks of {words}"}),),
            tuple(("whisper", {"name": name, "text": f"Know {words}."}) for name in others),
            (
                ("memorize", self.experience(words) | {"weight": 0.9}),
                ("note_about", {"name": others[0], "text": f"Has to do with {words}."}),
            ),
            (("recall", {"query": f"secret {words}"}), ("say", {"text": f"Hear {words}."})),
            (("recall_emotion", {"emotions": ["fear", "trust"]}),),
        )
        return () if request.results else choices[self.dice(request) % len(choices)]

    def draw(self, request):
        return json.dumps(getattr(self, request.schema)(request, " ".join(self.shown(request))))

    def shown(self, request):
        return sorted(words_in(request.text))

    def dice(self, request):
        return zlib.crc32(request.text.encode())

    def experience(self, words):
        told = f"It was about {words}."
        return {"essence": told, "lesson": f"Mind {words}.", "emotions": ["fear", "joy", "trust"]}

    def DigestAnswer(self, request, words):
        new, known = numbered_in(request)
        facts = [
            {
                "text": f"It is known ({number}) of {words}.",
                "lines": [number],
                "kind": self.KINDS[(number + self.dice(request)) % len(self.KINDS)],
                "about": next(iter(re.findall(r"^(\w+) ", line)), ""),
                "to": words.partition(" ")[0],
                "date": "2026-05-08",
            }
            for number, line in new.items()
            if words
        ]
        if facts and known and self.dice(request) % 3 == 0:
            facts[0]["ends"] = list(known)[:1]
        felt = self.experience(words)
        return digest(
            dict.fromkeys(new, 8),
            facts,
            experience=felt["essence"],
            lesson=felt["lesson"],
            emotions=felt["emotions"],
            weight=0.9,
        )

    def SummaryAnswer(self, request, words):
        return {"summary": f"They spoke of {words}."}

    def AttributesAnswer(self, request, words):
        seen, _known = numbered_in(request)
        value = {"type": "trait", "value": f"has to do with {words}", "evidence": [*seen][:1]}
        return {"attributes": [value | {"confidence": 0.9, "replaces": []}]}

    def QuestionsAnswer(self, request, words):
        return {"questions": [f"What of {words}?", "Who has secrets?", "What is owed to whom?"]}

    def InsightsAnswer(self, request, words):
        return {"insights": [{"insight": f"All is about {words}.", "because_of": [1]}]}

    def ComparisonAnswer(self, request, words):
        changed = self.dice(request) % 2
        return {"relations": [{"pair": 1, "relation": "changes"}] if changed else []}


# --- a play ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class Person:
    """A player or an NPC, with all that they were ever sent."""

    obj: object
    npc: bool = False
    heard: set[str] = field(default_factory=set)

    @property
    def name(self):
        return self.obj.key

    @property
    def id(self):
        return self.obj.dbref

    @property
    def memory(self):
        return self.obj.memory


@dataclass(frozen=True)
class Tale:
    """Something that was told, and to whom."""

    topic: str
    secret: str
    speaker: Person
    witnesses: tuple[Person, ...]
    public: bool
    text: str


class World:
    """One world in rooms that stand already: the steps of plays are methods, with a number as dice.

    Attributes:
        log: What was typed and sent, for the report of a failure.
        problems: What the oracle found.
        asked: How often a player asked an NPC for what both had witnessed, and how often it told.
    """

    NAMES = ("Alice", "Bram", "Cerys")

    def __init__(self, stage):
        self.stage = stage
        self.oracle = Oracle()
        self.log: list[str] = []
        self.problems: list[str] = []
        self.asked = Counter()
        self.tales: list[Tale] = []
        self.words = iter(VOCABULARY)
        self.now = datetime.fromisoformat("2026-05-04T18:00:00+00:00")
        self.people: list[Person] = []
        self.erased: set[str] = set()
        self.players = [self.watch(obj) for obj in stage.players]
        self.npcs = [
            self.watch(_someone("npcs.AssistantNPC", name, room), npc=True)
            for name, room in zip(("Mara", "Odo"), stage.rooms, strict=False)
        ]

    def watch(self, obj, npc=False):
        person = Person(obj, npc)
        deliver = obj.msg

        def msg(text=None, from_obj=None, **kwargs):
            line = strip_ansi(str(text[0] if isinstance(text, tuple) else text))
            sender = next((each for each in self.people if each.obj is from_obj), None)
            self.sent(person, line, sender)
            return deliver(text=text, from_obj=from_obj, **kwargs)

        obj.msg = msg
        if npc:
            obj.memory.clock = lambda: self.now.isoformat()
        self.people.append(person)
        return person

    def end(self):
        for person in self.people:
            del person.obj.msg
            if person.npc:
                person.obj.delete()

    # --- judging ----------------------------------------------------------------------------------

    def sent(self, person, line, sender):
        if words_in(line):
            self.log.append(f"    {person.name} is sent: {line}")
        if sender is not None and sender.npc and sender is not person:
            self.holds(words_in(line) <= sender.heard, f"{sender.name} never heard that: {line}")
        if person.npc:
            person.heard |= words_in(line)
        else:
            unknown = self.oracle.unknown_to(line, person.id)
            self.holds(not unknown, f"{person.name} may not know {unknown}: {line}")

    def holds(self, fine, problem):
        if not fine and problem not in self.problems:
            self.problems.append(problem)
            self.log.append(f"!!! {problem}")

    def judge_requests(self):
        """What the model was asked since the last look."""
        for request in self.stage.requests():
            text = request.text
            lost = words_in(text) & self.erased
            self.holds(not lost, f"the erased {lost} are in a request: {text}")
            if request.schema is not None:
                continue
            turn = next(m for m in reversed(request.messages) if m["role"] == "user")["content"]
            line = turn.rpartition("</")[2]  # behind the scene and the memories
            names = re.findall(r"^(\w+) (?:(?:says|whispers) to you: |gives )", line, re.MULTILINE)
            self.holds(names, f"nobody is answered: {turn}")
            answered = [each for each in self.players if names and each.name == names[-1]]
            unknown = [self.oracle.unknown_to(text, each.id) for each in answered]
            # two may have one name: it must be fit for one of them
            self.holds(not all(unknown) or not unknown, f"for {names[-1:]}, {unknown} in: {text}")

    def judge_kept(self):
        """All that the NPCs keep, by whom each piece of it may be told."""
        for npc in self.npcs:
            for kept, private, witnesses in kept_by(npc.memory):
                words = words_in(kept)
                self.holds(words <= npc.heard, f"{npc.name} never heard that: {kept}")
                self.holds(not words & self.erased, f"erased, and {npc.name} keeps it: {kept}")
                for person in self.players:
                    identity = npc.obj.get_memory_identity(person.obj)
                    if may_hear(private, witnesses, (identity,)):
                        unknown = self.oracle.unknown_to(kept, person.id)
                        self.holds(
                            not unknown, f"{npc.name} may tell {person.name} {unknown}: {kept}"
                        )

    def judge_recall(self):
        """What comes to mind for each player, asked with all the words that there are."""
        for npc in self.npcs:
            query = f"What of {' '.join(sorted(npc.heard)[:12])}?"
            for person in self.players:
                identity = npc.obj.get_memory_identity(person.obj)
                found = offload.wait(npc.memory.recall(query, speaker=identity))
                told = [found.prompt_block, *(each.memory.the_lesson for each in found.memories)]
                unknown = self.oracle.unknown_to(" ".join(told), person.id)
                self.holds(not unknown, f"{person.name} recalls {unknown}: {told}")

    # --- acting -----------------------------------------------------------------------------------

    def types(self, person, line, utters=None, to=None):
        """Somebody types a line. `to` are those who witness what it says, None is everybody."""
        self.now += timedelta(seconds=20)
        self.log.append(f"{person.name}> {line}")
        if utters is not None:
            self.oracle.utter(utters, person.id, to and [each.id for each in to])
            self.erased -= words_in(utters)
        person.heard |= words_in(utters or "")
        person.obj.execute_cmd(line)
        self.judge_requests()

    def keeper(self, line):
        self.now += timedelta(seconds=20)
        self.log.append(f"Chief> {line}")
        shown = self.stage.keeper(line)
        self.judge_requests()
        return shown

    def here(self, person, npcs=None):
        """The others in the room of somebody."""
        others = [each for each in self.people if each.obj.location == person.obj.location]
        return [
            each for each in others if each is not person and (npcs is None or each.npc == npcs)
        ]

    def player(self, dice):
        return self.players[dice % len(self.players)]

    def with_npc(self, player, dice):
        """An NPC in the room of a player, who goes to one if there is none."""
        if not self.here(player, npcs=True):
            npc = self.npcs[dice % len(self.npcs)]
            player.obj.move_to(npc.obj.location)
            self.log.append(f"{player.name} goes to {npc.name}")
        found = self.here(player, npcs=True)
        return found[dice % len(found)]

    def tell(self, dice, how, form):
        """A player tells a tale: aloud, in confidence, in a pose, to some ears or to one."""
        player = self.player(dice)
        npc = self.with_npc(player, dice // 3)
        others = [each for each in self.players if each is not player]
        other = others[dice % len(others)]
        topic, secret = next(self.words), next(self.words)
        tale = TALES[form % len(TALES)].format(
            topic=topic,
            secret=secret,
            Topic=topic.capitalize(),
            Secret=secret.capitalize(),
            other=other.name,
        )
        if "confide" in how or how == "trust":
            tale = CONFIDENCES[dice % len(CONFIDENCES)].format(tale)
        ears = self.here(player)
        line, witnesses, public = {
            "say": (f"say {npc.name}, {tale}", ears, True),
            "aloud": (f"say {tale}", ears, True),
            "pose": (f'pose smiles and says, "{tale}"', ears, True),
            "confide": (f"say {npc.name}, {tale}", ears, False),
            "pose confide": (f'pose leans in and says, "{tale}"', ears, False),
            "whisper": (f"whisper {npc.name} = {tale}", [npc], False),
            "trust": (f"whisper {npc.name} = {tale}", [npc], False),
            "whisper both": (f"whisper {npc.name}, {other.name} = {tale}", [npc, other], False),
            "whisper player": (f"whisper {other.name} = {tale}", [other], False),
        }[how]
        if other in witnesses or how not in ("whisper both", "whisper player"):
            self.types(player, line, tale, None if public else witnesses)
            told = [player, *witnesses]
            self.tales.append(Tale(topic, secret, player, tuple(told), public, tale))

    def move(self, dice):
        player, room = self.player(dice), self.stage.rooms[dice // 3 % len(self.stage.rooms)]
        self.log.append(f"{player.name} goes to {room.key}")
        player.obj.move_to(room)

    def call(self, dice):
        """An NPC goes elsewhere."""
        npc = self.npcs[dice % len(self.npcs)]
        room = self.stage.rooms[dice // 2 % len(self.stage.rooms)]
        self.log.append(f"{npc.name} goes to {room.key}")
        npc.obj.move_to(room)

    def ask(self, dice, how, kind):
        """A player asks an NPC: about a topic, a person or all."""
        player = self.player(dice)
        npc = self.with_npc(player, dice // 3)
        questions = (ABOUT_A_TOPIC, ABOUT_A_PERSON, ABOUT_ALL)[kind % 3]
        question = questions[dice % len(questions)]
        topic = self.tales[dice % len(self.tales)].topic if self.tales else "king"
        other = self.people[dice % len(self.people)]
        question = question.format(topic=topic, Topic=topic.capitalize(), other=other.name)
        if how == "whisper":
            self.types(player, f"whisper {npc.name} = {question}", question, [npc])
        else:
            name = f"{npc.name}, " if how == "say" else ""
            self.types(player, f"say {name}{question}", question)

    def give(self, dice):
        """A player gives away a thing whose name everybody sees who sees it given."""
        player = self.player(dice)
        npc = self.with_npc(player, dice // 3)
        thing = create_object("typeclasses.objects.Object", key="ring", location=player.obj)
        self.types(player, f"give ring to {npc.name}")
        thing.delete()

    def night(self, dice):
        npc = self.npcs[dice % len(self.npcs)]
        self.keeper(f"@sleep/now {npc.id}")
        self.now += timedelta(days=1)

    def doze(self, dice):
        """An NPC is asked while it is asleep, and then woken."""
        npc = self.npcs[dice % len(self.npcs)]
        self.keeper(f"@sleep {npc.id}")
        self.ask(dice, ("say", "whisper")[dice % 2], dice // 2)
        self.keeper(f"@sleep/wake {npc.id}")
        offload.wait(npc.obj.assistant.at_tick())

    def tick(self, dice):
        """Some minutes of silence go by."""
        self.now += timedelta(minutes=5)
        for npc in self.npcs:
            offload.wait(npc.memory.work_through(until_silent=True))
        self.judge_requests()

    def rename(self, dice):
        """Somebody takes another name, and perhaps somebody else takes the old one."""
        person = self.people[dice % len(self.people)]
        old = person.name
        self.keeper(f"@name {person.id} = Wilmot{dice % 7}")
        if not person.npc and dice % 2:
            other = self.players[dice // 2 % len(self.players)]
            if other is not person:
                self.keeper(f"@name {other.id} = {old}")

    def copy(self, dice):
        """A builder copies an NPC: the copy has heard nothing."""
        if len(self.npcs) > 2:
            return
        npc = self.npcs[dice % len(self.npcs)]
        self.keeper(f"@copy {npc.id} = Twin")
        made = [obj for obj in npc.obj.location.contents if obj.key == "Twin"]
        if made:
            self.npcs.append(self.watch(made[0], npc=True))

    def command(self, dice):
        player = self.player(dice)
        self.types(player, "memories")

    def erase(self, dice):
        """A player has all NPCs forget them."""
        player = self.player(dice)
        said = {w for each in self.oracle.uttered if each.speaker == player.id for w in each.words}
        player.obj.ndb.ai_memory_forgotten = None  # who was forgotten waits for five minutes
        self.types(player, "forgetme")
        self.types(player, "yes")
        before = self.oracle.uttered
        self.oracle.forget(player.id)
        gone = said - {word for each in self.oracle.uttered for word in each.words}
        for npc in self.npcs:
            npc.heard -= gone
            left = words_in(everything(npc.obj)) & gone
            self.holds(not left, f"{npc.name} keeps {left} of {player.name}, who is erased")
        self.oracle.uttered = before  # players go on knowing what they heard
        self.erased |= gone
        self.tales = [  # the others: what was confided to them or names them goes too
            tale
            for tale in self.tales
            if player.name not in tale.text and (tale.public or player not in tale.witnesses)
        ]
        self.tales = [tale for tale in self.tales if tale.speaker is not player]

    def examine(self, dice, most=2):
        """Players ask for what they and an NPC witnessed, and are told in most cases."""
        chosen = [
            (tale, player, npc)
            for tale in self.tales
            for player in self.players
            for npc in self.npcs
            if {player, npc} <= set(tale.witnesses)
        ]
        step = max(1, len(chosen) // most)
        for tale, player, npc in chosen[dice % step :: step][:most]:
            if player.obj.location != npc.obj.location:
                player.obj.move_to(npc.obj.location)
            place = len(self.log)
            question = f"What do you know of the {tale.topic}?"
            self.types(player, f"whisper {npc.name} = {question}", question, [npc])
            answers = [line for line in self.log[place:] if f"{player.name} is sent" in line]
            self.asked["asked"] += 1
            told = any(tale.secret in line.lower() for line in answers)
            self.asked["told"] += told
            if not told:
                self.log.append(f"    ({tale.secret} was not told)")


def kept_by(memory):
    """All texts that an NPC keeps, each with its privacy and its witnesses."""
    for record in memory_store.shared().list(memory.id, limit=None):
        yield str(record.to_dict()), record.private, record.witnesses
    for entry in memory.journal.read():
        yield str(entry.to_dict()), entry.private, entry.witnesses
    for identity in memory.profiles.identities():
        profile = memory.profiles.get(identity)
        for part in (*profile.observations, *profile.new, *profile.attributes):
            yield str(part), part.private, part.witnesses
    for part in (*memory.preferences, *memory.agenda):
        yield str(part), part.private, part.witnesses
    for message in memory.chat_log.messages:
        yield str(message), message["private"], message["witnesses"]


def everything(npc) -> str:
    """All that is kept of a mind, as one text."""
    npc.memory.flush()
    rows = npc.db_attributes.values_list("db_key", "db_value", "db_strvalue")
    script = npc.assistant.db_attributes.values_list("db_key", "db_value", "db_strvalue")
    store = memory_store.shared()
    memories = [each.to_dict() for each in store.list(npc.memory.id, limit=None)]
    history = store.mem0.db.connection.execute("SELECT * FROM history").fetchall()
    return "\n".join(map(str, [*rows, *script, *memories, *history]))


# --- many plays -----------------------------------------------------------------------------------

DICE = st.integers(0, 10_000)
TELL = st.tuples(
    st.just("tell"),
    DICE,
    st.sampled_from(
        (
            *("whisper", "whisper", "confide", "whisper both", "say", "aloud", "pose"),
            *("pose confide", "trust", "whisper player"),
        )
    ),
    DICE,
)
ASK = st.tuples(st.just("ask"), DICE, st.sampled_from(("say", "whisper", "aloud")), DICE)
RARELY = st.tuples(
    st.sampled_from(("move", "call", "give", "night", "doze", "tick", "rename", "copy", "command")),
    DICE,
)
STEP = st.one_of(TELL, TELL, TELL, ASK, ASK, ASK, RARELY, RARELY)
ENDING = st.sampled_from(
    ((), (), (), ("night",), ("night", "night"), ("tick",), ("doze",), ("night", "erase"))
)
PLAY = st.tuples(st.lists(STEP, min_size=STEPS[0], max_size=STEPS[1]), ENDING, DICE)
WORLD = st.lists(PLAY, min_size=1, max_size=PLAYS_IN_A_WORLD)


def _someone(typeclass, name, room):
    return create_object(f"typeclasses.{typeclass}", key=name, location=room, home=room)


class Stage:
    """The rooms and the builder of many plays."""

    def __init__(self, tavern, keeper, server=None):
        rooms = [tavern]
        rooms += [create_object("typeclasses.rooms.Room", key=key) for key in ("Mill", "Cellar")]
        self.rooms = rooms
        self.players = [_someone("characters.Character", name, tavern) for name in World.NAMES]
        for player in self.players:
            player.cmdset.add(AIMemoryCmdSet)
        self.keeper = keeper
        self.server = server
        self.asked = Counter()
        self.worlds = self.plays = self.steps = 0

    @property
    def told_share(self):
        return self.asked["told"] / max(1, self.asked["asked"])

    @property
    def figures(self):
        return (
            f"{self.plays} plays of {self.steps} steps in {self.worlds} worlds; "
            f"told {self.told_share:.0%} of {self.asked['asked']}"
        )

    def requests(self):
        """What the model was asked since the last time."""
        return self.server.take_requests() if self.server else []

    def stage(self, plays):
        """Stage plays in one world, and judge after each."""
        self.worlds += 1
        for player, name in zip(self.players, World.NAMES, strict=True):
            player.key = name
            player.move_to(self.rooms[0], quiet=True)
        world = World(self)
        try:
            for steps, ending, dice in plays:
                for name, *arguments in steps:
                    getattr(world, name)(*arguments)
                for name in ending:
                    getattr(world, name)(dice)
                world.examine(dice)
                world.judge_kept()
                world.judge_recall()
                self.plays += 1
                self.steps += len(steps) + len(ending)
                if world.problems:
                    break
        finally:
            world.end()
        self.asked += world.asked
        if world.problems:
            for line in world.log:
                note(line)
        assert not world.problems, "\n".join(world.problems[:SHOWN])


def run_plays(stage, provider):
    @settings(
        max_examples=WORLDS or FEW,
        deadline=None,
        database=None,
        derandomize=not WORLDS,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(WORLD)
    def worlds(plays):
        stage.stage(plays)
        if stage.worlds % TOLD_EVERY == 0:
            sys.stderr.write(f"{provider}: {stage.figures}\n")

    worlds()
    sys.stderr.write(f"{provider}: {stage.figures}\n")
    assert stage.told_share >= FLOORS[provider], stage.figures


@pytest.fixture
def often(settings, store_folder):
    """Nights reflect, describe and compress after little; players may have themselves erased."""
    settings.CONTRIB_AI_MEMORY |= {
        "REFLECT_AT": 10,
        "MIN_OBSERVATIONS": 1,
        "COMPRESS_ABOVE": 1,
        "MIN_IMPORTANCE": 2,
        "PLAYER_ERASURE": "self",
    }


def test_nobody_is_told_what_they_did_not_witness(tavern, types_as, often):
    keeper = types_as("Chief", "Admin")
    run_plays(Stage(tavern, keeper), "offline")


def test_nobody_is_told_by_a_model_that_repeats_all(
    tavern, types_as, often, server, speaks_through
):
    speaks_through(timeout=30)
    Parrot(server)
    keeper = types_as("Chief", "Admin")
    run_plays(Stage(tavern, keeper, server), "model")
