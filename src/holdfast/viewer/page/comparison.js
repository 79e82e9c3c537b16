"use strict";
// Two requests: the chosen one beside another. What entered, left or changed, and where the beginning that both share ends.
const comparison = { own: 0, rows: [], total: 0, earlier: 0, later: 0 };
const CHANGES = { entered: "entered", left: "left", changed: "changed", level: "same text, other level", moved: "moved" };

const lastFold = (number) => current.data.marks.reduce((found, [at, kind]) =>
  (kind === "fold" || kind === "compaction") && at <= number ? Math.max(found, at) : found, 0);
// The number of the other request, 0 where there is none; and why there is none.
const otherRequest = () => {
  const number = current.at + 1, form = one("#compare-with").elements;
  if (form.with.value === "before") return [number - 1, "This is the first request: there is none before it. Choose a later one, or type a number."];
  if (form.with.value === "fold") return [lastFold(number) - 1, "There was no fold up to this request. Compare with the request before, or type a number."];
  const typed = form.number.value.trim();
  if (!typed) return [0, `Type the number of a request, 1 to ${grouped(count())}.`];
  const isThere = /^\d{1,8}$/.test(typed) && Number(typed) >= 1 && Number(typed) <= count();
  return [isThere ? Number(typed) : 0, `There is no request ${clip(typed, 20)}: they are numbered 1 to ${grouped(count())}.`];
};
const comparePart = (other, first) => askSession(
  `requests/${current.at + 1}/compare/${other}?${current.choice}&first=${first}&what=${one("#compare-what").value}`);

