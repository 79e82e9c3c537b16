"""Directives: what a user demanded or forbade for good, sentence by sentence, in English and Chinese.

Rule: a sentence counts if it says so itself: it forbids, binds, restricts or prefers. A question does not count,
nor does a plain request, nor anything in code, quotes or pasted output. Losing a demand costs more than keeping a
sentence too many, so a sentence in doubt is kept. English patterns read lower case, and where a word must be is
part of its pattern: `don't` forbids at the head of a clause, and tells something after a subject.
"""

import re
from collections import deque
from collections.abc import Iterator

from holdfast.views.prose import TextSpan, sentences

_LEADING = (
    r"(?:(?:and|but|so|please|just|also|then|or|now|ok|okay|yes|no|sure|instead|remember|note)[,:]?\s+){0,4}"
)
"""Words that lead up to a demand."""
_START = rf"^(?:[\w ]{{1,30}}:\s+)?{_LEADING}"
_CLAUSE = rf"(?:^|[,;:(—–→]\s*|\s--?\s+){_LEADING}"
_FORBIDS = (
    r"(?:(?:don'?t|do not|never)(?! (?:worry|know|think|see|remember|understand|mind|care|bother|get it))"
    r"|avoid|prefer|refrain|make no|make sure|be sure|stop \w+ing|hold off|stick (?:to|with)"
    r"|leave \S.{0,80}(?:alone|as[ -]is|untouched))\b"
)

FORBIDDEN = re.compile(_CLAUSE + _FORBIDS)
"""A clause that forbids or insists."""

FORBIDDEN_LATER = re.compile(rf"\b(?:and|but|please|so|then)\s+{_FORBIDS}")
"""The same after another demand: of a sentence that tells something, it is part of what it tells."""

COMMANDED = re.compile(
    _START
    + r"(?:always(?!-)|keep|ensure (?!no\b)|try to|remember|important:|wait for|limit|restrict|minimi[sz]e"
    r"|ask (?:me|for|before|first|your)|strictly|no more|stop (?:when|if|and ask)"
    r"|only (?:use|ever|then|touch|change|modify|edit|provide|commit|run|build|work|do|add|look|fix|update|one"
    r"|this|these|the)"
    r"|align \S.{0,80} with|apply \S.{0,60}practices"
    r"|follow \S.{0,80}(?:exactly|strictly|conventions?|style|guidelines?|rules)"
    r"|(?:discuss|check|confirm|talk) (?:\S+ ){0,6}before)\b"
    rf"|{_CLAUSE}be (?:concise|terse|brief|thorough|careful|specific|precise|consistent)\b"
    r"|^(?:when|if|before|after|once|for|in) [^,]{1,160}, (?:please )?(?:always|try to|use|keep|ask|only|ensure)\b"
    r"|(?<!i'll )(?<!want to )\bmake sure\b|\bunder no circumstances\b"
    r"|\b(?:respect|adhere to|comply with|conform to) (?:the|our|my|all)\b"
    r"|\bplease (?:always |only )?(?:use|keep|follow|avoid|prefer|stick|write|call)\b"
)
"""A command how to work, at the head of a sentence, or one that is plain wherever it is."""

INSTEAD = re.compile(
    _CLAUSE + r"(?:\w+ )?(?:use|write|call|ask|do|name|put|run|try|go|pick|fix|add|say|let'?s use)\b.{1,160}?"
    r"(?:\binstead\b|\brather than\b|,? (?:and )?not (?!sure|yet)|, no |\beverywhere\b|\bthroughout\b"
    r"|\bconsistently\b|\bfor (?:all|every|each|any)\b)"
)
"""One thing and not another, or one thing everywhere."""

OBLIGED = re.compile(
    r"(?<!there )\bmust(?:n't)?\b(?! have been| be (?:because|why|that))"
    r"|\bshould(?:n't| not| never| always| only| avoid| stay| remain| keep)\b(?! be (?:an?|any|too|much|hard))"
    r"|\byou (?:cannot|can'?t|can only|should|may not)\b|\b(?:you|we) (?:always|never)\b|\bnot you \w+ing\b"
    r"|\bnot (?:allowed|permitted)\b|\bforbidden\b|\bprohibited\b|\bmandatory\b|\bsource of truth\b"
)
"""What must, must not or may not be."""

WISHED = re.compile(
    r"\b(?:i|we)(?:'d| would| do)? (?:(?:really |strongly |much )?prefer|rather|only want|(?:don'?t|never) want)\b"
    r"|\blet'?s (?:only|not|never|always|stick|keep|avoid|leave)\b|\b(?:just|only)\b.{1,60}\bfor now\b"
    r"|\bfrom now on\b|\bgoing forward\b|\bhenceforth\b|\bin (?:the )?future,"
    r"|\b(?:every|each) time you\b|\bwhenever you\b|\bno need (?:to|for)\b"
    r"|\bwithout (?:asking|permission|my|approval|modifying|changing|touching|breaking|adding|removing)\b"
)
"""What somebody wants from now on."""

