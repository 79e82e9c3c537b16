"""What a change is for, as its author says: commit messages, and the title and text of a pull request.

Rule: data. It explains a finding and hides none: what a rule finds is one step less severe where a sentence of the
author is about it, and that sentence is shown beside it.
"""

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from holdfast.redaction import redact
from holdfast.review.finding import SEVERITIES, Finding

LONGEST = 300
"""Characters of the sentence that is shown."""
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n\s*\n|\n\s*(?=[-*•])")
_NEGATED = re.compile(r"\b(?:not|no|never|nothing|without)\b|n't\b|[不没未]", re.IGNORECASE)
_TEST = r"\b(?:unit |integration )?tests?\b|\bspecs?\b|测试|用例"
_REMOVE = r"\b(?:remov|delet|drop|obsolet|superse|replac|mov|merg|redundan|duplicat)\w*|删|移除|去掉|合并"
_REVERT = r"^revert(?:s|ed)?\b|^(?:回滚|撤销)"
_REWRITE = r"\b(?:redesign|rewrit|rework|restructur)\w*|重写|重构"
_SKIP = r"\b(?:skip|disabl|ignor|quarantin|flak|xfail)\w*|跳过|禁用|忽略"
_LOCK = r"\block(?:[ -]?files?)?\b|\.lock\b|\bdependenc\w+|\btransitive\b|\bgo\.sum\b|依赖|锁文件"
_UPDATE = (
    r"\b(?:updat|upgrad|bump|refresh|regenerat|re-?lock|add|pull|sync|leav|keep)\w*|升级|更新|新增|重新生成"
)
_MODE = r"\bexecutable\b|\bchmod\b|\+x\b|\bfile modes?\b|\bpermissions?\b|可执行|权限"
_ABOUT: dict[str, tuple[re.Pattern[str], ...]] = {
    rule: tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)
    for rule, patterns in {
        "deleted-test": (rf"{_REMOVE}|{_REVERT}|{_REWRITE}", rf"{_TEST}|{_REVERT}"),
        "weakened-test": (
            rf"{_REMOVE}|{_REVERT}|\b(?:relax|loosen|weaken)\w*|放宽",
            rf"{_TEST}|{_REVERT}|\bassert\w*|断言",
        ),
        "skipped-test": (_SKIP, _TEST),
        "lock-not-updated": (_LOCK,),
        "lock-without-manifest": (_LOCK, _UPDATE),
        "executable-mode": (_MODE,),
    }.items()
}
"""What a sentence must mention, all of it, to be about a finding of a rule."""
_MAY_BE_NEGATED = frozenset(("lock-not-updated",))
"""\"The lock file is not updated yet\" explains it."""


class ChangeIntent(Struct, frozen=True):
    """`messages` are those of the commits, the oldest first; `about` is what was told of the change beside them."""

    messages: tuple[str, ...] = ()
    about: str = ""

    def explain(self, finding: Finding) -> Finding:
        """The finding with the author's sentence about it, if there is one."""
        patterns = _ABOUT.get(finding.rule, ())
        for sentence in self._sentences() if patterns else ():
            is_said = finding.rule in _MAY_BE_NEGATED or not _NEGATED.search(sentence)
            if is_said and all(pattern.search(sentence) for pattern in patterns):
                lower = SEVERITIES[max(SEVERITIES.index(finding.severity) - 1, 0)]
                return replace(finding, severity=lower, explained=redact(sentence)[:LONGEST])
        return finding

    def _sentences(self) -> Iterator[str]:
        for text in (self.about, *self.messages):
            for part in _END.split(text):
                if sentence := " ".join(part.split()):
                    yield sentence
