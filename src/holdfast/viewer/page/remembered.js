"use strict";
// What the engine knows at the chosen request: every fact with the entries it comes from, and where these are now.
const FIRST_ROWS = 10;
let wantedMemory = 0, isReadingMemory = false;
// One question at a time, for the request that was chosen last: of a log of ten thousand steps an answer takes a second or two.
const showMemory = async () => {
  wantedMemory++;
  one("#memory-state").textContent = "Reading…";
  one("#memory-groups").hidden = true;
  if (isReadingMemory) return;
  isReadingMemory = true;
  try {
    let found, own;
    do {
      own = wantedMemory;
      found = await askSession(`requests/${current.at + 1}/remembered?${current.choice}`);
    } while (own !== wantedMemory);
    one("#memory-groups").replaceChildren(...found.groups.map(factGroup));
    one("#memory-groups").hidden = false;
    one("#memory-state").textContent = `Read by rule from the log up to request ${grouped(found.number)}. Choose a line to read where it comes from.`;
  } catch (error) {
    one("#memory-state").textContent = `${error.message}.`;
  } finally { isReadingMemory = false; }
};
const factGroup = (group) => {
  const section = make("section"), title = make("h2", `${group.title}: ${group.total ? grouped(group.total) : "none"}`);
  title.id = `facts-${group.name}`;
  section.setAttribute("aria-labelledby", title.id);
  section.append(title);
  if (group.more) section.append(make("p", group.more, "soft"));
  if (!group.total) return section;
  const list = make("ol", "", "card changes facts");
  list.append(...group.rows.slice(0, FIRST_ROWS).map(factLine));
  section.append(list);
  if (group.rows.length > FIRST_ROWS) {
    const more = make("button", `Show ${group.rows.length < group.total ? `the newest ${grouped(group.rows.length)} of ` : "all "}${grouped(group.total)}`);
    more.type = "button";
    more.addEventListener("click", () => {
      list.append(...group.rows.slice(FIRST_ROWS).map(factLine));
      list.children[FIRST_ROWS].querySelector("button").focus();
      more.remove();
    });
    section.append(more);
  }
  return section;
};
const factLine = (row) => {
  const text = make("span", row.text, "first");
  if (row.detail) text.append(make("small", row.detail));
  return sourceLine(row, [make("span", row.about, "what"), text, make("span", row.step ? `step ${grouped(row.step)}` : "", "step"), make("span", row.where, `where ${row.presence}`)]);
};
addPanel("memory", showMemory);
