"""The second level of the archive: one entry that stands for several, when they have grown too many.

Rule: out of what the entries say and the facts of all they cover; the entries stay in the log, and what the user
demanded stays word for word.
"""

from collections.abc import Callable, Sequence

from holdfast.compaction.earlier import lines_of
from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.extract import facts_of
from holdfast.compaction.forms.form import Form
from holdfast.compaction.repair import repair
from holdfast.events import Compacted, SummaryLine
from holdfast.packing.window import Window


def stand_for(
    window: Window,
    ids: Sequence[str],
    form: Form,
    evidence: Evidence,
    budget: int,
    count: Callable[[str], int],
) -> Compacted:
    """An archive entry for those with these ids, in at most `budget` tokens where their floor allows it.

    `evidence` is what they were held against, and all that came since.
    """
    entries = [window.transcript.compactions.archive[id_] for id_ in ids]
    first, last = entries[0].first, entries[-1].last
    start, end = window.position(first), window.position(last) + 1
    repaired = repair(
        lines_of(form, entries),
        (),
        facts_of(window.transcript, start, end),
        form,
        evidence,
        archive=True,
        replaced_tokens=budget + 1,
        count=count,
    )
    lines = tuple(SummaryLine(line.text, line.sources, line.by) for line in repaired.content.lines())
    return Compacted(
        slot="archive",
        text=form.render(repaired.content),
        first=first,
        last=last,
        sources=tuple(dict.fromkeys(source for line in lines for source in line.sources)),
        lines=lines,
        above=tuple(ids),
    )
