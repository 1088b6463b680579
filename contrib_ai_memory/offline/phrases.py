"""Stock phrases of the offline provider, their tones, and which of them is said next.

A builder chooses a tone for an NPC by the setting TONE; a tone replaces phrases of `PHRASES`, and
the setting PHRASES overrides both. A tone is chosen, not read from the persona: a description tells
who somebody is, seldom how they talk.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ..english.reported_speech import capital
from ..records import Reply, ReplyRequest

Phrases = Mapping[str, tuple[str, ...]]

PHRASES: Mapping[str, tuple[str, ...]] = {
    "greeting": ("Well met, {name}.", "Good to meet you, {name}."),
    "returning": ("Well met, {name}. Good to see you again.", "Ah, {name}. Welcome back."),
    "has word": ("A word with you, {name}.", "{name}, before I forget."),
    "has news": ("Have you heard, {name}?", "There is news, {name}.", "Did you know, {name}?"),
    "own goal": (
        "All I want is to {topic}. Have you heard anything that helps, {name}?",
        "I have been thinking, {name}, how to {topic}. What would you do?",
    ),
    "spoke of": (
        "Ah, {name}. I have thought of {topic} since you were here.",
        "Well met, {name}. Last time we spoke of {topic}.",
        "{name}! You told me of {topic} when you were last here.",
    ),
    "greeted again": ("Hello, {name}.", "And a good day to you, {name}."),
    "called": (
        "Yes, {name}?",
        "I am listening, {name}.",
        "What can I do for you, {name}?",
        "Go on, {name}.",
    ),
    "long absent": ("{name}! I have not seen you since {when}.",),
    "parting": (
        "Farewell, {name}.",
        "Safe travels, {name}.",
        "Go well, {name}.",
        "Until next time, {name}.",
    ),
    "parting at night": (
        "Good night, and sleep well, {name}.",
        "Good night to you, {name}.",
        "And a good night to you, {name}.",
    ),
    "thanks": (
        "You are welcome, {name}.",
        "Gladly, {name}.",
        "It was nothing, {name}.",
        "Any time, {name}.",
    ),
    "gift": (
        "Thank you, {name}.",
        "How kind, {name}. Thank you.",
        "Many thanks, {name}.",
        "That is kind of you, {name}, thank you.",
    ),
    "gift of": (
        "{topic}! Thank you, {name}.",
        "{topic}. How kind of you, {name}. Thank you.",
        "{topic}! Many thanks, {name}.",
        "{topic}? That is kind of you, {name}, thank you.",
    ),
    "wellbeing": (
        "Well enough, {name}. And you?",
        "I cannot complain, {name}.",
        "As ever, {name}. How are you?",
    ),
    "heard": (
        "I see, {name}.",
        "Is that so, {name}?",
        "I will keep that in mind, {name}.",
        "So that is how it is, {name}.",
    ),
    "shown": ("{topic}, {name}?", "What is it with {topic}, {name}?"),
    "touched": ("And to you, {name}.", "You are a good soul, {name}."),
    "provoked": (
        "Mind what you do, {name}.",
        "That will do, {name}.",
        "Once more, {name}, and you go.",
    ),
    "alarm of fire": (
        "Water, wet blankets, sand, whatever is at hand! Out of the way, all of you!",
        "I am coming, {name}! Get everybody out, and bring water!",
        "Buckets, all of you! Stay low, and away from the smoke!",
    ),
    "alarm of a wound": (
        "Cloths and water, quick! Make room, I am coming!",
        "I am coming, {name}! Bring cloths and water, and do not move them!",
        "Stand back, all of you! Clean cloths, and press on it, {name}!",
    ),
    "alarm": (
        "Stay together, everybody! Show me where, {name}!",
        "I am coming, {name}! Keep away from it, all of you!",
        "To me, all of you! What do you see, {name}?",
    ),
    "settled": (
        "Then that is settled, {name}.",
        "That is off the slate, then, {name}.",
        "Good, that is done with, {name}.",
    ),
    "settled of": (
        "{topic}: paid, then. Thank you, {name}.",
        "{topic}, counted and paid, {name}. I thank you.",
        "{topic}: paid, and we are square, {name}. My thanks.",
    ),
    "owed": (
        "{topic}: so I will reckon it, {name}.",
        "{topic}. I will not forget it, {name}.",
        "{topic}. It goes in the book, {name}.",
    ),
    "owed between others": ("{topic}: so it stands, then, {name}.", "{topic}. I see, {name}."),
    "promised": (
        "I count on it, {name}, and thank you.",
        "That is good of you, {name}.",
        "I will hold you to that, {name}.",
    ),
    "promised of": (
        "{topic}. I count on it, {name}, and thank you.",
        "{topic}, then. That is kind of you, {name}.",
        "{topic}: I will look out for it, {name}, and thank you.",
    ),
    "planned": ("{topic}, then, {name}.", "{topic}: good luck with it, {name}."),
    "insulted": (
        "I have been called worse, {name}.",
        "Mind your tongue, {name}.",
        "Is that the best you can do, {name}?",
    ),
    "chatter": ("Mm.", "Well, well.", "Indeed.", "So it goes.", "Aye."),
    "apology": (
        "No harm done, {name}.",
        "Think nothing of it, {name}.",
        "It is forgotten, {name}.",
    ),
    "corrected": (
        "Then I had it wrong, {name}.",
        "I stand corrected, {name}.",
        "My mistake, {name}.",
    ),
    "set right": (
        "{topic}, then. I had it otherwise.",
        "{topic} it is, {name}.",
        "{topic}, then, {name}. So I will keep it.",
    ),
    "compliment": (
        "You are kind, {name}. Thank you.",
        "Thank you, {name}. That is good to hear.",
        "I thank you for that, {name}.",
        "That is kindly said, {name}, thank you.",
    ),
    "no news": ("I have heard nothing new, {name}.",),
    "known": ("Of course, {name}.", "How could I forget you, {name}?"),
    "not known": ("I do not think that we have met, {name}.",),
    "not seen": ("I have not seen you here before today, {name}.",),
    "no tale": ("I am no teller of tales, {name}. Tell me one of yours.",),
    "secrecy": ("I can, {name}. What is told to me in confidence stays with me.",),
    "own life": ("I could not tell you, {name}.", "I do not think much about that, {name}."),
    "as it was told": ("So I heard it, {name}.", "That is how I remember it, {name}."),
    "quite sure": ("As sure as I can be, {name}.",),
    "stays with me": ("What is told to me in confidence stays with me, {name}.",),
    "nothing given by": ("{whom} has given me nothing that I remember.",),
    "nothing given": ("You have given me nothing that I remember, {name}.",),
    "no word left": ("No word is waiting for you, {name}.",),
    "service": (
        "I will see what can be done, {name}.",
        "Let me see what there is, {name}.",
        "One moment, {name}. I will look.",
    ),
    "sorry": (
        "I am sorry, {name}. Sit down a while.",
        "That is hard, {name}. Come and sit with me.",
        "I am sorry to hear it, {name}. I am here.",
        "That is no small thing, {name}. Take your time.",
    ),
    "sorry for": (
        "I am sorry about {topic}, {name}. Sit down a while.",
        "{topic}... that is hard, {name}. I am here.",
        "I am sorry, {name}. Come and sit with me, and tell me about {topic}.",
        "That is no small thing, {name}. I am sorry about {topic}.",
    ),
    "glad": (
        "That is good news, {name}! I am glad.",
        "How good to hear, {name}!",
        "Well, that is something to be glad of, {name}!",
    ),
    "offered": (
        "That is kind of you, {name}.",
        "You are good to offer, {name}.",
        "Thank you, {name}. I may hold you to that.",
    ),
    "invited": (
        "Another time perhaps, {name}, but thank you.",
        "It is good of you to ask, {name}, but I am needed here.",
        "You go ahead, {name}. I had better stay.",
    ),
    "made up": (
        "Then it is forgotten, {name}.",
        "Good. We will say no more of it, {name}.",
        "All is well between us, {name}.",
    ),
    "reproached": (
        "I am sorry, {name}. I will put it right.",
        "You do well to tell me, {name}. I am sorry.",
        "That should not be, {name}. Forgive me.",
    ),
    "bereaved": (
        "I am so sorry, {name}. There are no words for that.",
        "That is a heavy loss, {name}. I am sorry.",
        "I grieve with you, {name}. Sit with me a while.",
    ),
    "low": (
        "Sit with me a while, {name}. You need not say anything.",
        "That weighs on you, {name}. I am here.",
        "It will not always feel like this, {name}.",
    ),
    "afraid": (
        "Easy now, {name}. One thing at a time.",
        "You are not alone with it, {name}.",
        "Take a breath, {name}. We will see it through.",
    ),
    "weary": (
        "Sit down and rest a while, {name}.",
        "You have earned a rest, {name}. Sit.",
        "Take your ease, {name}. There is no hurry.",
    ),
    "angry": (
        "That would anger me too, {name}.",
        "I can see why that galls you, {name}.",
        "No wonder that you are angry, {name}.",
    ),
    "boasted": (
        "Did you now, {name}! I would have liked to see that.",
        "That is no small thing, {name}, if it is true.",
        "You do nothing by halves, {name}.",
    ),
    "joked": (
        "Ha! That was a good one, {name}.",
        "Ha! You will be the death of me, {name}.",
        "Ha! Very good, {name}.",
        "You and your tongue, {name}!",
    ),
    "riddle": (
        "I give up, {name}. Tell me.",
        "You have me there, {name}. What is it?",
        "I cannot guess it, {name}. Go on.",
    ),
    "grim news": (
        "That is grim news, {name}.",
        "That is terrible to hear, {name}.",
        "Those are dark tidings, {name}.",
    ),
    "news": (
        "You do not say, {name}.",
        "Is that so, {name}? Well, well.",
        "So that is how it is, {name}.",
    ),
    "helps": (
        "I am coming, {name}!",
        "Here I am, {name}! Tell me what to do.",
        "At once, {name}!",
    ),
    "favour": (
        "Let me think about that, {name}.",
        "We will see, {name}.",
        "I will not say no, {name}, but let me think about it.",
    ),
    "wager": (
        "I do not wager, {name}, but I will gladly watch.",
        "Keep your stake, {name}. I never bet.",
        "I had better not take that up, {name}.",
    ),
    "confessed": (
        "It takes courage to say so, {name}.",
        "What is done is done, {name}. What counts is what you do now.",
        "I will not be your judge, {name}.",
    ),
    "agreed": (
        "There is something in that, {name}.",
        "You may well be right, {name}.",
        "True enough, {name}.",
    ),
    "answered": ("Good, {name}.", "Very well, {name}.", "All right, {name}."),
    "own view": (
        "Hard to say, {name}. What do you think?",
        "I would not like to judge that, {name}.",
        "Ask me again when I have slept on it, {name}.",
    ),
    "pressed": (
        "I have said what I can, {name}.",
        "You will get no more out of me, {name}.",
        "No, {name}. Leave it at that.",
    ),
    "good luck": (
        "Good luck with it, {name}.",
        "May it go well, {name}.",
        "I wish you luck with that, {name}.",
    ),
    "cannot think": (
        "My head is full of fog just now, {name}. Give me a moment.",
        "Give me a moment, {name}. I cannot gather my thoughts.",
    ),
    "too fast": ("One thing at a time, {name}.",),
    "crowded": ("Not now, {name}: there are too many before you.",),
    "asked asleep": ('{name}, you asked me something while I slept: "{question}"',),
    "confided": (
        "It stays with me, {name}.",
        "Nobody will hear it from me, {name}.",
        "Not a word of it to anyone, {name}.",
        "Safe with me, {name}; no one will know.",
    ),
    "reminds": (
        "{topic}. I will remind you, {name}.",
        "{topic}: I will not let you forget.",
        "{topic}. It is noted, {name}.",
    ),
    "asked for": (
        "I will see to it, {name}.",
        "You can count on me, {name}.",
        "Leave it to me, {name}.",
    ),
    "asked for a day": (
        "{topic}: I will see to it, {name}.",
        "{topic}. Leave it to me, {name}.",
        "{topic}: it shall be done, {name}.",
    ),
    "ordered": (
        "{topic}: coming, {name}.",
        "{topic}, {name}: right away.",
        "{topic}. You shall have it, {name}.",
    ),
    "relieved": ("That is a relief, {name}.", "Thank goodness, {name}.", "Good to hear, {name}."),
    "passes on": (
        "{topic}: I will pass it on to {whom}.",
        "{topic}. {whom} will hear it from me.",
        "{topic}: I will tell {whom}, {name}.",
    ),
    "passes on word": ("I will pass it on to {whom}, {name}.", "I will tell {whom}, {name}."),
    "nothing": (
        "I know nothing about that, {name}.",
        "I have heard nothing about that, {name}.",
        "That I do not know, {name}.",
    ),
    "nothing open": (
        "Nothing is open that I know of, {name}.",
        "Nothing is open as far as I know, {name}.",
    ),
    "ask them": (
        "I know nothing about that, {name}, but {topic} might.",
        "You had better ask {topic}, {name}.",
    ),
}
_SENTENCES = re.compile(r"(?<=[.!?]) ")
_TOPIC_BEGINS = re.compile(r"(?:^|(?<=[.!?] ))\{topic\}")
_WORD = re.compile(r"[^\W_]+")
# those that answer no question and bind to nothing: a small model may say other words. It
# answers an apology with another, and its tales go round in circles
SMALL_TALK = frozenset(
    "greeting,returning,greeted again,called,long absent,parting,parting at night,thanks,wellbeing,"
    "chatter,compliment,insulted,sorry,sorry for,glad,bereaved,low,afraid,weary,angry,"
    "joked,boasted,riddle,grim news,news,made up,agreed,answered,good luck,invited,"
    "own view".split(",")
)
FORMER = (  # kinds that are said no more
    "doubt,not sure,tired,so it is,of itself,no such thing,asks name,asks what happened,"
    "asks who,glad of,taken up,joked of,boasted of,insulted by,alarm of,forbidden,"
    "alarm of another kind,unsaid,misheard,dropped,no more"
).split(",")
TONES: Mapping[str, Phrases] = {
    "plain": {},
    "warm": {
        "greeting": ("Welcome, {name}! Come in.", "A pleasure, {name}. Make yourself at home."),
        "returning": ("{name}! How good to see you.", "Welcome back, my dear {name}."),
        "called": ("I am all ears, {name}.", "Still glad that you are here, {name}."),
        "parting": ("Take good care of yourself, {name}.", "Come back soon, {name}."),
        "thanks": ("You are most welcome, {name}.", "Always, {name}."),
        "gift": ("Oh, {name}, how kind of you. Thank you!",),
        "wellbeing": ("All the better for seeing you, {name}. How are you?",),
        "heard": (
            "I am glad that you told me, {name}.",
            "Thank you for telling me. I will keep it in mind.",
            "I will not forget that, {name}.",
        ),
        "sorry": ("Oh, {name}, I am so sorry.", "My poor {name}."),
        "glad": ("How lovely, {name}!", "That warms my heart, {name}."),
        "apology": ("Think nothing of it, my dear {name}.",),
        "compliment": ("How kind of you to say so, {name}!",),
        "known": ("How could I forget you, {name}?",),
        "no tale": ("I would rather hear one of yours, {name}.",),
        "nothing": ("I wish I knew, {name}, but I have heard nothing about that.",),
    },
    "gruff": {
        "greeting": ("Aye. {name}, is it?", "What do you want, {name}?"),
        "returning": ("You again, {name}.", "{name}. Back, are you?"),
        "greeted again": ("Aye, {name}.", "Aye, {name}. Still here."),
        "called": ("What is it?", "Well? Out with it."),
        "parting": ("Off with you, then.", "Mind the step, {name}."),
        "thanks": ("Hm.", "Forget it."),
        "gift": ("Hm. My thanks.", "Good of you, {name}."),
        "wellbeing": ("Still standing.", "Busy."),
        "heard": (
            "Hm. Right.",
            "Is that so, {name}.",
            "If you say so, {name}.",
            "Aye, I hear you.",
            "Noted, {name}.",
        ),
        "sorry": ("That is hard, {name}.", "Hard luck, {name}.", "Bad business, that."),
        "sorry for": ("{topic}? Hard luck, {name}.",),
        "alarm of fire": ("Out of the way! Water, and run!", "Water, quick! Mind the smoke!"),
        "alarm of a wound": ("Make room! Cloths and water!", "Cloths, quick! Hold still!"),
        "alarm": ("Out of the way! Where, {name}?", "Nobody moves! Where is it?"),
        "relieved": ("About time.", "Good. Back to work, then."),
        "asked for": ("Right.", "If I must, {name}."),
        "asked for a day": (
            "{topic}. Right, {name}.",
            "{topic}. If I must.",
            "{topic}: it will be done.",
        ),
        "ordered": (
            "{topic}. Coming, {name}.",
            "{topic}. Sit, {name}.",
            "{topic}. Give me a moment.",
        ),
        "touched": ("Hm. Enough of that.", "Aye, {name}.", "That will do, {name}."),
        "provoked": ("Once more, and you are out, {name}.", "Watch it, {name}."),
        "promised": ("I will believe it when I see it, {name}.", "See that you do, {name}."),
        "promised of": ("{topic}. I will believe it when I see it.", "{topic}. See that you do."),
        "settled of": ("{topic}. About time, {name}.", "{topic}. All there, {name}."),
        "owed": ("{topic}. I do not forget, {name}.", "{topic}. It goes on the slate, {name}."),
        "insulted": ("Say that again, {name}.", "There is the door, {name}."),
        "planned": ("{topic}. Right, {name}.", "{topic}. Good luck with it."),
        "gift of": (
            "{topic}. Hm. My thanks.",
            "{topic}. Good of you, {name}.",
            "{topic}. I can use that.",
        ),
        "glad": ("Good for you, {name}!", "Well, that is something!"),
        "bereaved": ("That is a hard blow, {name}. I am sorry.", "I am sorry for it, {name}."),
        "low": ("Sit, {name}. It passes.", "Aye. Some days are like that, {name}."),
        "afraid": ("Steady, {name}.", "Chin up, {name}. One thing at a time."),
        "weary": ("Sit down, then, before you fall down.", "Sit, {name}."),
        "angry": ("It would rile me too, {name}.", "Aye, that is enough to make a stone swear."),
        "offered": ("I manage, {name}. But thank you.", "Hm. Good of you."),
        "invited": ("Not me, {name}.", "I have work to do, {name}."),
        "made up": ("Good. Then let it lie.", "Aye, well. Forgotten."),
        "reproached": ("Hm. I will look to it.", "Let me see it, then, {name}."),
        "boasted": ("I will believe it when I see it, {name}.", "Did you now."),
        "joked": ("Ha. Not bad, {name}.", "Hah! Get on with you."),
        "riddle": ("How should I know? Out with it.", "No idea. Tell me."),
        "grim news": ("Bad business, that.", "Grim. Very grim."),
        "news": ("Is that so.", "Hm. You do not say."),
        "helps": ("Coming!", "Here. What now?"),
        "favour": ("We will see.", "Do not count on it, {name}."),
        "wager": ("I do not bet.", "Keep your coin, {name}."),
        "confessed": ("Well, it is out now.", "I have heard worse, {name}."),
        "agreed": ("Aye.", "True enough."),
        "answered": ("Good.", "Right, then."),
        "own view": ("Not for me to say.", "What do you think?"),
        "pressed": ("I have said my piece, {name}.", "No means no."),
        "good luck": ("Good luck with it.", "Mind how you go about it, {name}."),
        "apology": ("Forget it.", "Aye, well.", "Let it lie, {name}."),
        "corrected": ("Is that so.",),
        "compliment": ("Hm. My thanks.", "Good to hear.", "Kind of you, {name}."),
        "known": ("Aye, {name}.",),
        "not known": ("Should I?",),
        "no tale": ("Do I look like a minstrel?",),
        "cannot think": ("Not now, {name}. My head is full of fog.",),
        "own life": ("My own affair.", "What is it to you?"),
        "nothing": ("No idea, {name}.", "How should I know?"),
    },
    "formal": {
        "greeting": ("Good day to you, {name}.", "I bid you welcome, {name}."),
        "returning": ("I am pleased to see you again, {name}.", "Welcome back, {name}."),
        "called": ("How may I be of service, {name}?", "I am listening, {name}."),
        "parting": ("I wish you a safe journey, {name}.", "Until we meet again, {name}."),
        "thanks": ("It was my pleasure, {name}.", "Not at all, {name}."),
        "gift": ("I am much obliged to you, {name}.",),
        "wellbeing": ("Very well, thank you, {name}. I trust that you are too?",),
        "heard": (
            "I shall bear that in mind, {name}.",
            "I have taken note of it.",
            "Very well, {name}. I shall remember it.",
        ),
        "sorry": ("You have my sympathy, {name}.", "I am grieved to hear it."),
        "glad": ("I am delighted to hear it, {name}.", "My congratulations, {name}."),
        "apology": ("Pray do not mention it, {name}.",),
        "compliment": ("You are most kind, {name}.",),
        "known": ("Certainly, {name}.",),
        "no tale": ("I regret that I am no storyteller, {name}.",),
        "cannot think": ("Forgive me, {name}. My thoughts are elsewhere for a moment.",),
        "nothing": ("I regret that I know nothing about that, {name}.",),
    },
}


def says(kind: str, request: ReplyRequest, **more: str) -> Reply:
    """Return a reply that is a stock phrase alone."""
    return Reply(phrase(kind, request, **more), told=(), row=kind, small_talk=kind in SMALL_TALK)


def phrase(kind: str, request: ReplyRequest, **more: str) -> str:
    """Return a stock phrase of the NPC: the first, or the next if it has said that lately.

    A sentence that it has said lately, whoever heard it, is left out if the rest says as much.
    """
    choices = request.phrases.get(kind) or PHRASES[kind]
    names = _words(" ".join((request.speaker, *request.situation.known_names)))
    said = {
        _words(sentence, names): place
        for place, text in enumerate(request.said_lately, start=1)
        for sentence in _SENTENCES.split(text)
    }
    said.pop((), None)  # a name alone
    filled = [
        _SENTENCES.split(_filled(each, {"name": request.speaker, **more})) for each in choices
    ]
    chosen = min(filled, key=lambda each: max(said.get(_words(one, names), 0) for one in each))
    new = [each for each in chosen if _words(each, names) not in said]
    nothing = ((), _words(more.get("topic", ""), names))  # "A mug." alone says nothing either
    return " ".join(new if any(_words(each, names) not in nothing for each in new) else chosen)


def _words(text: str, without: Collection[str] = ()) -> tuple[str, ...]:
    return tuple(word for word in _WORD.findall(text.lower()) if word not in without)


def addressed(text: str, name: str) -> str:
    """Return words with the name of the one they are for, unless they hold it.

    >>> addressed("Two pips.", "Nell"), addressed('Bram said: "Two pips."', "Nell")
    ('Two pips, Nell.', 'Nell: Bram said: "Two pips."')
    """
    if name.lower() in text.lower():
        return text
    if text[-1:] in (".", "!", "?"):
        return f"{text[:-1]}, {name}{text[-1]}"
    return f"{name}: {text}"


def _filled(text: str, values: Mapping[str, str]) -> str:
    begins = capital(values.get("topic", ""))
    text = _TOPIC_BEGINS.sub(lambda _: begins, text)
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return text


def last_words(request: ReplyRequest) -> str:
    """Return what the NPC said last in this conversation."""
    own = (turn.content for turn in reversed(request.conversation) if turn.role == "assistant")
    return next(own, "")
