"use strict";
// An entry of the log beside the block that has it in the chosen request, or speaks of it; some words are marked in both.
const MOST_MARKS = 200;
const LEAST_LINE = 12;
const spaced = (text) => text.replace(/\s+/g, " ").trim();
// Where the words follow each other; where they nowhere do, the lines that they were put together from.
const findWords = (text, words) => {
  const sought = spaced(words);
  if (!sought) return [];
  const pattern = new RegExp(sought.split(" ").map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+"), "gi");
  const found = [];
  for (const match of text.matchAll(pattern)) {
    found.push([match.index, match.index + match[0].length]);
    if (found.length === MOST_MARKS) break;
  }
  if (found.length) return found;
  let at = 0;
  for (const line of text.split("\n")) {
    if (spaced(line).length >= LEAST_LINE && sought.includes(spaced(line))) found.push([at, at + line.length]);
    at += line.length + 1;
  }
  return found;
};
const fillMarked = (box, text, words) => {
  let at = 0;
  box.replaceChildren();
  for (const [start, end] of findWords(text, words)) {
    box.append(text.slice(at, start), marked(text.slice(start, end)));
    at = end;
  }
  box.append(text.slice(at));
};
const side = (title, text, words) => {
  const section = make("section"), box = make("pre");
  box.tabIndex = 0;
  if (text !== null) fillMarked(box, text, words);
  section.append(make("h3", title));
  if (text !== null) section.append(box);
  return section;
};
// `found` has an entry, its label, where it is, the block there (-1 for none), and the words to mark. Of several sources each can be read.
const sourceText = async (article, found) => {
  const [whole, block] = await Promise.all([
    found.entry ? askSession(`texts/${encodeURIComponent(found.entry)}`) : null,
    found.block >= 0 ? askSession(`requests/${current.at + 1}/blocks/${found.block}?${current.choice}`) : null]);
  const sides = make("div", "", "sides");
  if (whole) sides.append(side(`In the log: ${found.label}, ${whole.id}`, whole.text, found.words));
  sides.append(side(`In request ${grouped(current.at + 1)}: ${found.where}`, block && block.seen, found.words));
  article.querySelector(".sides").replaceWith(sides);
  for (const box of sides.querySelectorAll("pre")) {
    const mark = box.querySelector("mark");
    if (mark) box.scrollTop = Math.max(mark.offsetTop - box.offsetTop - 40, 0);
  }
};
const sourceButtons = (article, row) => {
  const line = make("p", "Sources: ", "row");
  line.append(...row.sources.map((source) => {
    const button = make("button", source.label);
    button.type = "button";
    button.setAttribute("aria-pressed", String(source.entry === row.entry));
    button.addEventListener("click", guarded(async () => {
      await sourceText(article, { ...source, words: row.words });
      for (const other of line.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
    }));
    return button;
  }));
  return line;
};
// A list of rows, each a button that opens its source below it; Escape closes it again.
const sourceLine = (row, spans) => {
  const item = make("li"), line = make("button");
  line.type = "button";
  line.append(...spans);
  line.setAttribute("aria-expanded", "false");
  const close = () => { item.querySelector("article").remove(); line.setAttribute("aria-expanded", "false"); };
  line.addEventListener("click", guarded(async () => {
    if (item.querySelector("article")) { close(); return; }
    const article = make("article", "", "reading");
    article.tabIndex = -1;
    article.setAttribute("aria-label", "Source");
    article.append(make("div", "Reading…", "sides"));
    if (row.sources.length > 1) article.prepend(sourceButtons(article, row));
    item.append(article);
    line.setAttribute("aria-expanded", "true");
    try { await sourceText(article, { ...row, label: (row.sources.find(({ entry }) => entry === row.entry) || {}).label }); } catch (error) { close(); throw error; }
    article.focus({ preventScroll: true });
    article.scrollIntoView({ block: "nearest" });
  }));
  item.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && item.querySelector("article")) { close(); line.focus(); }
  });
  item.append(line);
  return item;
};