LIMITED = re.compile(
    r"\b(?:only|single|one) file (?:to (?:modify|change|touch|edit)|changes)\b|\bisolated to\b"
    r"|\bno (?:existing|other) \S.{0,40}(?:modified|changed|touched)\b"
    r"|^(?:make|fix|change|do|run|use|apply|implement|add|update|write|edit|touch|commit|test|look|work|create"
    r"|build|remove|move|show)\b.{1,160}\bonly (?:for|in|on|to)\b"
)
"""How far the work may go."""

NONE_OF = re.compile(
    r"no (?!need|wait|it|i\b|that|this|the|we|you|they|he\b|there|worries|problem|idea|longer|one\b|changes?\b"
    r"|sorry|don|just|because|so\b|but|not|matter|way|doubt|errors?\b|issues?\b|regressions?\b|lint|new tests"
    r"|file)[^\s,]+(?: (?!provided|found|needed|detected|shown|created|displayed|between|within|is|are|was|were"
    r"|will)\S+){0,5}$"
)
"""A clause such as `no console logs`."""

SHOUTED = re.compile(
    r"\b(?:NEVER|MUST|ALWAYS|ONLY|DO NOT|DON'T|DONT|REQUIRED [A-Z-]+|AVOID|FORBIDDEN|CANNOT)\b|\bSTOP(?=[ .:])"
)
"""Read in the case it is written in."""

TOLD = re.compile(r"(?:i|we|it|they|he|she|you|this|that|these|those|the|there|a|an|if|when|but also)\b")
"""How a sentence begins that tells something."""

CHINESE = re.compile(
    r"不要|别(?![人的处说名是])|切勿|勿|不得|不可以|不允许|不许|不准|(?<!能)不能(?!够)|禁止|严禁|必须|务必|一定要"
    r"|永远|始终|总是|只能|只允许|只(?:用|改|修改|使用|需)|仅(?:仅|在|用|对|修改|改|限|显示)|严格(?:按|遵守)"
    r"|尽量|尽可能|优先|统一(?:用|使用|为)|以后|今后|从现在起|不需要|无需|不用|不修改|请勿|记得|千万|请使用|请用"
    r"|^(?:避免|确保|保持|保留)|[：:]保持|^[^→]{1,40}不变。?$"
)
CHINESE_CHECK = re.compile(r"确认|验证|检查")
"""How a step of a check begins, which says what will be seen."""

QUESTION = re.compile(r"[?？][\"'”’)\]]*$|[吗嘛么呢][。！]?$|能不能|是不是|要不要|有没有|可不可以")


LONGEST = 700
"""Characters of a sentence that somebody may have meant as a demand."""

SHORT_LINE = 300
"""Characters of a line that stays whole where only the gist of a message does."""

_QUOTED = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|`[^`\n]{1,300}`|「[^」\n]{1,300}」|『[^』\n]{1,300}』"
)
_MARKS = re.compile(r"[*_~]{1,3}(?=\S)|(?<=\S)[*_~]{1,3}|<[/\w -]{1,60}>")
_ANYWHERE = (FORBIDDEN, COMMANDED, INSTEAD, OBLIGED, WISHED, LIMITED)


def directives(text: str) -> Iterator[TextSpan]:
    """Where the directives of a user message are in it, in order."""
    for start, end in sentences(text):
        if end - start <= LONGEST and is_directive(text[start:end]):
            yield start, end


def gist(text: str, most: int = 12) -> list[str]:
    """First line and directives of a user message, line by line: what it asked, and what it forbade.

    Of a long line only the beginning stays, or the directives in it.
    """
    spans, kept, at = deque(directives(text)), list[str](), 0
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        while spans and spans[0][1] <= start:
            spans.popleft()
        said = []
        for first, last in spans:
            if first >= at:
                break
            said.append(text[max(first, start) : min(last, at - 1)])
        if line.strip() and (said or not kept):
            kept.append(_short(line.strip(), said, is_first=not kept))
        if len(kept) == most:
            break
    return kept


def _short(line: str, said: list[str], *, is_first: bool) -> str:
    if len(line) <= SHORT_LINE:
        return line
    head = line[:SHORT_LINE]
    return "… ".join([head, *(s for s in said if s not in head)] if is_first else said) + "…"


def is_directive(sentence: str) -> bool:
    """Whether a sentence of a user demands or forbids something for good."""
    bare = _MARKS.sub("", _QUOTED.sub("Q", sentence)).strip()
    if QUESTION.search(bare):
        # `Reflect on this before you answer: is it right?` demands before it asks.
        bare, colon, _ = bare.partition(": ")
        if not colon:
            return False
    if CHINESE.search(bare):
        return not CHINESE_CHECK.match(bare)
    lowered = bare.lower().replace("’", "'")
    if SHOUTED.search(bare) or any(pattern.search(lowered) for pattern in _ANYWHERE):
        return True
    if TOLD.match(lowered):
        return False
    clauses = (clause.strip(" !.") for clause in lowered.split(","))
    return bool(FORBIDDEN_LATER.search(lowered)) or any(map(NONE_OF.fullmatch, clauses))
