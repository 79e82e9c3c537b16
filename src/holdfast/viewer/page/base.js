"use strict";
// What all parts of the page share.
const when = (at) => at ? new Date(at * 1000).toLocaleString() : "";
const make = (name, words = "", kind = "") => {
  const node = document.createElement(name);
  node.textContent = words;
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
  one("#state").textContent = words;
  one("#state").hidden = !words;
  one("#state").classList.toggle("wrong", isWrong);
};
const guarded = (work) => async (...given) => {
  if (one("#state").classList.contains("wrong")) state("");
  try { await work(...given); } catch (error) { state(error.message, true); }
};
