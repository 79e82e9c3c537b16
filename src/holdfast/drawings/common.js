"use strict";
// What all pages share. Texts of logs become text nodes, never markup; the policy of every page would refuse anything else.
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const short = (n) => n >= 1e6 ? `${+(n / 1e6).toFixed(1)}M` : n >= 1000 ? `${+(n / 1000).toFixed(1)}k` : String(Math.round(n));
const dollars = (d) => d === null || d === undefined ? "no price" : d >= 1 || d === 0 ? `$${d.toFixed(2)}` : `$${d.toPrecision(2)}`;
