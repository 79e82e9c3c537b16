"use strict";
// The last script: by now every part is there. An address is `#/SESSION/REQUEST/PANEL`, and without a session the list.
const route = guarded(async (event) => {
  const [wanted, number, panel] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  if (!wanted) await showList();
  else await showSession(wanted, Number(number) || 0, panel);
  // What was chosen is no longer there: a screen reader, and the next Tab, go on at the heading of what is.
  if (event && document.activeElement === document.body) one(one("#session").hidden ? "#sessions-title" : "#title").focus({ preventScroll: true });
  await catchUp();
});
addEventListener("hashchange", route);
// Not by its address, which says what is shown.
one(".skip").addEventListener("click", (event) => { event.preventDefault(); one("#main").focus(); });
route();
connect();
