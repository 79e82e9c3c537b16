"use strict";
// What all parts of the page share.
const when = (at) => at ? new Date(at * 1000).toLocaleString() : "";
// Characters that have no shape, or turn around what follows them, stand there by their number. Only a whole text, in a `pre`, keeps them.
const visible = (words) => String(words).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
  (sign) => `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
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
