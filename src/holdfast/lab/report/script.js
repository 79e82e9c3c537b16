"use strict";
// Conveniences, and the windows: all else that is measured is on the page without this script.
(() => {
  document.documentElement.classList.add("js");

  // --- what a mark says, under the pointer and under the focus
  const tip = one("#tip");
  const hideTip = () => { tip.hidden = true; };
  const showTip = (mark, x, y) => {
    tip.textContent = mark.getAttribute("aria-label").split(" · ").join("\n");
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18}px`;
  };
  for (const mark of all(".point, .dot")) {
    // A title would show a second, slower tip.
    const title = one("title", mark);
    mark.setAttribute("aria-label", title.textContent);
    title.remove();
    mark.addEventListener("pointermove", (event) => showTip(mark, event.clientX, event.clientY));
    mark.addEventListener("pointerleave", hideTip);
    mark.addEventListener("focus", () => {
      const box = mark.getBoundingClientRect();
      showTip(mark, box.right, box.bottom - 10);
    });
    mark.addEventListener("blur", hideTip);
  }
  addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

  // --- the legend hides policies, and lights one up
  const toggles = all("[data-toggle]");
  const ofPolicy = (key) => all(`.curve .policy[data-policy="${key}"]`);
  const show = (toggle, shown) => {
    toggle.setAttribute("aria-pressed", String(shown));
    for (const part of ofPolicy(toggle.dataset.toggle)) part.style.display = shown ? "" : "none";
  };
  const light = (key) => {
    for (const chart of all(".curve")) chart.classList.toggle("dim", key !== null);
    for (const part of all(".curve .lit")) part.classList.remove("lit");
    if (key !== null) for (const part of ofPolicy(key)) part.classList.add("lit");
  };
  for (const toggle of toggles) {
    toggle.addEventListener("click", () => show(toggle, toggle.getAttribute("aria-pressed") !== "true"));
    toggle.addEventListener("pointerenter", () => light(toggle.dataset.toggle));
    toggle.addEventListener("pointerleave", () => light(null));
  }
  for (const point of all(".curve .point")) {
    const key = point.closest(".policy").dataset.policy;
    for (const name of ["pointerenter", "focus"]) point.addEventListener(name, () => light(key));
    for (const name of ["pointerleave", "blur"]) point.addEventListener(name, () => light(null));
  }
  // All, unless all are shown already: then none, to begin a selection.
  one("#show-all").addEventListener("click", () => {
    const some = toggles.some((toggle) => toggle.getAttribute("aria-pressed") === "false");
    for (const toggle of toggles) show(toggle, some);
  });

  // --- tables sort by the column clicked; a second click turns the order round; what is missing stays last
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    if (cell.tagName === "TH") return cell.textContent.trim().toLowerCase();
    return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
  };
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (a < b ? -1 : a > b ? 1 : 0);
  };
  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((head, column) => one("button", head).addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const rising = before ? before === "descending" : head.hasAttribute("data-rising");
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
      rows.sort((a, b) => compare(a[0], b[0], rising ? 1 : -1));
      body.append(...rows.map((pair) => pair[1]));
    }));
  }

  // --- one budget at a time
  const tabs = all("[data-tab]");
  const openTab = (name) => {
    for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.tab === name));
    for (const part of all("article.budget")) part.hidden = name !== "all" && part.dataset.budget !== name;
  };
  for (const tab of tabs) tab.addEventListener("click", () => openTab(tab.dataset.tab));
  if (tabs.length > 1) openTab(tabs[0].dataset.tab);

  // --- the window: choose a picture, read a request
  const choices = one(".choices");
  if (!choices) return;
  const columns = JSON.parse(one("#pictures").textContent);
  const pictures = all(".picture");
  const readout = one("#readout");
  const selects = ["recording", "policy", "budget"].map((name) => one(`#choose-${name}`));
  const wanted = () => selects.map((select) => select.value);
  const keysOf = (picture) => [picture.dataset.recording, picture.dataset.policy, picture.dataset.budget];
  const agreement = (picture, keys, weights) =>
    keysOf(picture).reduce((sum, key, at) => sum + (key === keys[at] ? weights[at] : 0), 0);
  const timeline = new Timeline(one("#canvas"), (place) => read(place), { followsPointer: true });
  let shown = pictures[0];

  // The box just changed counts most, so that a missing combination still shows what was asked for last.
  const openPicture = (changed) => {
    const weights = [1, 1, 1];
    if (changed >= 0) weights[changed] = 4;
    const keys = wanted();
    shown = pictures.reduce((a, b) => (agreement(b, keys, weights) > agreement(a, keys, weights) ? b : a));
    for (const picture of pictures) picture.open = picture === shown;
    keysOf(shown).forEach((key, which) => { selects[which].value = key; });
    const data = columns[Number(shown.dataset.at)];
    timeline.show({ ...data, say: (count) => `missed ${grouped(count)}` });
    one("#timeline").setAttribute("aria-label", `Request of ${one(".told", shown).textContent}`);
    read(timeline.at);
  };
  const read = (place) => {
    const data = columns[Number(shown.dataset.at)];
    if (!data.index.length) { readout.textContent = "No requests."; return; }
    const at = Math.max(0, Math.min(place, data.index.length - 1));
    const layers = data.names.map((name, layer) => [name, data.layers[layer][at]]).filter(([, size]) => size).map(([name, size]) => `${name} ${grouped(size)}`);
    const parts = [
      `request ${at + 1} of ${data.index.length} (message ${data.index[at]}): ${grouped(data.tokens[at])} tokens, ${grouped(data.cached[at])} from the cache`,
      layers.join(", "),
      `${grouped(data.moved[at])} of the request before moved`,
      data.hard[at] ? `${data.bars[at]} of ${data.hard[at]} hard needs missed` : "",
      data.faults[at] ? `✕ ${data.faults[at]}` : "",
    ];
    readout.textContent = parts.filter(Boolean).join(" · ");
    timeline.select(at, readout.textContent);
  };
  choices.hidden = false;
  selects[0].parentElement.hidden = selects[0].options.length < 2;
  selects.forEach((select, which) => select.addEventListener("change", () => openPicture(which)));
  const first = pictures.find((picture) => picture.open) || pictures[0];
  selects.forEach((select, which) => { select.value = keysOf(first)[which]; });
  openPicture(-1);
})();
