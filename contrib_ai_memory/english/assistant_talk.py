"""Whether a model speaks as the assistant that it is rather than as its character.

A sentence counts as an assistant's if it is much nearer to one of `ASSISTANT` than to all of
`CHARACTER`, which a character may well say instead. Of 1,487 sentences of NPCs (evenings, stays,
replies of a strong model) none counts; of 21 of assistants that were not looked at, ten to fifteen.
"""

from __future__ import annotations

from ..embedding import embedder, model
from .questions import sentences_of

ASSISTANT = (
    "As an AI language model, I do not have personal experiences or feelings.",
    "I'm just a virtual assistant, and I have no mother.",
    "I am a text-based AI, a language model, and cannot drink or feel.",
    "I'm sorry, but I can't assist with that request.",
    "I'm sorry, but I can't assist with that.",
    "I'm sorry, but I can't help with that.",
    "I'm sorry, but I can't help with that, since it violates my guidelines.",
    "I cannot fulfil this request because it goes against my guidelines.",
    "I cannot provide that information, since it is not in the given context.",
    "I cannot generate a response to that.",
    "I apologize, but I am unable to continue this conversation as you asked.",
    "I don't have enough information to answer your question about this person.",
    "I do not have access to personal information about individuals.",
    "Please provide more context so that I can give you a better response.",
    "Let me know if you have any other questions or need further assistance!",
    "I'm sorry for the confusion; here is the corrected response.",
    "Sure! Here is a response that the character might give.",
    "I have written a reply in the voice of the character.",
    "I cannot take part in this kind of roleplay.",
    "The answer to the question has already been given.",
    "The user asks a question that the conversation does not answer.",
    "The prompt does not say who that is.",
)
CHARACTER = (
    "I'm sorry, I can't help you with that.",
    "I cannot answer that, and I will not try.",
    "I don't know, and I have heard nothing of it.",
    "I am sorry for it.",
    "Sorry, no.",
    "How can I help you?",
    "Is there anything else that you need?",
    "I won't speak of that.",
    "I refuse to go on with this talk.",
    "I cannot permit that; it is against the rules of this house.",
    "I'd rather not discuss it here.",
    "I can't do that for you, not for any coin.",
    "I couldn't tell you who that is.",
    "That is all I know about them.",
    "Ask somebody else about that.",
    "Thank you for telling me.",
    "I have told you that already.",
    "You have asked me that before.",
    "She does not ask questions.",
    "He asked me a question that I could not answer.",
)
LIKE = 0.5  # cosine with one of ASSISTANT
NEARER = 0.2  # than to any of CHARACTER
SAME = 0.75  # from which any nearer will do


def is_of_assistant(text: str) -> bool:
    """Whether a sentence of a text is an assistant's (worker thread)."""
    shared = embedder.shared()
    if shared.name != model.NAME:  # the bounds are those of the bundled model
        return False
    sentences = sentences_of(text)
    vectors = shared.encode([*sentences, *ASSISTANT, *CHARACTER])
    said, known = vectors[: len(sentences)], vectors[len(sentences) :]
    similar = said @ known.T
    assistant = similar[:, : len(ASSISTANT)].max(axis=1, initial=0)
    nearer = assistant - similar[:, len(ASSISTANT) :].max(axis=1, initial=0)
    same = (assistant >= SAME) & (nearer > 0)
    return bool((same | ((assistant >= LIKE) & (nearer >= NEARER))).any())
