"""Emotions: the 24 labels of Plutchik's wheel, and a classifier without a language model [B].

The labels are those of R. Plutchik, "The Nature of Emotions", American Scientist 89 (2001).
`python -m benchmarks.emotions` measures the classifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from .. import conf
from ..errors import InputError
from . import embedder

# the spokes of the wheel, each from the strongest to the mildest
FAMILIES = (
    ("ecstasy", "joy", "serenity"),
    ("admiration", "trust", "acceptance"),
    ("terror", "fear", "apprehension"),
    ("amazement", "surprise", "distraction"),
    ("grief", "sadness", "pensiveness"),
    ("loathing", "disgust", "boredom"),
    ("rage", "anger", "annoyance"),
    ("vigilance", "anticipation", "interest"),
)
LABELS = tuple(label for family in FAMILIES for label in family)
EMOTIONS = frozenset(LABELS)

BEST_LINES = 2  # of a label, whose mean counts: a single one may be near by chance

# the frame of a quotation, which carries no feeling
_QUOTED = re.compile(r'(?:^|(?<=[.!?"]\s))[^".!?]{1,80} says: "([^"]*)"')


class UnknownEmotion(InputError):
    """A label is not in the taxonomy."""


def classify(texts: list[str]) -> list[tuple[str, ...]]:
    """Return the three nearest emotions of each text, nearest first (worker thread)."""
    if not texts:
        return []
    words = embedder.shared()
    prototypes = _prototypes(words)
    vectors = words.encode([_QUOTED.sub(r"\1", text) for text in texts])
    cosines = np.einsum("td,lpd->tlp", vectors, prototypes)
    nearness = np.sort(cosines, axis=2)[:, :, -BEST_LINES:].mean(axis=2)
    nearest = np.argsort(-nearness, axis=1, kind="stable")[:, : conf.EMOTIONS_PER_EXPERIENCE]
    return [tuple(LABELS[index] for index in row) for row in nearest]


def validated(labels: object) -> tuple[str, ...]:
    """Return the first three different labels of the taxonomy, or none if there are fewer."""
    if not isinstance(labels, (list, tuple)):
        return ()
    found = [label for label in _normalised(labels) if label in EMOTIONS]
    if len(found) < conf.EMOTIONS_PER_EXPERIENCE:
        return ()
    return tuple(found[: conf.EMOTIONS_PER_EXPERIENCE])


def known(labels: Iterable[str]) -> tuple[str, ...]:
    """Return labels in the spelling of the taxonomy; a string is one label.

    Raises:
        UnknownEmotion: One is not in the taxonomy, or there are none.
    """
    found = _normalised([labels] if isinstance(labels, str) else labels)
    if not found or not EMOTIONS.issuperset(found):
        unknown = ", ".join(label for label in found if label not in EMOTIONS) or "nothing"
        raise UnknownEmotion(
            f"{unknown} is not an emotion of the taxonomy. The emotions are: {', '.join(LABELS)}."
        )
    return found


def _normalised(labels: Iterable[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(label).strip().lower() for label in labels))


@lru_cache(maxsize=2)
def _prototypes(words: embedder.Embedder) -> np.ndarray:
    """Return the vectors of PROTOTYPES, shape (labels, lines of a label, dimensions)."""
    lines = [line for label in LABELS for line in PROTOTYPES[label]]
    return words.encode(lines, keep=True).reshape(len(LABELS), -1, words.dimensions)


# what somebody who feels it might say, the same number of lines for each label
PROTOTYPES = {
    "ecstasy": (
        "I am overjoyed, this is the happiest day of my whole life!",
        "I am beside myself with happiness, I want to shout and sing and embrace everybody!",
        "Free at last! I am laughing and crying at once, I could burst with bliss!",
        "Victory! It is a miracle, a dream come true, I am in heaven!",
        "She loves me too! I am the luckiest man alive!",
        "My heart is leaping, I could dance on the tables all night!",
    ),
    "joy": (
        "I am so happy and delighted about this.",
        "What a beautiful day, it makes me glad to be alive.",
        "We laughed and sang together, it was a merry evening.",
        "How good it is to see you again, my dear friend!",
        "Good news at last, that makes me smile.",
        "The children are playing in the sun and the whole family is together.",
    ),
    "serenity": (
        "I feel calm, peaceful and content.",
        "All is quiet and still, I am at peace with the world.",
        "I sit in my garden in the evening sun and need nothing more.",
        "There is no hurry, let us rest here a while and listen to the stream.",
        "A warm bed, a full belly, and a mind at ease.",
        "It is a gentle, tranquil place, and I breathe freely here.",
    ),
    "admiration": (
        "I admire you greatly, you are a hero to me.",
        "What skill! There is no finer master of the craft in the land.",
        "She is the bravest woman I have ever known.",
        "I have the deepest respect for what he did, few would have dared.",
        "How clever and how noble you are, I wish that I were like you.",
        "He faced the enemy alone and saved us all, songs should be sung of him.",
    ),
    "trust": (
        "I trust you completely and rely on you.",
        "She is honest and loyal, she always keeps her word.",
        "I tell you my secret because I know that it is safe with you.",
        "You have stood by me for years, I would follow you anywhere.",
        "Hold on to my gold for me, I know you would never steal it.",
        "If he says so, then it is true.",
    ),
    "acceptance": (
        "That is all right, I accept it as it is.",
        "It cannot be changed, so I have made my peace with it.",
        "What is done is done, there is no use in complaining.",
        "You are welcome among us just as you are.",
        "I have lost much, but one grows used to it and makes do.",
        "It was his to give, and I do not quarrel with it.",
    ),
    "terror": (
        "I am terrified, run for your lives!",
        "Help! It is coming for us, it will kill us all!",
        "Monsters! They are everywhere, we are going to die!",
        "I screamed in horror, I was frozen with fright.",
        "Please, no, keep it away from me!",
        "It was a nightmare, the dead rose and came after me.",
    ),
    "fear": (
        "I am afraid, this is dangerous and it scares me.",
        "I dare not go in there, it is dark and there are beasts.",
        "Tell nobody, I beg you, or they will kill me.",
        "My heart pounds and I tremble at the sight of it.",
        "Hide, quick, before he finds us!",
        "I am frightened of what he might do to me.",
    ),
    "apprehension": (
        "I am worried and uneasy about what may come.",
        "I have a bad feeling about this.",
        "They are late, I hope that nothing has happened to them.",
        "Something is not right here, there will be trouble.",
        "I am nervous about tomorrow, what if it goes wrong?",
        "Those riders ask too many questions, I do not like the look of them.",
    ),
    "amazement": (
        "I am utterly astonished, I have never seen such a wonder!",
        "Incredible! It was magic, I could not believe my eyes!",
        "A castle of pure gold that floats in the air!",
        "I stood and stared in awe at the marvel.",
        "The wizard made the stars dance, nobody has ever seen anything like it!",
        "How is that possible? It is beyond anything I ever imagined!",
    ),
    "surprise": (
        "Oh! I did not expect that at all.",
        "You here? I thought that you were dead!",
        "Suddenly it popped out and made me jump.",
        "Really? Nobody told me that! Are you serious?",
        "What a turn of events, who would have guessed it?",
        "Well, look who it is, out of nowhere!",
    ),
    "distraction": (
        "Sorry, my mind was elsewhere, what were you saying?",
        "What did I come here for? I have forgotten.",
        "I was not listening, I was looking at the people over there.",
        "I cannot concentrate with all this noise.",
        "Now where did I put my glasses?",
        "Hm? Pardon? I was daydreaming.",
    ),
    "grief": (
        "My heart is broken, he is dead and I weep for him.",
        "We buried my child today.",
        "My husband is dead, how shall I live without him?",
        "I mourn for my brother, who fell in the battle.",
        "I cannot stop crying since she died.",
        "They killed my family, all that I loved is gone.",
    ),
    "sadness": (
        "I am sad, I miss what is lost.",
        "I am lonely, everybody has left me.",
        "She never came back, and I still wait for her.",
        "It is a pity, the house stands empty now.",
        "He forgot me, and that hurts.",
        "I feel so low and downcast, nothing cheers me.",
    ),
    "pensiveness": (
        "I sit and wonder about how things used to be.",
        "I often think about the past and what might have been.",
        "How quickly life goes by, I was young only yesterday.",
        "What does it all mean, I ask myself.",
        "I have been thinking about it for a long time, and I am not sure of the answer.",
        "Old memories come back to me on evenings like this.",
    ),
    "loathing": (
        "I despise them, they are vile and repulsive to me.",
        "They are scum, worse than vermin.",
        "I hate that man with all my heart, I cannot bear to look at him.",
        "Never say that villain's name to me, I curse it.",
        "Traitors and murderers, they deserve no mercy.",
        "It turns my stomach that such a man goes free.",
    ),
    "disgust": (
        "That is disgusting, it makes me sick.",
        "What a stench, I have to vomit!",
        "This fish is spoiled, spit it out.",
        "The water was foul, with dead things floating in it.",
        "Yuck, take that filthy thing away from me.",
        "Do not eat that, it is mouldy and crawling with worms.",
    ),
    "boredom": (
        "This is dull and tedious, nothing ever happens.",
        "The same again, day after day.",
        "He talks on and on, I nearly fell asleep.",
        "I have nothing to do but sit around and wait.",
        "How long is this going to take? I am yawning already.",
        "The hours creep by, I count the flies on the ceiling.",
    ),
    "rage": (
        "I am furious, I will make them pay for this!",
        "I will kill him with my bare hands!",
        "Let me at them, I will tear them apart!",
        "Damn him! I will burn down everything he owns!",
        "I was blind with fury and struck everything around me.",
        "Blood for blood! I want revenge!",
    ),
    "anger": (
        "I am angry about what they did.",
        "How dare you! You lied to me.",
        "You cheated me, give me my money back!",
        "That is unjust, they have no right to do so!",
        "It is all your fault, you should be ashamed of yourself.",
        "I am not going to let him get away with it.",
    ),
    "annoyance": (
        "That is irritating, stop bothering me.",
        "Not again! Leave me alone, will you?",
        "That noise all night, it gets on my nerves.",
        "Stop that, I told you before.",
        "He keeps interrupting me with his silly questions.",
        "What a nuisance, now I have to do it all over again.",
    ),
    "vigilance": (
        "Stay alert and keep watch, guard the door.",
        "Quiet! I heard something out there, be ready.",
        "Post sentries on the walls and let nobody pass.",
        "Keep your eyes open, they may attack at any moment.",
        "Hush! Did something move among the trees?",
        "Somebody may be following us, look behind you.",
    ),
    "anticipation": (
        "I am looking forward to it, I can hardly wait.",
        "Tomorrow is the feast, everything is prepared.",
        "Soon the caravan will arrive, I have been waiting for weeks.",
        "I have been practising for the tournament all summer.",
        "Only a few more days until the wedding!",
        "When spring comes I shall build a house, I have planned it all.",
    ),
    "interest": (
        "That is interesting, tell me more about it.",
        "How does that work? Show me!",
        "I should like to learn about it, have you got a book?",
        "Where did you find it, and who made it? I am curious.",
        "I could listen to such stories for hours, please go on.",
        "What was it like there? What did you see?",
    ),
}
