"""Whether a line asks that it be kept in confidence: a learned score over its words.

The rules of `addressing` know the usual wordings ("don't tell anyone"); players have others ("u
didn't hear it from me, and the candle neither"). Fitted by `python -m benchmarks.confidences`.
"""

from __future__ import annotations

from pathlib import Path

from .word_score import WordScore

score = WordScore(Path(__file__).with_name("confidence_weights.json"))
