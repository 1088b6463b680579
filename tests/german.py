"""German for tests: a language of a game in forty lines, without a change of the core."""

from __future__ import annotations

import re

from contrib_ai_memory.language import Intent, Language, Manner, Phrases
from contrib_ai_memory.llm.provider import SilentProvider
from contrib_ai_memory.records import Reply

QUESTION_WORDS = frozenset("wer wen wem was wo wann warum wie weißt kennst hast ist".split())
_CONFIDES = re.compile(r"\b(?:sag(?:t)? es niemandem|das bleibt unter uns)\b", re.IGNORECASE)
_GREETS = re.compile(r"^\W*(?:guten (?:tag|abend|morgen)|hallo|grüß)", re.IGNORECASE)


class GermanProvider(SilentProvider):
    """Tells the best memory as the words of whoever said it."""

    def reply(self, request):
        told = (each.memory for each in request.recalled if not each.memory.question)
        for memory in told:
            return Reply(f"{memory.speaker} sagte: „{memory.said}“", told=(memory.id,))
        return Reply("Davon weiß ich nichts.", told=())


class GermanPhrases(Phrases):
    texts = {"cannot think": ("Später, {name}.",), "asked asleep": ("{name}, du hast gefragt.",)}


class German(Language):
    provider = GermanProvider()
    phrases = GermanPhrases()

    def asks(self, text):
        first = re.match(r"(?:\w+, )?(\w+)", text)
        return super().asks(text) or bool(first and first[1].lower() in QUESTION_WORDS)

    def confides(self, text):
        return bool(_CONFIDES.search(text))

    def manner(self, text):
        greeting = Intent.GREETING if _GREETS.search(text) else None
        return Manner("bitte" in text.lower(), greeting)
