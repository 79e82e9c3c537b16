"use strict";
// The list of sessions. It is searched and sorted as data and drawn in parts, so that thousands of rows stay fluid.
const DRAWN = 100;
// Sessions in larger files are read for their figures only when they are opened, or when all are asked for.
const SMALL = 5e6;
// `all` are the rows of a store or a folder, or of the one `file`; `found` those that match, in order; `drawn` how many have a line.
const list = { file: null, all: [], found: [], drawn: 0, column: "last", isUp: false };
let round = 0;
const figure = (name) => (row) => row.figures ? row.figures[name] : null;
// What a column is sorted by: texts from A to Z first, numbers from the largest; what is not known comes last.
const SORT_KEYS = {
  session: (row) => titleOf(row.session).toLowerCase(), agent: (row) => row.session.source, model: (row) => modelOf(row) || null,
  steps: figure("steps"), tokens: figure("tokens"), dollars: figure("dollars"), cache: figure("cache_read_share"),
  folds: (row) => row.figures ? row.figures.folds + row.figures.compactions : null,
  last: (row) => (row.figures && row.figures.last_at) || row.session.last_at,
};
const TEXTS = new Set(["session", "agent", "model"]);
const titleOf = (session) => session.title || session.place || session.id;
const modelOf = (row) => row.figures ? row.figures.model : row.session.model;
const bytes = (n) => n >= 1e6 ? `${(n / 1e6).toFixed(1)} MB` : `${Math.max(Math.round(n / 1000), 1)} kB`;

// All sessions, or those in a file that holds several.
const showList = async (file = null) => {
  const own = ++round;
  one("#session").hidden = true;
  one("#where").textContent = "";
  one("#sessions-title").replaceChildren(...(file ? ["Sessions in ", make("bdi", file.title)] : ["Sessions"]));
  document.title = file ? `${visible(file.title)} · Holdfast view` : "Holdfast view";
  state("Loading sessions…");
  const path = file ? `sessions/${encodeURIComponent(file.id)}/inside` : "sessions";
  const [sessions, refused] = await Promise.all([ask(path), ask("refused")]);
  if (own !== round) return;
  const known = new Map(list.all.map((row) => [row.session.id, row]));
  list.file = file;
  list.all = sessions.map((session) => {
    const before = known.get(session.id);
    return listRow(session, before && before.session.last_at === session.last_at ? before.figures : null);
  });
  showRefused(refused);
  one("#sessions").hidden = false;
  state(list.all.length ? "" : "There is no session yet. Run an agent, or name a recording or a folder: holdfast view recording.jsonl");
  arrange();
  await readFigures(() => list.found.slice(0, list.drawn).filter((row) => row.session.size <= SMALL), own);
};
const listRow = (session, figures = null) =>
  ({ session, figures, text: [session.title, session.place || session.id, session.source, session.model].join("\n").toLowerCase() });
const showRefused = ({ total, files }) => {
  one("#refused").hidden = !total;
  one("#refused summary").textContent = `${grouped(total)} ${total === 1 ? "file is" : "files are"} not shown`;
  const more = total - files.length;
  one("#refused ul").replaceChildren(...files.map((file) => {
    const item = make("li");
    item.append(make("bdi", file.place), `: ${visible(file.why)}`);
    return item;
  }), ...(more ? [make("li", `and ${grouped(more)} more`)] : []));
};

