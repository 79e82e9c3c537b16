"""Programs of awk: which of them only print."""

import pytest

from holdfast.tools.commands.readers import is_harmless_awk

PRINTS = [
    "NR>10",
    "{print $1}",
    "$3 > 100 {print $1}",
    "length($0) > 80",
    "length > 72",
    "{ if ($1 > 5) print $2 }",
    'NR>10 {print FILENAME":"$0}',
    "/a|b/ {print}",
    'BEGIN{FS=","} {print $1" | "$2}',
    "{a[$1]+=$2} END{for (k in a) print k, a[k]}",
    "!seen[$0]++",
    "NR==FNR{a[$1];next} $1 in a",
    "{x=$1/2; y=$2/3; print x/y}",
    '/start/,/end/ {print NR": "$0}',
    '{gsub(/[^a-z]/,""); sub(/[[:space:]]+$/, ""); print}',
    "{print\n if ($2 > 3) n++}\nEND{print n}",
    "# a comment > x | y\n{print}",
    '{printf "%s > %s\\n", $1, $2}',
    "{n = ($1 > 5) ? 1 : 0; print n}",
    "$NF ~ /x\\/y/ || $1 !~ /a/ || $2 > .5",
]
REACHES = [
    '{print > "out"}',
    '{print $1,\n $2 > "out"}',
    '{print a ?\n b : c > "out"}',
    '{print $1 \\\n > "out"}',
    '{print >> "out"}',
    '{printf("%s", $1) > "out"}',
    '{print (1)(2) > "out"}',
    '{print /x/ > "out"}',
    '{print x /y/ 2 > "out"}',
    'NR==1print>"out"',
    "{system($1)}",
    '{"date" | getline d}',
    '{getline x < "/etc/passwd"}',
    '{print | "sh"}',
    '{print "a" |& "cmd"}',
    'BEGIN{close("sh")}',
    'BEGIN{ARGV[1]="/etc/passwd"}',
    "BEGIN{for (k in ENVIRON) print k}",
    '@include "x"',
    '{ @f("x") }',
    # Where these patterns end is not the same to all programs; read wrongly, what follows is text in quotes.
    '/[]/"]/ {system("x")} #"',
    '/[[:alpha:]/"]/ {system("x")} #"',
    '{if (x) /"/; print > "f" #"\n}',
    '{a = b ++ /"/; print > "f" } #"',
    '{a = length /"/; print > "f" } #"',
    '{print é > "f"}',
    "'",
    "`x`",
    '{x = "a\\\n" }',
    '{x = "never closed }',
    "/never closed",
]


@pytest.mark.parametrize("program", PRINTS, ids=str)
def test_what_only_prints(program):
    assert is_harmless_awk(program)


@pytest.mark.parametrize("program", REACHES, ids=str)
def test_what_may_reach_files_and_commands(program):
    assert not is_harmless_awk(program)
