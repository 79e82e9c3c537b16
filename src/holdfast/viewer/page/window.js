"use strict";
// The window at a request: its blocks, and one of them as the model saw it beside the original.
let blocks = [], chosen = 0, asked = 0;
// Parts that were asked for, by their first block.
let parts = new Map();
// The rows on the page, by their blocks.
let painted = new Map();
const HEIGHT = 28;
const PART = 200;
const windowPart = (first) => {
  const words = one("#words").value;
  const sought = words ? `&words=${encodeURIComponent(words)}` : "";
  return askSession(`requests/${current.at + 1}?${current.choice}&first=${first}${sought}`);
};
// Parts are asked for when they come into sight: a long list has tens of thousands of blocks.
const showWindow = async () => {
  const own = ++asked;
  clearLeftOut();
  const near = Math.floor(one("#rows").scrollTop / HEIGHT / PART) * PART;
  let found;
  try { found = await windowPart(near); } catch (error) { found = { total: 0, blocks: [], error }; }
  if (own !== asked) return;
  blocks = new Array(found.total);
  parts = new Map([[near, null]]);
  found.blocks.forEach((block, place) => { blocks[near + place] = block; });
  chosen = Math.min(chosen, Math.max(blocks.length - 1, 0));
  one("#matches").textContent = `${grouped(blocks.length)} ${blocks.length === 1 ? "block" : "blocks"}${one("#words").value ? " with these words" : ""}, in the order sent`;
  one("#spacer").style.height = `${blocks.length * HEIGHT}px`;
  one("#reading").hidden = true;
  if (found.error) one("#matches").textContent = `${found.error.message}.`;
  paintRows();
  // After the window, which is looked at first: the server would share its time between the two.
  guarded(showLeftOut)();
};
const fetchPart = (place) => {
  const first = Math.floor(place / PART) * PART;
  if (!parts.has(first)) parts.set(first, guarded(takePart)(first));
  return parts.get(first);
};
const takePart = async (first) => {
  const own = asked, found = await windowPart(first);
  if (own !== asked) return;
  found.blocks.forEach((block, offset) => { blocks[first + offset] = block; });
  paintRows();
};
// On paper all rows are in sight.
const paper = matchMedia("print");
paper.addEventListener("change", () => paintRows());
const paintRows = () => {
  const box = one("#rows"), first = paper.matches ? 0 : Math.max(Math.floor(box.scrollTop / HEIGHT) - 8, 0);
  const last = paper.matches ? blocks.length : Math.min(first + Math.ceil(box.clientHeight / HEIGHT) + 16, blocks.length);
  const shown = new Map();
  for (let place = first; place < last; place++) {
    const block = blocks[place], line = painted.get(block);
    if (!block) { fetchPart(place); continue; }
    shown.set(block, line || blockLine(block, place));
    shown.get(block).setAttribute("aria-selected", String(place === chosen));
  }
  // Rows that stay are left where they are: a click ends on the element on which it began.
  for (const [block, line] of painted) if (!shown.has(block)) line.remove();
  let next = one("#spacer").firstChild;
  for (const line of shown.values()) {
    if (line === next) next = line.nextSibling;
    else one("#spacer").insertBefore(line, next);
  }
  painted = shown;
  box.setAttribute("aria-activedescendant", blocks.length ? `block-${chosen}` : "");
};
const ageOf = (block) => block.step ? `${grouped(block.age)} ${block.age === 1 ? "step" : "steps"} ago` : "";
const blockLine = (block, place) => {
  const line = make("div", "", "block");
  line.id = `block-${place}`;
  line.style.top = `${place * HEIGHT}px`;
  line.setAttribute("role", "option");
  line.setAttribute("aria-setsize", String(blocks.length));
  line.setAttribute("aria-posinset", String(place + 1));
  const kind = make("span", "", "kind");
  kind.append(make("span", "", `swatch ${block.layer}`), block.kind);
  const size = make("span", grouped(block.tokens), "n tokens");
  const shown = levelOf(block, block.cuts), level = make("span", shown === "full" ? "" : shown, `level${block.cuts ? " cut" : ""}`);
  line.classList.toggle("shortened", block.cuts > 0);
  line.append(kind, make("span", block.tool, "tool"), make("span", block.step ? `step ${block.step}` : "", "step"), size,
    level, make("span", ageOf(block), "age"), make("span", block.cache, "cache"), make("span", block.words, "first"));
  const about = [block.kind, block.tool, block.step && `step ${block.step}, ${ageOf(block)}`, `${grouped(block.tokens)} tokens`, level.textContent, block.cache];
  line.setAttribute("aria-label", visible(`${about.filter(Boolean).join(", ")}: ${block.words}`));
  line.addEventListener("click", () => { chosen = place; paintRows(); guarded(read)(); });
  return line;
};
const levelOf = (block, cuts) => block.level === "full" && cuts ? "shortened" : block.level;
const read = async () => {
  await fetchPart(chosen);
  const block = blocks[chosen];
  if (!block) return;
  const { id, at, choice } = current;
  const found = await askSession(`requests/${at + 1}/blocks/${block.at}?${choice}`);
  if (id !== current.id || at !== current.at || choice !== current.choice || blocks[chosen]?.at !== block.at) return;
  const about = [found.tool, found.step && `step ${found.step}`, levelOf(found, found.cuts.length), `${grouped(found.tokens)} tokens`].filter(Boolean).join(", ");
  one("#reading-title").textContent = visible(`${found.kind}: ${about}`);
  one("#unseen").textContent = unseenWords(found.seen);
  fillText(one("#seen"), found.seen);
  fillText(one("#original"), found.original || "");
  one("#beside").hidden = found.original === null;
  one(".sides").classList.toggle("alone", found.original === null);
  one("#cuts").replaceChildren(...found.cuts.map(cutLine));
  one("#reading").hidden = false;
  one("#reading").focus({ preventScroll: true });
  one("#reading").scrollIntoView({ block: "nearest" });
};
const cutLine = (cut) => {
  const line = make("p", `${cut.what}: ${grouped(cut.before)} tokens to ${grouped(cut.after)} by the rule ${cut.rule} `);
  const whole = make("button", `whole text ${cut.id}`);
  whole.addEventListener("click", guarded(async () => {
    fillText(one("#original"), (await askSession(`texts/${encodeURIComponent(cut.id)}`)).text);
    one("#beside").hidden = false;
    one(".sides").classList.remove("alone");
  }));
  line.append(whole);
  return line;
};
one("#rows").addEventListener("scroll", paintRows);
one("#rows").addEventListener("keydown", (event) => {
  const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -Infinity, End: Infinity };
  if (event.key in moves) {
    chosen = Math.min(Math.max(chosen + moves[event.key], 0), Math.max(blocks.length - 1, 0));
    const box = one("#rows"), top = chosen * HEIGHT;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + HEIGHT > box.scrollTop + box.clientHeight) box.scrollTop = top + HEIGHT - box.clientHeight;
    paintRows();
  } else if (event.key === "Enter" || event.key === " ") guarded(read)();
  else return;
  event.preventDefault();
});
one("#reading").addEventListener("keydown", (event) => { if (event.key === "Escape") { one("#reading").hidden = true; one("#rows").focus(); } });
let typing = 0;
one("#words").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(guarded(async () => { if (current.data && count()) await showWindow(); }), 150); });
addPanel("window", showWindow);