const isSought = (row) => one("#search").value.toLowerCase().split(/\s+/).every((word) => row.text.includes(word) || modelOf(row).toLowerCase().includes(word));
// Search, sort, and draw the first part.
const arrange = () => {
  const key = SORT_KEYS[list.column], sign = list.isUp ? 1 : -1;
  list.found = list.all.filter(isSought);
  const keys = new Map(list.found.map((row) => [row, key(row)]));
  list.found.sort((a, b) => {
    const left = keys.get(a), right = keys.get(b), isKnown = (value) => value !== null && value !== undefined;
    if (!isKnown(left) || !isKnown(right)) return isKnown(right) - isKnown(left);
    return left < right ? -sign : left > right ? sign : 0;
  });
  for (const head of document.querySelectorAll("#list th")) {
    const isSorted = head.querySelector("button").dataset.column === list.column;
    head.setAttribute("aria-sort", !isSorted ? "none" : list.isUp ? "ascending" : "descending");
  }
  list.drawn = 0;
  one("#list tbody").replaceChildren();
  drawMore();
  tellCount();
};
const drawMore = () => {
  const part = list.found.slice(list.drawn, list.drawn + DRAWN);
  one("#list tbody").append(...part.map((row) => (row.line = listLine(row))));
  list.drawn += part.length;
  tellMore();
};
const tellMore = () => {
  one("#list-more").hidden = list.drawn >= list.found.length;
  one("#list-more").textContent = `Show more: ${grouped(list.found.length - list.drawn)} left`;
};
// A session that is new comes on top, however the others are sorted: they stay under the eye and the focus of a reader.
const addRow = (session) => {
  const row = listRow(session);
  list.all.unshift(row);
  if (!isSought(row)) return row;
  list.found.unshift(row);
  one("#list tbody").prepend(row.line = listLine(row));
  list.drawn += 1;
  return row;
};
const keepRows = (isKept) => {
  for (const row of list.found.slice(0, list.drawn)) if (!isKept(row)) { row.line.remove(); list.drawn -= 1; }
  list.all = list.all.filter(isKept);
  list.found = list.found.filter(isKept);
};
const unread = () => list.all.filter((row) => !row.figures && !row.why && !row.session.is_several);
const tellCount = () => {
  const all = list.all.length, left = unread().length;
  one("#none").hidden = list.found.length > 0 || !all;
  one("#list-count").textContent = !all ? "" : `${list.found.length === all ? "" : `${grouped(list.found.length)} of `}${grouped(all)} ${all === 1 ? "session" : "sessions"}`;
  // Apart from the status: it changes with every session that is read.
  one("#list-unread").textContent = left ? `${grouped(left)} not read yet, and without figures` : "";
  one("#list-read").hidden = !left;
};
const listLine = (row) => {
  const { session } = row, line = make("tr"), first = make("td");
  const link = make("a", clip(titleOf(session), 160));
  link.href = `#/${encodeURIComponent(session.id)}`;
  const where = session.is_several ? "a file with several sessions" : session.place || session.id;
  const about = make("small");
  about.append(make("bdi", clip(where, 120)), session.size ? ` · ${bytes(session.size)}` : "");
  first.append(link, about);
  line.append(first, cell("agent"), cell("model"), ...["steps", "tokens", "dollars", "from cache", "folds"].map((name) => cell(name, "", "n")), cell("last activity", "", "when"));
  fill(line, row);
  return line;
};
const cell = (name, words = "", kind = "") => { const made = make("td", words, kind); made.dataset.name = name; return made; };
const fill = (line, row) => {
  const { session, figures: known } = row, share = known && known.cache_read_share;
  const words = [clip(session.source, 60), clip(modelOf(row), 60), known ? grouped(known.steps) : "", known && known.tokens ? short(known.tokens) : "",
    known && known.dollars !== null ? dollars(known.dollars) : "", share === null ? "" : `${Math.round(share * 100)}%`,
    known ? grouped(known.folds + known.compactions) : "", when(SORT_KEYS.last(row))];
  words.forEach((word, at) => { line.cells[at + 1].textContent = visible(word); });
  if (row.why) line.cells[2].textContent = visible(row.why);
};
// Figures are read one session after the other, as long as the list is shown.
const readFigures = async (wanted, own) => {
  const next = () => wanted().find((row) => !row.figures && !row.why && !row.session.is_several);
  for (let row = next(); row && own === round; row = next()) {
    await readRow(row);
    if (own !== round) return;
    tellCount();
  }
};
const readRow = async (row) => {
  row.why = "";
  try { row.figures = await ask(`sessions/${encodeURIComponent(row.session.id)}/figures`); } catch (error) { row.why = error.message; }
  if (row.line) fill(row.line, row);
};
one("#search").addEventListener("input", arrange);
one("#list thead").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const { column } = button.dataset;
  list.isUp = column === list.column ? !list.isUp : TEXTS.has(column);
  list.column = column;
  arrange();
});
one("#list").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], links = [...document.querySelectorAll("#list tbody a")];
  const at = links.indexOf(document.activeElement);
  if (!step || at < 0) return;
  event.preventDefault();
  if (at + step >= links.length) drawMore();
  const next = document.querySelectorAll("#list tbody a")[at + step];
  if (next) next.focus(); else if (at + step < 0) one("#search").focus();
});
one("#list-more").addEventListener("click", drawMore);
new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) drawMore(); }).observe(one("#list-more"));
one("#list-read").addEventListener("click", guarded(async () => {
  await readFigures(() => list.found, round);
  arrange();
}));
