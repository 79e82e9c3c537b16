"use strict";
// An export: the button that makes one; and in one, the answers that it brings along.
const kept = one("#answers") && JSON.parse(one("#answers").textContent);

// Long texts are kept once, and numbered.
const filled = (value) => {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(filled);
  if ("$" in value) return kept.texts[value.$];
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each)]));
};
const keptAt = (place) => Object.hasOwn(kept.answers, place) ? filled(kept.answers[place]) : null;
// Lists are kept whole: they are searched and parted here.
const keptAnswer = (path) => {
  const [place, query] = path.split("?"), asked = new URLSearchParams(query);
  const at = place.split("/").map(decodeURIComponent).join("/")
    .replace(/(\d+)\/compare\/(\d+)$/, (_, one, other) => `${Math.max(one, other)}/compare/${Math.min(one, other)}`);
  const found = keptAt(at);
  if (!found) throw new Error(notKept(at));
  const first = Number(asked.get("first")), words = (asked.get("words") || "").toLowerCase(), what = asked.get("what");
  const has = (block) => (keptAt(`${at}/blocks/${block.at}`)?.seen ?? block.words).toLowerCase().includes(words);
  for (const [name, fits] of [["blocks", (block) => !words || has(block)], ["rows", (row) => !what || row.what === what]]) {
    if (!Array.isArray(found[name])) continue;
    const fitting = found[name].filter(fits);
    Object.assign(found, { total: fitting.length, first, [name]: fitting.slice(first, first + PART) });
  }
  return found;
};
const notKept = (at) => {
  const number = /\/requests\/(\d+)$/.exec(at);
  if (number) return `The window of request ${grouped(number[1])} is left out of this export`;
  if (at.endsWith("/remembered")) return `An export has the memory of one request, here ${grouped(kept.request)}`;
  return `This ${at.includes("/compare/") ? "comparison " : ""}is left out of this export`;
};

if (kept) {
  document.documentElement.classList.add("exported");
  one("#about").textContent = kept.about;
  one("#about").hidden = false;
  if (!location.hash) history.replaceState(null, "", `#/${encodeURIComponent(kept.id)}/${kept.request}/${kept.panel}`);
  one("#money-prices").value = kept.prices;
  if (kept.compared && kept.compared !== kept.request - 1) {
    one("#compare-with").elements.with.value = "number";
    one("#compare-number").value = String(kept.compared);
  }
}

one("#export").addEventListener("click", guarded(async () => {
  const words = one("#export-state"), other = Math.max(otherRequest()[0], 0);
  words.textContent = "Making the file…";
  try {
    const found = await askSession(`export?${current.choice}&request=${current.at + 1}&compared=${other}&panel=${current.panel}&${withPrices()}`);
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([found.page], { type: "text/html" }));
    link.download = found.name;
    link.click();
    URL.revokeObjectURL(link.href);
    words.textContent = `${found.name}: ${found.about}`;
  } catch (error) { words.textContent = error.message; }
}));
