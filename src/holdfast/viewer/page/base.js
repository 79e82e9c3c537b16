"use strict";
// What all parts of the page share.
const when = (at) => at ? new Date(at * 1000).toLocaleString() : "";
// Characters that have no shape, or turn around what follows them, stand there by their number. Only a whole text, in a `pre`, keeps them. Tabs, line
// ends and what holds together an emoji or the letters of a word are none.
const UNSEEN = /(?![\t\n\u200c\u200d\ufe00-\ufe0f])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;
const numberOf = (sign) => `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
const visible = (words) => String(words).replace(UNSEEN, (sign) => `⟨${numberOf(sign)}⟩`);
const unseenWords = (text) => {
  const found = text.match(UNSEEN) || [], kinds = [...new Set(found)];
  if (!found.length) return "";
  return `${found.length === 1 ? "A character" : `${grouped(found.length)} characters`} of this text cannot be seen, or can turn others around: `
    + `${kinds.slice(0, 10).map(numberOf).join(", ")}${kinds.length > 10 ? " and others" : ""}.`;
};
const make = (name, words = "", kind = "") => {
  const node = document.createElement(name);
  node.textContent = visible(words);
  if (kind) node.className = kind;
  return node;
};
// A browser takes seconds to lay out a text of millions of characters.
const LONG_TEXT = 200000;
const fillText = (box, text) => {
  box.textContent = text.slice(0, LONG_TEXT);
  if (text.length <= LONG_TEXT) return;
  const rest = make("button", `Show all ${grouped(text.length)} characters`);
  rest.type = "button";
  rest.addEventListener("click", () => { box.textContent = text; box.focus(); });
  box.append("\n", rest);
};
const marked = (text) => {
  const node = make("mark");
  node.textContent = text;
  return node;
};
const clip = (text, most) => text.length > most ? `${text.slice(0, most)}…` : text;
const ask = async (path) => {
  if (kept) return keptAnswer(path);
  let response;
  try { response = await fetch(`api/${path}`); } catch { throw new Error("The viewer does not answer: it may have ended"); }
  const value = await response.json();
  if (!response.ok) throw new Error(value.error);
  return value;
};
const state = (words, isWrong = false) => {
  one("#state").textContent = visible(words);
  one("#state").hidden = !words;
  one("#state").classList.toggle("wrong", isWrong);
};
const guarded = (work) => async (...given) => {
  if (one("#state").classList.contains("wrong")) state("");
  try { await work(...given); } catch (error) { state(error.message, true); }
};
