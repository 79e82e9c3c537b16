"use strict";
// What if: runs of the session under other profiles and budgets. While one is under way, its row is asked for again.
const whatIf = { timer: 0, rows: [], key: "", isLost: false };
const POLL = 400, LATER = 3000;
const NAMES = { recorded: "as recorded", everything: "everything, cached" };
const isUnderWay = (row) => row.state === "waiting" || row.state === "running";

const showWhatIf = () => {
  const key = JSON.stringify([current.id, chosenPrices()]);
  if (key !== whatIf.key) {
    if (!whatIf.key || JSON.parse(whatIf.key)[0] !== current.id) { whatIfState(""); takeRuns([]); }
    whatIf.key = key;
    guarded(() => askRuns(""))();
  }
};
const askRuns = async (path) => {
  clearTimeout(whatIf.timer);
  const { key } = whatIf;
  let rows;
  try {
    rows = await askSession(`what-if${path}${path.includes("?") ? "&" : "?"}${withPrices()}`);
  } catch (error) {
    if (key !== whatIf.key) return;
    whatIfState(`${error.message}.`, true);
    whatIf.isLost = !path;
    if (whatIf.rows.some(isUnderWay)) whatIf.timer = setTimeout(() => askRuns(""), LATER);
    return;
  }
  if (key !== whatIf.key) return;
  if (whatIf.isLost) whatIfState("");
  whatIf.isLost = false;
  takeRuns(rows);
  if (rows.some(isUnderWay)) whatIf.timer = setTimeout(guarded(() => askRuns("")), POLL);
};
const whatIfState = (words, isWrong = false) => {
  one("#what-if-state").textContent = words;
  one("#what-if-state").classList.toggle("wrong", isWrong);
};
// Says what has ended; progress is in the rows, since it changes too often to be read out.
const takeRuns = (rows) => {
  const before = new Map(whatIf.rows.map((row) => [row.id, row.state]));
  const ended = rows.filter((row) => !isUnderWay(row) && before.has(row.id) && before.get(row.id) !== row.state);
  if (ended.length) whatIfState(ended.map((row) => `${runName(row)}: ${row.state}.`).join(" "));
  whatIf.rows = rows;
  const focused = document.activeElement && document.activeElement.dataset.run;
  one("#what-if-rows tbody").replaceChildren(...rows.map(runLine));
  one("#what-if-rows").hidden = !rows.length;
  if (focused) { const again = one(`#what-if-rows [data-run="${focused}"]`); if (again) again.focus(); }
};
const runName = (row) => NAMES[row.kind] || `${row.profile || "default"}${row.budget ? `, ${shownBudget(row)}` : ""}`;
const shownBudget = (row) => /^\d+$/.test(row.budget) ? short(Number(row.budget)) : row.budget;

const runLine = (row) => {
  const line = make("tr", "", row.kind === "preview" ? "" : "base"), { figures } = row;
  line.append(cell("profile", NAMES[row.kind] || row.profile), cell("budget", shownBudget(row), row.state === "failed" ? "" : "n"));
  if (figures) line.append(...figureCells(figures));
  else {
    const told = make("td", "", row.state === "failed" ? "wrong" : "");
    told.colSpan = 6;
    told.append(...progressOf(row));
    line.append(told);
  }
  const last = make("td");
  if (isUnderWay(row)) last.append(runButton(row, "Cancel", () => askRuns(`/${row.id}/cancel`)));
  else if (figures && row.kind !== "everything") last.append(runButton(row, "Open", () => openRun(row)));
  line.append(last);
  if (figures && row.kind === "recorded" && figures.reported) line.cells[0].append(make("small", reportedWords(figures)));
  if (figures && figures.refused) line.cells[0].append(make("small", `${grouped(figures.refused)} of its requests would not fit: ${clip(figures.why, 200)}`));
  return line;
};
const figureCells = (figures) => {
  const percent = (share) => share === null ? "" : `${Math.round(share * 100)}%`;
  return [cell("requests", grouped(figures.requests), "n"), cell("dollars", dollars(figures.dollars), "n"), cell("from cache", percent(figures.share), "n"),
    cell("folds", grouped(figures.folds), "n"), cell("largest request", grouped(figures.largest), "n"), cell("older evidence kept", percent(figures.older) || "none used", "n")];
};
const reportedWords = (figures) => {
  const paid = figures.reported_dollars === null ? "" : `${dollars(figures.reported_dollars)}, `;
  return `reported by the provider for ${grouped(figures.reported)} of them: ${paid}${Math.round((figures.reported_share || 0) * 100)}% from the cache`;
};
const progressOf = (row) => {
  if (row.state === "failed") return [row.error];
  if (row.state === "cancelled") return ["cancelled"];
  if (row.state === "waiting") return ["waiting"];
  const bar = make("progress");
  bar.max = row.total || 1; bar.value = row.done;
  bar.setAttribute("aria-label", `${runName(row)}: ${row.stage}`);
  return [bar, ` ${row.stage === "packing" ? "packing" : "looking for evidence"}, ${grouped(row.done)} of ${grouped(row.total)} requests`];
};
const runButton = (row, words, work) => {
  const button = make("button", words);
  button.type = "button";
  button.dataset.run = `${row.id} ${words}`;
  button.setAttribute("aria-label", `${words} ${runName(row)}`);
  button.addEventListener("click", guarded(work));
  return button;
};
// Shows a run in the timeline, by the form above it.
const openRun = (row) => {
  const form = one("#choice");
  form.elements.shown.value = row.kind;
  form.elements.profile.value = row.kind === "preview" ? row.profile : "";
  form.elements.budget.value = row.kind === "preview" ? row.budget : "";
  enable();
  form.requestSubmit();
  one("#timeline").focus();
};
one("#what-if").addEventListener("submit", (event) => {
  event.preventDefault();
  const query = new URLSearchParams(new FormData(one("#what-if")));
  const known = new Set(whatIf.rows.map(({ id }) => id)), words = "Replaying…";
  whatIfState(words);
  guarded(async () => {
    await askRuns(`/start?${query}`);
    // Unless it is under way, or something else was said.
    if (one("#what-if-state").textContent !== words || whatIf.rows.some(isUnderWay)) return;
    const started = whatIf.rows.find(({ id }) => !known.has(id));
    whatIfState(started ? `${runName(started)}: ${started.state}.` : "This was replayed before.");
  })();
});
