"use strict";
// The money of a session by what it went for: of the chosen request, of all, and as it grew.
const money = { own: 0, key: "", shown: "", data: null };
const MONEY = { reads: "cache reads", writes: "cache writes", plain: "uncached input", rewritten: "of these two, written again after folds",
  output: "output", summaries: "summaries" };
const PAID = ["reads", "writes", "plain", "output", "summaries"];
const chosenPrices = () => one("#money-prices").value.trim();
const withPrices = () => `prices=${encodeURIComponent(chosenPrices())}`;

const showMoney = async () => {
  const shown = [current.id, current.choice, chosenPrices()], key = JSON.stringify([...shown, count()]);
  const own = ++money.own;
  if (key !== money.key) {
    // While requests are added, what was there before stays in its place.
    if (JSON.stringify(shown) !== money.shown) one("#money-found").hidden = true;
    moneyState("Adding up…");
    try {
      const data = await askSession(`money?${current.choice}&${withPrices()}`);
      if (own !== money.own) return;
      Object.assign(money, { key, data, shown: JSON.stringify(shown) });
    } catch (error) {
      if (own === money.own) { money.key = ""; moneyState(`${error.message}.`, true); }
      return;
    }
    moneyChart.show(money.data);
  }
  const { data } = money;
  // An export has no field that says so.
  const priced = kept && chosenPrices() ? `At the prices of ${chosenPrices()}.` : "";
  moneyState(data.totals.all === null ? noPrice() : priced);
  paintMoney(data, current.at);
  one("#money-found").hidden = false;
  moneyChart.select(current.at);
  if (!kept) showWhatIf();
};
const moneyState = (words, isWrong = false) => {
  one("#money-state").textContent = words;
  one("#money-state").classList.toggle("wrong", isWrong);
};
const noPrice = () => {
  const names = current.data.models.filter(Boolean).map((name) => clip(name, 60));
  return `${names.length ? `The catalogue has no price for ${names.join(", ")}` : "The log names no model, so no price is known"}: choose a model whose prices to use.`;
};
const total = (amounts) => { const known = amounts.filter((amount) => amount !== null); return known.length ? known.reduce((sum, amount) => sum + amount, 0) : null; };

const paintMoney = (data, at) => {
  one("#money-one").textContent = `request ${grouped(at + 1)}`;
  const lines = ["reads", "writes", "plain", "rewritten", "output", "summaries"].map((kind) => {
    const line = moneyLine(MONEY[kind], [data.tokens[kind][at], data.dollars[kind][at], data.totals.tokens[kind], data.totals.dollars[kind]], kind === "rewritten" ? "part" : "");
    line.cells[0].prepend(make("span", "", `swatch ${kind}`));
    return line;
  });
  const sum = (counts) => PAID.reduce((all, kind) => all + counts(kind), 0);
  lines.push(moneyLine("together", [sum((kind) => data.tokens[kind][at]), total(PAID.map((kind) => data.dollars[kind][at])),
    sum((kind) => data.totals.tokens[kind]), data.totals.all], "sum"));
  one("#money-table tbody").replaceChildren(...lines);
  one("#money-told").textContent = moneyWords(data, at);
};
const moneyLine = (name, [tokens, paid, allTokens, allPaid], kind) => {
  const line = make("tr", "", kind), head = make("th", name);
  head.scope = "row";
  const cost = (amount, count) => amount === null ? (count ? "no price" : "–") : dollars(amount);
  line.append(head, make("td", grouped(tokens), "n"), make("td", cost(paid, tokens), "n"), make("td", grouped(allTokens), "n"), make("td", cost(allPaid, allTokens), "n"));
  return line;
};
// What is the provider's word and what is ours; and what was paid beside the requests of the timeline.
const moneyWords = (data, at) => {
  const { reported, estimated, others, elsewhere } = data, all = data.is_reported.length, told = [];
  const requests = (n) => `${grouped(n)} ${n === 1 ? "request" : "requests"}`;
  const worth = (part) => part.dollars === null ? "" : ` (${dollars(part.dollars)})`;
  if (!reported.requests) told.push(`${current.data.basis === "preview" ? "Nothing of it was sent" : "The provider reported no usage"}: all figures are our estimate, in our tokens.`);
  else {
    told.push(data.is_reported[at] ? "The figures of this request were reported by the provider." : "The figures of this request are our estimate, in our tokens.");
    if (!estimated.requests) told.push(`The provider reported the usage of all ${requests(all)}.`);
    else told.push(`Of ${requests(all)} the provider reported ${grouped(reported.requests)}${worth(reported)}; ${grouped(estimated.requests)} ${estimated.requests === 1 ? "is" : "are"} our estimate${worth(estimated)}.`);
  }
  if (data.totals.tokens.rewritten) told.push("What was written again is always our estimate: the cache had it, and a fold or a compaction moved it.");
  if (data.unpriced && data.unpriced < all) told.push(`${requests(data.unpriced)} asked a model without a known price, and ${data.unpriced === 1 ? "is" : "are"} in no dollars.`);
  const besides = [[others, "that were no step: of sub-agents, or with an empty reply"], [elsewhere, "on branches that were left, or on side chains"]];
  for (const [part, what] of besides) {
    if (!part.requests) continue;
    const known = part.requests > part.unpriced + part.unreported ? dollars(part.dollars) : "no price";
    told.push(`Besides, there were ${requests(part.requests)} ${what}: ${grouped(part.usage.prompt + part.usage.completion)} tokens, ${known}.`);
  }
  if (others.requests || elsewhere.requests) told.push(`The session cost ${dollars(data.totals.session)} in all.`);
  return told.join(" ");
};

