"use strict";
// The second list of the window's search: texts of the log so far with these words that the window lacks, or shows only in part.
const leftOut = { own: 0, shown: 0, total: 0 };
const leftOutPart = (first) => askSession(`requests/${current.at + 1}/left-out?${current.choice}&first=${first}&words=${encodeURIComponent(one("#words").value)}`);
const clearLeftOut = () => {
  leftOut.own++;
  leftOut.shown = 0;
  one("#left-out").hidden = !one("#words").value.trim();
  one("#left-state").textContent = "Searching…";
  one("#left-rows").replaceChildren();
  one("#left-rows").hidden = one("#left-more").hidden = true;
};
const showLeftOut = async () => {
  clearLeftOut();
  const own = leftOut.own;
  if (!one("#words").value.trim()) return;
  try {
    addLeftOut(await leftOutPart(0), own);
  } catch (error) {
    if (own === leftOut.own) one("#left-state").textContent = `${error.message}.`;
  }
};
const addLeftOut = (found, own) => {
  if (own !== leftOut.own || found.first !== leftOut.shown) return;
  leftOut.shown += found.rows.length;
  leftOut.total = found.total;
  one("#left-state").textContent = found.total ? `${grouped(found.total)} ${found.total === 1 ? "text has" : "texts have"} these words where the window does not show them, the newest first`
    : "Nothing that was left out of this window has these words.";
  one("#left-rows").append(...found.rows.map(leftOutLine));
  one("#left-rows").hidden = !leftOut.shown;
  one("#left-more").hidden = leftOut.shown >= leftOut.total;
  one("#left-more").textContent = `Show more: ${grouped(leftOut.total - leftOut.shown)} left`;
};
const leftOutLine = (row) => {
  const [before, match, after] = row.excerpt, text = make("span", "", "first");
  text.append(visible(before), make("mark", match), visible(after));
  const label = [row.step ? `step ${row.step}` : "user message", row.tool && `result of ${row.tool}`].filter(Boolean).join(", ");
  return sourceLine({ ...row, words: one("#words").value, sources: [{ entry: row.entry, label }] },
    [make("span", row.kind, "what"), text, make("span", [row.tool, row.step ? `step ${grouped(row.step)}` : ""].filter(Boolean).join(", "), "step"), make("span", row.where, `where ${row.presence}`)]);
};
one("#left-more").addEventListener("click", guarded(async () => {
  const own = leftOut.own;
  addLeftOut(await leftOutPart(leftOut.shown), own);
}));
