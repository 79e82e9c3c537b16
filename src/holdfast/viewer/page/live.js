"use strict";
// What is new: sessions and requests come without reload. The stream is read with fetch, since an EventSource does not say why it was refused.
const FIRST_WAIT = 500, LONGEST_WAIT = 15000;
// `known` are the sessions by their ids, as the stream has told them; `stream` ends the connection that is open.
const live = { known: new Map(), stream: null, isConnected: false, isOver: false, wait: FIRST_WAIT, timer: 0 };

const sayLive = (words, isWrong = false) => {
  if (one("#live").textContent !== words) one("#live").textContent = words;
  one("#live").classList.toggle("wrong", isWrong);
};
const connect = async () => {
  clearTimeout(live.timer);
  if (kept || live.stream || live.isOver || document.hidden) return;
  const stream = live.stream = new AbortController();
  let why = "If the viewer was started again, open the address that it printed.";
  try {
    const response = await fetch("api/events", { signal: stream.signal });
    if (response.ok) await listen(response.body);
    else why = `${(await response.json()).error}.`;
  } catch { /* The server has ended, or this page left. */ }
  live.stream = null;
  live.isConnected = false;
  if (live.isOver) return;
  if (document.hidden) { sayLive(""); return; }
  sayLive(`Not connected, trying again. ${why}`, true);
  live.timer = setTimeout(connect, live.wait);
  live.wait = Math.min(live.wait * 2, LONGEST_WAIT);
};
const listen = async (body) => {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) take(JSON.parse(event.slice("data: ".length)));
  }
};
// A hidden page leaves: a browser has few connections for one server. It catches up when it is looked at again.
document.addEventListener("visibilitychange", () => {
  if (document.hidden && live.stream) live.stream.abort();
  live.wait = FIRST_WAIT;
  connect();
});

const take = (news) => {
  live.isOver = !news.is_live;
  one("#following").hidden = live.isOver;
  if (live.isOver) { sayLive(""); return; }
  sayLive("live");
  live.wait = FIRST_WAIT;
  live.isConnected = true;
  if (news.is_all) live.known.clear();
  for (const session of news.sessions) live.known.set(session.id, session);
  for (const id of news.gone) live.known.delete(id);
  const isGone = current.data && (news.is_all ? !live.known.has(current.id) : news.gone.includes(current.id));
  if (news.is_all && one("#state").classList.contains("wrong")) route();
  else if (isGone && !one("#session").hidden) state("This session was deleted.", true);
  else if (news.is_all || !one("#sessions").hidden || news.sessions.some(({ id }) => id === current.id)) catchUp();
};
const catchUp = guarded(async () => {
  if (!live.isConnected) return;
  if (!one("#sessions").hidden) await takeSessions();
  else if (!one("#session").hidden) await takeRequests();
});

// --- the list: new sessions on top, the others stay where they are, under the eye and the focus of a reader

const takeSessions = async () => {
  if (list.file) return;
  const own = round, listed = new Map(list.all.map((row) => [row.session.id, row])), changed = [];
  keepRows(({ session }) => live.known.has(session.id));
  for (const session of [...live.known.values()].sort((a, b) => (a.last_at || 0) - (b.last_at || 0))) {
    const row = listed.get(session.id);
    if (row && row.session.entries === session.entries && row.session.last_at === session.last_at) continue;
    changed.push(row ? Object.assign(row, { session }) : addRow(session));
  }
  tellMore();
  tellCount();
  if (changed.length) state("");
  for (const row of changed) {
    await readRow(row);
    if (own !== round) return;
    tellCount();
  }
};

// --- the session: new columns of the timeline, and the newest request where it is followed

const COLUMNS = ["tokens", "cached", "reported", "removed", "is_reported", "dollars", "at", "step", "model"];
let isTaking = false, isMore = false;
const takeRequests = async () => {
  isMore = true;
  if (isTaking) return;
  isTaking = true;
  try {
    while (isMore) { isMore = false; await takeNewest(); }
  } finally { isTaking = false; }
};
const takeNewest = async () => {
  const { data } = current;
  if (!data) return;
  // From the last one on: its usage may have come after it.
  const first = Math.max(count() - 1, 0);
  const part = await askSession(`timeline?${current.choice}&history=${data.history}&first=${first}`);
  if (data !== current.data) return;
  const isReading = all("article").some((article) => article.checkVisibility()), before = count();
  const follows = !before || (one("#follow").checked && !isReading);
  if (part.history !== data.history) {
    showTimeline(part);
    await go(follows ? count() - 1 : current.at);
    return;
  }
  addColumns(data, part);
  timeline.grow(before);
  if (count() === before) { if (before) sayChosen(); return; }
  sayLoaded();
  if (follows) { await go(count() - 1); return; }
  one("#follow").checked = false;
  sayChosen();
  if (sessionPanels.has(current.panel)) await openPanel(current.panel);
};
const addColumns = (data, part) => {
  const extend = (column, more) => { column.length = part.first; for (const value of more) column.push(value); };
  for (const name of COLUMNS) extend(data[name], part[name]);
  data.layers.forEach((layer, at) => extend(layer, part.layers[at]));
  data.models = part.models;
  sayUnread(part.unread);
  // In place, as the columns: the timeline shares them.
  while (data.marks.length && data.marks.at(-1)[0] > part.first) data.marks.pop();
  data.marks.push(...part.marks);
};
one("#follow").addEventListener("change", guarded(async () => { if (one("#follow").checked && current.data) await go(count() - 1); }));