const showComparison = async () => {
  const own = ++comparison.own, [other, why] = otherRequest();
  one("#compare-pin").textContent = `Pin request ${grouped(current.at + 1)}`;
  one("#compare-reading").hidden = true;
  one("#compare-found").hidden = true;
  one("#compare-state").textContent = other < 1 ? why : "Comparing…";
  if (other < 1) return;
  let found;
  try { found = await comparePart(other, 0); } catch (error) { one("#compare-state").textContent = `${error.message}.`; return; }
  if (own !== comparison.own) return;
  Object.assign(comparison, { rows: [], total: found.total, earlier: found.earlier, later: found.later });
  one("#compare-state").textContent = found.earlier === found.later ? `Request ${grouped(other)} is the chosen one itself.`
    : `Request ${grouped(found.earlier)}, ${grouped(found.tokens[0])} tokens, and request ${grouped(found.later)}, ${grouped(found.tokens[1])} tokens.`;
  one("#compare-prefix").textContent = found.prefix.words;
  one("#compare-totals").textContent = totalsWords(found);
  fillKinds(found.totals);
  one("#compare-rows").replaceChildren();
  addChanges(found.rows);
  one("#compare-found").hidden = false;
};
const totalsWords = ({ totals, tool_tokens: tools }) => {
  const { entered, left, changed, level, moved, same } = totals;
  const blocks = (n) => `${grouped(n)} ${n === 1 ? "block" : "blocks"}`;
  const told = [];
  if (entered.blocks) told.push(`${blocks(entered.blocks)} entered, ${grouped(entered.after)} tokens`);
  if (left.blocks) told.push(`${blocks(left.blocks)} left, ${grouped(left.before)} tokens`);
  if (changed.blocks) told.push(`${blocks(changed.blocks)} changed, ${grouped(changed.before)} to ${grouped(changed.after)} tokens`);
  if (level.blocks) told.push(`${blocks(level.blocks)} with the same text at another level`);
  if (moved.blocks) told.push(`${blocks(moved.blocks)} moved`);
  if (tools[0] !== tools[1]) told.push(`the tools went from ${grouped(tools[0])} to ${grouped(tools[1])} tokens`);
  told.push(`${blocks(same.blocks)} the same, ${grouped(same.after)} tokens`);
  return `${told.join("; ")}.`;
};
const fillKinds = (totals) => {
  const box = one("#compare-what"), chosenKind = box.value;
  const all = Object.keys(CHANGES).reduce((sum, kind) => sum + totals[kind].blocks, 0);
  box.replaceChildren(...[["", `all changes (${grouped(all)})`], ...Object.entries(CHANGES).map(([kind, words]) => [kind, `${words} (${grouped(totals[kind].blocks)})`])]
    .map(([value, words]) => { const option = make("option", words); option.value = value; return option; }));
  box.value = chosenKind;
};
const addChanges = (rows) => {
  comparison.rows.push(...rows);
  one("#compare-rows").append(...rows.map(changeLine));
  one("#compare-rows").hidden = !comparison.rows.length;
  const more = comparison.total - comparison.rows.length;
  one("#compare-more").hidden = more <= 0;
  one("#compare-more").textContent = `Show more: ${grouped(more)} left`;
};
const changeLine = (row) => {
  const item = make("li"), line = make("button");
  line.type = "button";
  const [was, now] = row.tokens, [low, high] = row.levels;
  const level = low && high && low !== high ? `${low} → ${high}` : high || low;
  const size = was === null ? `+${grouped(now)} tokens` : now === null ? `−${grouped(was)} tokens` : `${grouped(was)} → ${grouped(now)} tokens`;
  line.append(make("span", CHANGES[row.what], "what"), make("span", row.kind), make("span", row.tool || row.name, "tool"), make("span", row.step ? `step ${row.step}` : "", "step"),
    make("span", level, "level"), make("span", size, "tokens"), make("span", row.where ? `${row.where}: ${row.words}` : row.words, "first"));
  line.addEventListener("click", guarded(() => readChange(row, line)));
  item.append(line);
  return item;
};
// Left the earlier request, right the later one; for what went into a note or a summary, that.
const readChange = async (row, line) => {
  const block = (number, at) => at < 0 ? null : askSession(`requests/${number}/blocks/${at}?${current.choice}`);
  const place = row.after >= 0 ? row.after : row.into;
  const [was, now] = await Promise.all([block(comparison.earlier, row.before), block(comparison.later, place)]);
  for (const other of document.querySelectorAll("#compare-rows [aria-current]")) other.removeAttribute("aria-current");
  line.setAttribute("aria-current", "true");
  one("#compare-title").textContent = visible([`${row.kind}: ${CHANGES[row.what]}`, row.tool || row.name, row.step && `step ${row.step}`].filter(Boolean).join(", "));
  one("#compare-was-title").textContent = `In request ${grouped(comparison.earlier)}${was ? "" : ": not there"}`;
  one("#compare-now-title").textContent = `In request ${grouped(comparison.later)}${row.after >= 0 ? "" : row.where ? `: ${row.where}` : ": not there"}`;
  showSides(was ? was.seen : "", now ? now.seen : "", was && now && row.after >= 0);
  one("#compare-reading").hidden = false;
  one("#compare-reading").focus({ preventScroll: true });
  one("#compare-reading").scrollIntoView({ block: "nearest" });
};
// Marks the lines between the first and the last that differ.
const showSides = (was, now, isMarked) => {
  if (!isMarked || was === now) { fillText(one("#compare-was"), was); fillText(one("#compare-now"), now); return; }
  const old = was.split("\n"), fresh = now.split("\n"), most = Math.min(old.length, fresh.length);
  let first = 0, last = 0;
  while (first < most && old[first] === fresh[first]) first++;
  while (last < most - first && old[old.length - 1 - last] === fresh[fresh.length - 1 - last]) last++;
  const fill = (box, lines) => {
    const end = lines.length - last, between = lines.slice(first, end).join("\n");
    box.replaceChildren(lines.slice(0, first).map((text) => `${text}\n`).join(""), marked(between), lines.slice(end).map((text) => `\n${text}`).join(""));
  };
  fill(one("#compare-was"), old); fill(one("#compare-now"), fresh);
};
const pinRequest = () => {
  one("#compare-with").elements.with.value = "number";
  one("#compare-number").value = String(current.at + 1);
};
one("#compare-pin").addEventListener("click", guarded(() => { pinRequest(); return showComparison(); }));
one("#timeline").addEventListener("keydown", (event) => {
  if (event.key !== "p" || !current.data || event.ctrlKey || event.metaKey || event.altKey) return;
  pinRequest();
  one("#now").textContent = `Request ${grouped(current.at + 1)} is pinned: choose another, and compare.`;
  if (current.panel === "compare") guarded(showComparison)();
});
one("#compare-number").addEventListener("input", () => { one("#compare-with").elements.with.value = "number"; });
one("#compare-with").addEventListener("change", guarded(showComparison));
one("#compare-with").addEventListener("submit", (event) => { event.preventDefault(); guarded(showComparison)(); });
one("#compare-what").addEventListener("change", guarded(showComparison));
one("#compare-more").addEventListener("click", guarded(async () => {
  const own = comparison.own, first = comparison.rows.length;
  const found = await comparePart(otherRequest()[0], first);
  if (own === comparison.own && first === comparison.rows.length) addChanges(found.rows);
}));
one("#compare-reading").addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  one("#compare-reading").hidden = true;
  const line = one("#compare-rows [aria-current]");
  if (line) line.focus();
});
addPanel("compare", showComparison);
