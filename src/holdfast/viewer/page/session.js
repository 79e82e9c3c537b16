"use strict";
// A session: what is shown of it, the chosen request, and the panel below the timeline.
// `at` is the place of the chosen request, from 0; `choice` the query for what is shown; `panel` what is below the timeline.
const current = { id: "", data: null, at: 0, choice: "", panel: "window", missing: 0 };
const timeline = new Timeline(one("#canvas"), (place) => guarded(go)(place));
const count = () => current.data.tokens.length;
const askSession = (path) => ask(`sessions/${encodeURIComponent(current.id)}/${path}`);

// --- panels: each has a tab `#tab-NAME`, a section `#panel-NAME`, and a function that shows the chosen request in it.
// One that shows the whole session too is shown again when a request is added.
const panels = new Map(), sessionPanels = new Set();
const addPanel = (name, show, { isOfSession = false } = {}) => {
  panels.set(name, show);
  if (isOfSession) sessionPanels.add(name);
  one(`#tab-${name}`).addEventListener("click", guarded(() => openPanel(name)));
};
const openPanel = async (name) => {
  current.panel = panels.has(name) ? name : "window";
  for (const each of panels.keys()) {
    const isOpen = each === current.panel, tab = one(`#tab-${each}`);
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    one(`#panel-${each}`).hidden = !isOpen;
  }
  keepPlace();
  if (current.data && count()) await showPanel();
};
// One at a time: while a key is held or the pointer moves, the requests between are passed over.
let showing = null, isAskedAgain = false;
const showPanel = () => {
  isAskedAgain = true;
  const work = async () => {
    try { while (isAskedAgain) { isAskedAgain = false; await panels.get(current.panel)(); } } finally { showing = null; }
  };
  showing = showing || work();
  return showing;
};
one("#tabs").addEventListener("keydown", (event) => {
  const names = [...panels.keys()], step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const next = names[(names.indexOf(current.panel) + step + names.length) % names.length];
  one(`#tab-${next}`).focus();
  guarded(openPanel)(next);
});
const keepPlace = () => {
  if (current.id) history.replaceState(null, "", `#/${encodeURIComponent(current.id)}/${current.at + 1}/${current.panel}`);
};

// --- the session

const showSession = async (wanted, number, panel) => {
  const own = ++round;
  one("#sessions").hidden = true;
  if (wanted !== current.id || !current.data) {
    one("#session").hidden = true;
    state("Reading the session…");
    const row = await ask(`sessions/${encodeURIComponent(wanted)}`);
    if (own !== round) return;
    if (row.is_several) { await showList(row); return; }
    // An export says what its first session is compared with.
    if (current.id) one("#compare-with").reset();
    current.id = wanted;
    current.data = null;
    const title = visible(clip(row.title || row.id, 400));
    one("#title").textContent = title;
    one("#where").replaceChildren(make("bdi", clip(row.source, 60)), " · ", make("bdi", row.place || row.id));
    document.title = `${title} · Holdfast view`;
    one("#choice").reset(); enable();
    await load("");
    if (own !== round) return;
  }
  sayLoaded();
  one("#session").hidden = false;
  current.panel = panel || current.panel;
  current.at = number ? number - 1 : count() - 1;
  await go(current.at, number > count() ? number : 0);
};
// A choice counts once its timeline is there: one that is refused changes nothing.
let loading = 0;
const load = async (choice) => {
  const own = ++loading;
  state("Reading the session…");
  const data = await askSession(`timeline?${choice}`);
  if (own !== loading) return;
  current.choice = choice;
  showTimeline(data);
};
const sayLoaded = () => {
  const isEmpty = !count();
  state(isEmpty ? "Nobody has asked a model in this session yet." : "");
  for (const name of ["#legend", "#timeline", "#keys", "#now", "#marks", "#tabs"]) one(name).hidden = isEmpty;
  if (isEmpty) for (const name of panels.keys()) one(`#panel-${name}`).hidden = true;
};
const showTimeline = (data) => {
  current.data = data;
  one("#shown").textContent = `This is ${data.shown}${data.profile ? ` (profile ${data.profile}, budget ${short(data.budget)})` : ""}.${data.remark ? ` ${data.remark}` : ""}`;
  sayUnread(data.unread);
  for (const name of ["profile", "budget"]) one("#choice").elements[name].disabled = data.basis === "list";
  sayLoaded();
  one("#legend").replaceChildren(...[...data.kinds, "cached"].map((kind) => {
    const item = make("li");
    item.append(make("span", "", `swatch ${kind}`), LAYERS[kind]);
    return item;
  }), make("li", "▼ fold  ■ compaction  ✕ overflow  ! error  ↶ rewind  ? shrunk"));
  timeline.show(data);
};
// What is damaged comes first, so it is said without opening the list.
const sayUnread = ([first, ...others]) => {
  one("#unread").hidden = !first;
  one("#unread summary").textContent = visible(`Import: ${first}${others.length ? `; and ${grouped(others.length)} more` : ""}`);
  one("#unread ul").replaceChildren(...others.map((words) => make("li", words)));
};
const LAYERS = { tools: "tools", system: "system", rules: "rules and context", summary: "summary", notes: "notes", steps: "kept steps",
  round: "current round", tail: "tail", cached: "faded: from the cache" };

// `missing` is the number that was asked for where there is no such request.
const go = async (place, missing = 0) => {
  if (!count()) return;
  current.missing = missing;
  current.at = Math.min(Math.max(place, 0), count() - 1);
  one("#follow").checked = current.at === count() - 1;
  sayChosen();
  await openPanel(current.panel);
};
const sayChosen = () => {
  const { data, at } = current;
  const cached = data.tokens[at] ? Math.round(data.cached[at] / data.tokens[at] * 100) : 0;
  const words = `${current.missing ? `There is no request ${grouped(current.missing)}, this is the last. ` : ""}Request ${grouped(at + 1)} of ${grouped(count())}, step ${data.step[at]}: ${grouped(data.tokens[at])} tokens, `
    + `${data.is_reported[at] ? `${grouped(data.reported[at])} by the provider's count, ${cached}% of them from the cache` : `${cached}% from the cache by estimate`}, ${dollars(data.dollars[at])}`
    + `${data.removed[at] ? `, sent ${grouped(data.removed[at])} tokens shorter than shown` : ""}`
    + `${data.models[data.model[at]] ? `, ${visible(clip(data.models[data.model[at]], 60))}` : ""}${data.at[at] ? `, ${when(data.at[at])}` : ""}`;
  // A screen reader would say the same again.
  if (one("#now").textContent !== words) one("#now").textContent = words;
  timeline.select(at, words);
  one("#marks").replaceChildren(...data.marks.filter(([number]) => number === at + 1).map(([, kind, text]) => make("li", `${kind}: ${text}`)));
};

const enable = () => {
  const isPreview = one("#choice").elements.shown.value === "preview";
  for (const name of ["profile", "budget"]) one("#choice").elements[name].disabled = !isPreview && (!current.data || current.data.basis === "list");
};
one("#choice").addEventListener("change", enable);
one("#choice").addEventListener("submit", (event) => {
  event.preventDefault();
  const choice = new URLSearchParams(new FormData(one("#choice"))).toString();
  guarded(async () => { await load(choice); await go(current.at); })();
});