// Dollars so far, by kind. What folds made be written again is taken out of the writes, and of the uncached input where these are less.
class MoneyChart {
  static KINDS = ["reads", "writes", "plain", "rewritten", "output", "summaries"];
  static LEFT = 58; static RIGHT = 10; static TOP = 10; static BELOW = 20;

  constructor(canvas, choose) {
    Object.assign(this, { canvas, sums: null, at: 0, queued: false });
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    canvas.addEventListener("click", (event) => {
      if (this.sums) choose(Math.floor((event.offsetX - MoneyChart.LEFT) / this.width() * this.count));
    });
  }

  width() { return Math.max(this.canvas.clientWidth - MoneyChart.LEFT - MoneyChart.RIGHT, 1); }

  show(data) {
    this.count = data.is_reported.length;
    const top = new Float64Array(this.count);
    const paid = (kind, at) => data.dollars[kind][at] || 0;
    const own = (kind, at) => {
      const again = paid("rewritten", at), ofWrites = Math.min(again, paid("writes", at));
      return paid(kind, at) - (kind === "writes" ? ofWrites : kind === "plain" ? again - ofWrites : 0);
    };
    // The upper edge of each kind, those below it included.
    this.sums = MoneyChart.KINDS.map((kind) => {
      let sum = 0;
      for (let at = 0; at < this.count; at++) { sum += Math.max(own(kind, at), 0); top[at] += sum; }
      return top.slice();
    });
    this.most = this.count ? top[this.count - 1] : 0;
    this.canvas.hidden = !this.most;
    this.canvas.setAttribute("aria-label", `Dollars so far, request by request: ${dollars(this.most)} at the end, of which `
      + MoneyChart.KINDS.map((kind, at) => `${dollars(this.sums[at][this.count - 1] - (at ? this.sums[at - 1][this.count - 1] : 0))} ${kind === "rewritten" ? "written again after folds" : MONEY[kind]}`).join(", "));
    this.draw();
  }

  select(at) { this.at = at; this.draw(); }

  draw() {
    if (this.queued || !this.sums) return;
    this.queued = true;
    requestAnimationFrame(() => { this.queued = false; this.paint(); });
  }

  paint() {
    const { canvas, sums, most } = this, scale = devicePixelRatio || 1, wide = canvas.clientWidth, high = canvas.clientHeight;
    if (!wide || !most) return;
    canvas.width = Math.round(wide * scale); canvas.height = Math.round(high * scale);
    const pen = canvas.getContext("2d"), style = getComputedStyle(canvas), colour = (name) => style.getPropertyValue(`--${name}`);
    pen.scale(scale, scale);
    const base = high - MoneyChart.BELOW, tall = base - MoneyChart.TOP, across = this.width();
    pen.font = "11px ui-sans-serif, system-ui, sans-serif"; pen.textBaseline = "middle"; pen.textAlign = "right";
    for (const share of [0, 0.5, 1]) {
      pen.fillStyle = colour("line"); pen.fillRect(MoneyChart.LEFT, base - share * tall, across, 1);
      pen.fillStyle = colour("soft"); pen.fillText(dollars(share * most), MoneyChart.LEFT - 6, base - share * tall);
    }
    const columns = Math.min(Math.ceil(across), Math.max(this.count, 1)), step = across / columns;
    const colours = MoneyChart.KINDS.map((kind) => colour(MoneyChart.COLOURS[kind]));
    for (let column = 0; column < columns; column++) {
      const at = Math.min(Math.ceil((column + 1) * this.count / columns) - 1, this.count - 1);
      for (let kind = sums.length - 1; kind >= 0; kind--) {
        const size = sums[kind][at] / most * tall;
        pen.fillStyle = colours[kind];
        pen.fillRect(MoneyChart.LEFT + column * step, base - size, step + 0.5, size - (kind ? sums[kind - 1][at] / most * tall : 0));
      }
    }
    pen.strokeStyle = colour("ink"); pen.lineWidth = 1.5;
    const x = MoneyChart.LEFT + (this.at + 0.5) / this.count * across;
    pen.beginPath(); pen.moveTo(x, MoneyChart.TOP - 4); pen.lineTo(x, base); pen.stroke();
    pen.fillStyle = colour("soft"); pen.textAlign = "left"; pen.fillText("1", MoneyChart.LEFT, high - 9);
    pen.textAlign = "right"; pen.fillText(grouped(this.count), wide - MoneyChart.RIGHT, high - 9);
  }
}
// The same names as in the style sheet.
MoneyChart.COLOURS = { reads: "steps", writes: "summary", plain: "tools", rewritten: "tail", output: "round", summaries: "system" };
const moneyChart = new MoneyChart(one("#money-chart"), (place) => guarded(go)(place));

one("#money-prices").addEventListener("change", guarded(showMoney));
one("#money-prices").addEventListener("focus", guarded(async () => {
  if (one("#money-models").children.length) return;
  one("#money-models").replaceChildren(...(await ask("models")).map(({ name, words }) => {
    const option = make("option", words);
    option.value = name;
    return option;
  }));
}));
addPanel("money", showMoney, { isOfSession: true });
