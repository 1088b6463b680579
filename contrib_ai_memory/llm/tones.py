"""Tones: sets of stock phrases, chosen for an NPC by the setting TONE.

A tone replaces phrases of `offline_reply.PHRASES`; what it does not have stays as it is there. The
setting PHRASES goes before both. It is chosen, not read from the persona: a description
tells who somebody is, seldom how they talk.
"""

from __future__ import annotations

from collections.abc import Mapping

Phrases = Mapping[str, tuple[str, ...]]

TONES: Mapping[str, Phrases] = {
    "plain": {},
    "warm": {
        "greeting": ("Welcome, {name}! Come in.", "A pleasure, {name}. Make yourself at home."),
        "returning": ("{name}! How good to see you.", "Welcome back, my dear {name}."),
        "greeted again": ("I am all ears, {name}.", "Still glad that you are here, {name}."),
        "parting": ("Take good care of yourself, {name}.", "Come back soon, {name}."),
        "thanks": ("You are most welcome, {name}.", "Always, {name}."),
        "gift": ("Oh, {name}, how kind of you. Thank you!",),
        "wellbeing": ("All the better for seeing you, {name}. How are you?",),
        "heard": (
            "I am glad that you told me, {name}.",
            "Thank you for telling me. I will keep it in mind.",
            "I will not forget that, {name}.",
        ),
        "taken up": (
            "{topic}! I will remember that, {name}.",
            "{topic}, is it? I am glad that you told me.",
        ),
        "sorry": ("Oh, {name}, I am so sorry.", "My poor {name}."),
        "glad": ("How lovely, {name}!", "That warms my heart, {name}."),
        "apology": ("Think nothing of it, my dear {name}.",),
        "compliment": ("How kind of you to say so, {name}!",),
        "of itself": ("You do notice things, {name}.",),
        "known": ("How could I forget you, {name}?",),
        "no tale": ("I would rather hear one of yours, {name}.",),
        "nothing": ("I wish I knew, {name}, but I have heard nothing about that.",),
    },
    "gruff": {
        "greeting": ("Aye. {name}, is it?", "What do you want, {name}?"),
        "returning": ("You again, {name}.", "{name}. Back, are you?"),
        "greeted again": ("You said that already.", "Well? Out with it."),
        "parting": ("Off with you, then.", "Mind the step, {name}."),
        "thanks": ("Hm.", "Forget it."),
        "gift": ("Hm. My thanks.",),
        "wellbeing": ("Still standing.", "Busy."),
        "heard": ("Noted.", "Hm. Right.", "If you say so, {name}."),
        "taken up": ("{topic}. Hm.", "{topic}, is it. Noted."),
        "sorry": ("Hard luck, {name}.", "Bad business, that."),
        "glad": ("Good for you.", "Well, that is something."),
        "asks who": ("Noted. And who is {topic}?",),
        "asks what happened": ("What happened?",),
        "apology": ("Forget it.", "Aye, well."),
        "riddle": ("Heard it.", "Hm. Ha."),
        "corrected": ("Is that so.",),
        "misheard": ("Then ask it plainly.",),
        "compliment": ("Hm. If you like.",),
        "of itself": ("And?", "What of it?"),
        "known": ("Aye, {name}.",),
        "not known": ("Should I?",),
        "no tale": ("Do I look like a minstrel?",),
        "own life": ("My own affair.", "What is it to you?"),
        "nothing": ("No idea, {name}.", "How should I know?"),
    },
    "formal": {
        "greeting": ("Good day to you, {name}.", "I bid you welcome, {name}."),
        "returning": ("I am pleased to see you again, {name}.", "Welcome back, {name}."),
        "greeted again": ("How may I be of service, {name}?", "I am listening, {name}."),
        "parting": ("I wish you a safe journey, {name}.", "Until we meet again, {name}."),
        "thanks": ("It was my pleasure, {name}.", "Not at all, {name}."),
        "gift": ("I am much obliged to you, {name}.",),
        "wellbeing": ("Very well, thank you, {name}. I trust that you are too?",),
        "heard": (
            "I shall bear that in mind, {name}.",
            "I have taken note of it.",
            "Very well, {name}. I shall remember it.",
        ),
        "taken up": ("{topic}. I have taken note of it.", "{topic}, you say. I shall remember."),
        "sorry": ("You have my sympathy, {name}.", "I am grieved to hear it."),
        "glad": ("I am delighted to hear it, {name}.", "My congratulations, {name}."),
        "apology": ("Pray do not mention it, {name}.",),
        "riddle": ("Most amusing, {name}.",),
        "compliment": ("You are most kind, {name}.",),
        "of itself": ("I must take your word for it, {name}.",),
        "known": ("Certainly, {name}.",),
        "no tale": ("I regret that I am no storyteller, {name}.",),
        "nothing": ("I regret that I know nothing about that, {name}.",),
    },
}


def phrases_of(tone: str, own: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the phrases of an NPC: those of its tone, then its own.

    Args:
        tone: A name of `TONES`.
        own: Phrases that replace those of the tone, by kind.
    """
    return {**TONES[tone], **own}
