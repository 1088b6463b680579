"""Understanding: what a line wants of the NPC, by rules and by the intent classifier."""

from __future__ import annotations

import re
from collections.abc import Collection

from ..embedding import embedder
from ..embedding.model import ModelAway
from ..english import intent_classifier
from ..english.addressing import forms
from ..english.intents import Intent, courtesy_of, intent_of, without_greeting
from ..english.questions import asked, asks_about, seems_to_ask
from .small_talk import small_talk_in

LIKELY = 0.5  # probability from which a question has an intent, and a courtesy is one
SURE = 0.7  # from which a line has one that does not ask
OF_THE_NPC = (Intent.NAME, Intent.ROLE, Intent.SERVICE, Intent.TIME, Intent.WELLBEING)
_OF_ME = re.compile(r"\bmy\b|\b(?:do|did|am|was|have|had) i\b", re.IGNORECASE)  # of the speaker
OF_SOMEBODY = (Intent.LAST_SEEN, Intent.OPINION, Intent.ABOUT, Intent.WHISPERED)
COURTESIES = (Intent.GREETING, Intent.PARTING, Intent.THANKS)


def understood(said: str, completed: str, names: Collection[str]) -> tuple[str, str]:
    """Return a line as it is meant, and the name of its intent as of `learned_intent`.

    Worker thread.

    Args:
        completed: The line with the subject that it takes from the talk before it. It is what is
            meant unless the line alone says what it wants: "what do they call this place?".
    """
    intent = learned_intent(said, names)
    if completed == said or (intent and Intent[intent] not in OF_SOMEBODY):
        return said, intent
    return completed, learned_intent(completed, names)


def learned_intent(said: str, names: Collection[str]) -> str:
    """Return the name of the intent of a line that no rule knows, "" for none (worker thread).

    Args:
        said: A line without the name of whom it is addressed to.
        names: Names of everyone whom the NPC knows.
    """
    said = without_greeting(said)
    if (
        intent_of(said)
        or courtesy_of(said)
        or small_talk_in(said)
        or not 0 < len(said.split()) <= (intent_classifier.LONGEST)
    ):
        return ""
    try:
        model = embedder.shared()
        classifier = intent_classifier.load(model.name, model.dimensions)
        if classifier is None:
            return ""
        lower = said.lower()
        every_form = [form for name in names for form in forms([name]) if form in lower]
        vector = model.encode([intent_classifier.masked(said, every_form)])[0]
    except ModelAway:
        return ""
    intent, probability = classifier.judge(vector)
    if intent is None:
        return ""
    known = {form for form in every_form if " " not in form}
    asking = asked(said) or asks_about(said, known) or seems_to_ask(said, known)
    if intent in OF_THE_NPC and _OF_ME.search(said):
        return ""
    if intent in COURTESIES:
        return "" if asking or probability < LIKELY else intent.name
    return intent.name if probability >= (LIKELY if asking else SURE) else ""
