"use strict";
// The list of sessions.
let rows = [], round = 0;
const showList = async () => {
  const own = ++round;
  one("#session").hidden = true;
  one("#where").textContent = "";
  document.title = "Holdfast view";
  state("Loading sessions…");
  rows = (await ask("sessions")).map((session) => ({ session, line: listLine(session) }));
  one("#list tbody").replaceChildren(...rows.map((row) => row.line));
  one("#sessions").hidden = false;
  state(rows.length ? "" : "There is no session yet. Run an agent, or name a recording: holdfast view recording.jsonl");
  filter();
  for (const row of rows) {
    if (own !== round) return;
    await fillFigures(row);
  }
  filter();
};
const listLine = (session) => {
  const line = make("tr"), first = make("td");
  const link = make("a", clip(session.title || session.id, 160));
  link.href = `#/${encodeURIComponent(session.id)}`;
  first.append(link, make("small", session.id));
  line.append(first, cell("agent", clip(session.source, 60)), cell("model"), cell("requests", "", "n"), cell("tokens", "", "n"),
    cell("dollars", "", "n"), cell("from cache", "", "n"), cell("folds", "", "n"), cell("last activity", when(session.last_at), "when"));
  return line;
};
const cell = (name, words = "", kind = "") => { const made = make("td", words, kind); made.dataset.name = name; return made; };
const fillFigures = async (row) => {
  try { fill(row, await ask(`sessions/${encodeURIComponent(row.session.id)}/figures`)); } catch (error) { row.line.title = error.message; }
};
const fill = (row, figures) => {
  row.model = figures.model;
  const share = figures.cache_read_share;
  const words = [clip(figures.model, 60), grouped(figures.requests), figures.tokens ? short(figures.tokens) : "",
    figures.dollars === null ? "" : dollars(figures.dollars), share === null ? "" : `${Math.round(share * 100)}%`, grouped(figures.folds)];
  words.forEach((word, at) => { row.line.cells[at + 2].textContent = word; });
};
const filter = () => {
  const sought = one("#search").value.toLowerCase();
  let shown = 0;
  for (const { session, line, model } of rows) {
    line.hidden = ![session.title, session.id, session.source, model || ""].some((text) => text.toLowerCase().includes(sought));
    shown += !line.hidden;
  }
  one("#none").hidden = shown > 0 || !rows.length;
};
one("#search").addEventListener("input", filter);
