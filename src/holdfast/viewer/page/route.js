"use strict";
// The last script: by now every part is there. An address is `#/SESSION/REQUEST/PANEL`, and without a session the list.
const route = guarded(async () => {
  const [wanted, number, panel] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  if (!wanted || location.hash === "#main") await showList();
  else await showSession(wanted, Number(number) || 0, panel);
  await catchUp();
});
addEventListener("hashchange", route);
route();
connect();
