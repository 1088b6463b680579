"""How much of a line is told: the whole line against the part that answers the question.

Lines of plays, stays and evenings that answer a question and have several clauses, as the reader
has chosen them; nothing is played. "Lost" are answers that the line holds and its part does not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from statistics import fmean

from .evenings_data import NOT_ANSWERABLE, Question, files, load, play_files, stay_files
from .harness import Bar, Report, arguments, configure_alone, progress
from .served import holds

LOST = 4.0  # percent


def told(every: int) -> Iterator[tuple[Question, str, str]]:
    """Yield questions with the line that answers and the part of it that is told.

    Args:
        every: Of so many files, one is read.
    """
    from contrib_ai_memory.english.questions import asks_of_a_whole
    from contrib_ai_memory.english.reported_speech import clauses
    from contrib_ai_memory.offline import reader, sentence_answers
    from contrib_ai_memory.records import MemoryRecord, ReplyRequest

    network = reader.shared()
    assert network, "the bundled embedding model is not installed"
    for file in progress([*play_files(), *stay_files(), *files()][::every], "read", "file"):
        evening = load(file)
        lines = {each.id: each for each in evening.lines}
        for question in evening.every_question:
            if question.kind in NOT_ANSWERABLE or asks_of_a_whole(question.text):
                continue
            name = evening.npc.name
            asks = ReplyRequest(
                name, "", question.asked_by, None, question.text, npc_names=evening.npc.aliases
            )
            for line in filter(None, map(lines.get, question.evidence)):
                if line.speaker == name or line.kind not in ("say", "whisper"):
                    continue
                memory = MemoryRecord(line.id, line.text, "entry", "said", speaker=line.speaker)
                for text in sentence_answers.cut(line.text):
                    if not holds(text, question.expect) or len(clauses(text)) < 2:
                        continue
                    read = reader.question_read(asks.speaker, name, question.text)
                    [score] = network.scores(read, [reader.sentence_read(line.speaker, None, text)])
                    if score >= sentence_answers.UNSURE:
                        whole = sentence_answers.SentenceCandidate(text, memory, "")
                        part = sentence_answers.to_the_question(whole, asks)
                        yield question, text, part.text


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--every", type=int, default=1, help="read one of so many files")
    given = parser.parse_args()
    configure_alone()
    found = list(told(given.every))
    report = Report("benchmarks.spans", "the lines that answer, and what is told of them")
    lost = 100 * fmean(not holds(part, question.expect) for question, _line, part in found)
    row = {
        "lines": len(found),
        "told in part": 100 * fmean(part != line for _question, line, part in found),
        "words of a line": fmean(len(line.split()) for _question, line, _part in found),
        "words told": fmean(len(part.split()) for _question, _line, part in found),
        "lost": lost,
    }
    report.table([*row], [row])
    report.bars.append(Bar("answers lost", lost, LOST, "%"))
    return report.finish(given.json)


if __name__ == "__main__":
    sys.exit(main())
