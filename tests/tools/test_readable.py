"""What of a page is read, and how it is laid out."""

import pytest

from holdfast.tools.web.readable import readable_text

ADDRESS = "http://a.example/"


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>NO</p>",
        "<p style='display: none'>NO <b>NO<p>",
        "<div><p hidden>NO</div>",
        "<p hidden>NO<hr/>",
        "<ul><li hidden>NO<ul><li>NO</ul>NO<li>Item</ul>",
        "<ul><li hidden>NO</ul>",
        "<table><tr><td hidden>NO<table><tr><td>NO</table>NO<td>Cell<tr hidden><td>NO<td>NO</table>",
        "<dl><dt hidden>NO<dd>Meaning</dl>",
        "<table><thead hidden><tr><th>NO<tbody><tr><td>Cell</table>",
    ],
)
def test_text_that_is_hidden_is_left_out_and_what_follows_is_kept(hidden):
    text = readable_text(f"<body><h1>Top</h1>{hidden}<p>Seen.</p>", ADDRESS)
    assert "NO" not in text
    assert "Seen." in text
    for word in ("Item", "Cell", "Meaning"):
        assert (word in text) == (word in hidden)


def test_rows_of_a_table_need_no_end_marks():
    text = readable_text("<table><tr><th>a<th>b<tr><td>1<td>2</table><p>After.</p><p>Last.</p>", ADDRESS)
    rows = [row.replace("  ", " ") for row in text.splitlines()]
    assert rows == ["| a | b |", "| --- | --- |", "| 1 | 2 |", "", "After.", "", "Last."]
