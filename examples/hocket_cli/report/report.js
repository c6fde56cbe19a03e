// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Draws the numbers of `hocket plan`. It computes none: what is shown stands in the document above, and this file turns
// it into words, bars and lines. Text from the document is only ever set as text, never as markup.
"use strict";
const D = JSON.parse(document.getElementById("data").textContent);

// ---- elements and words

function node(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter(c => c !== null && c !== undefined));
  return element;
}
const h = (tag, attributes, ...children) => node(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) =>
  node(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const GIB = 2 ** 30;
const number = (x, digits = 0) => x.toLocaleString("en", {minimumFractionDigits: digits, maximumFractionDigits: digits});
const percent = (x, digits = 1) => number(100 * x, digits) + "\u00a0%";
const change = x => (x > 0 ? "+" : x < 0 ? "−" : "±") + percent(Math.abs(x));
const gib = bytes => number(bytes / GIB, bytes < 99.95 * GIB ? 1 : 0) + " GiB";
function time(us) {
  for (const [unit, size] of [["s", 1e6], ["ms", 1e3], ["µs", 1]])
    if (Math.abs(us) >= size) return number(us / size, Math.abs(us) < 10 * size ? 2 : Math.abs(us) < 100 * size ? 1 : 0) + " " + unit;
  return us === 0 ? "0" : number(us * 1e3) + " ns";
}
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const KIND = {
  forward: "forward", backward: "backward", "input gradient": "input-grad", "weight gradient": "weight-grad",
  compute: "forward", communication: "communication", optimizer: "communication", wait: "wait", other: "wait",
  recompute: "recompute",
};
const redraws = [];

// ---- the tooltip, for pointer and keyboard

const tip = document.getElementById("tip");
function showTip(words, x, y) {
  tip.textContent = words;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18) + "px";
}
const hideTip = () => { tip.hidden = true; };
/** A mark of a chart that says what it is to pointers, keys and screen readers. */
function point(words, attributes, ...children) {
  const g = s("g", {class: "point", tabindex: "0", role: "img", "aria-label": words, ...attributes}, ...children);
  g.addEventListener("pointermove", e => showTip(words, e.clientX, e.clientY));
  g.addEventListener("pointerleave", hideTip);
  g.addEventListener("focus", () => { const b = g.getBoundingClientRect(); showTip(words, b.right, b.top); });
  g.addEventListener("blur", hideTip);
  return g;
}

// ---- the frame of a section

function section(id, title, intro, ...children) {
  document.getElementById("nav").append(h("a", {href: "#" + id}, title));
  const at = h("section", {id, class: "card", "aria-labelledby": id + "-title"},
    h("h2", {id: id + "-title"}, title), intro ? h("p", {class: "muted small"}, intro) : null, ...children);
  document.getElementById("main").append(at);
  return at;
}
function table(heads, rows, mark) {
  return h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": heads.join(", ")},
    h("table", {}, h("thead", {}, h("tr", {}, ...heads.map(x => h("th", {scope: "col"}, x)))),
      h("tbody", {}, ...rows.map((row, i) => h("tr", {class: mark?.(i) ? "here" : null}, ...row.map(x => h("td", {}, x)))))));
}
const pill = fits => h("span", {class: "pill " + (fits ? "yes" : "no")}, fits ? "✓ fits" : "✕ too much");
function choose(label, options, use) {
  const select = h("select", {onchange: () => use(select.value)}, ...options.map(([value, words]) => h("option", {value}, words)));
  return {field: h("label", {}, label, select), select};
}
function legend(entries) {
  return h("ul", {class: "legend"}, ...entries.map(([name, kind, value]) =>
    h("li", {}, h("i", {class: kind, style: kind === "free" ? null : `background: var(--${kind})`, "aria-hidden": "true"}), name,
      value ? h("b", {}, value) : null)));
}
/** Parts of a whole as one bar. @param mark  [share of the whole, words]: a limit to draw there */
function stack(parts, whole, name, mark) {
  const words = name + ": " + parts.map(p => `${p[0]} ${p[3]}`).join(", ") + (mark ? "; " + mark[1] : "");
  return h("div", {class: "share"}, h("h3", {}, name),
    h("div", {class: "marked"},
      h("div", {class: "stack", role: "img", "aria-label": words},
        ...parts.map(p => h("i", {class: p[1], style: `flex: ${Math.max(0, p[2] / whole)} 0 0; ` + (p[1] === "free" ? "" : `background: var(--${p[1]})`)}))),
      mark ? h("b", {class: "mark-of-limit", style: `left: ${100 * Math.min(1, mark[0])}%`, title: mark[1], "aria-hidden": "true"}) : null),
    legend(parts.map(p => [p[0], p[1], p[3]])));
}

// ---- overview

function sizesInWords() {
  const z = D.sizes;
  const of = ["tp", "pp", "dp", "cp", "ep"].filter(k => z[k] > 1).map(k => `${k} ${z[k]}`).join(" × ");
  return `${number(z.devices)} device${z.devices === 1 ? "" : "s"}${of ? ": " + of : ""} · ${z.chunks} chunk${z.chunks === 1 ? "" : "s"} a rank · ` +
    `${number(z.micro_batches)} micro-batches of ${z.micro_batch} · ${number(z.sequence)} tokens a sequence · recompute ${z.recompute}`;
}
function answer() {
  const m = D.memory, fits = m.over === 0;
  const words = fits
    ? `${gib(m.fullest_peak_bytes)} of ${gib(m.capacity)} on the fullest rank (rank ${m.fullest}), ${m.fullest_moment}; with ${gib(m.reserve)} in reserve, ${gib(m.capacity - m.reserve - m.fullest_peak_bytes)} are left.`
    : `${number(m.over)} of ${number(m.rank_count)} ranks need more than the ${gib(m.capacity - m.reserve)} that ${gib(m.capacity)} and a reserve of ${gib(m.reserve)} leave; rank ${m.fullest} needs ${gib(m.fullest_peak_bytes)}, ${m.fullest_moment}.`;
  return h("div", {class: "answer " + (fits ? "yes" : "no"), id: "answer"},
    h("strong", {}, h("span", {class: "mark", "aria-hidden": "true"}, fits ? "✓" : "✕"), fits ? "It fits" : "It does not fit"),
    h("span", {class: "muted"}, words));
}
/** What stands behind a utilization that cannot be: the words of report.txt. */
function warningOf(text) {
  const at = text.lastIndexOf("): ");
  return at < 0 ? "" : text.slice(at + 1);
}
function figures() {
  const p = D.pipeline, u = D.cost.utilization;
  const above = p.lower_bound_us > 0 ? p.makespan_us / p.lower_bound_us - 1 : 0;
  const figure = (value, words) => h("div", {class: "figure"}, h("b", {}, value), h("span", {}, words));
  const kinds = {measured: "measured step, from the plan file", predicted: "predicted step", pipeline: "the pipeline alone"};
  return h("div", {class: "figures"},
    figure(time(D.step_seconds * 1e6), kinds[D.step_is]),
    figure(number(D.tokens_per_second_per_device), "tokens/s per device"),
    figure(time(p.makespan_us), above < 0.00005 ? "the pipeline: no order is shorter" : `the pipeline: ${percent(above)} above the lower bound`),
    figure(percent(p.bubble), "of the pipeline is idle"),
    u ? figure(percent(u.mfu), "model FLOPs utilization" + warningOf(u.mfu_text)) : null);
}
/** Why some changes are not among those tried, which a reader would look for. */
function notTried() {
  return D.changes.not_tried.length ? h("p", {class: "small not-tried"}, h("b", {}, "Not tried. "), D.changes.not_tried.join(" ")) : null;
}
/** Where the change is made: a field of the plan file, or a command for schedules that such a file has no name for. */
function howTo(x) {
  const field = {schedule: "pipeline.schedule", "global batch": "training.global_batch", "micro-batch size": "training.micro_batch",
    recompute: "parallel.recompute", chunks: "parallel.vp", "parallel sizes": "parallel", zero: "parallel.zero",
    "expert sizes": "parallel"}[x.family];
  if (x.what.startsWith("keep, recompute or offload")) return "by: hocket planner offload ";
  const name = x.what.replace("schedule ", "").split(",")[0];
  if (x.what.startsWith("schedule ") && !["1f1b", "gpipe", "interleaved"].includes(name)) return `by: hocket pipeline list ${name} --ranks ${D.sizes.pp} --chunks ${D.sizes.chunks} --micro-batches ${D.sizes.micro_batches} `;
  return field ? `in the plan file: ${field} ` : "";
}
const WORDS = [["tp, pp, dp, cp, ep", "how many devices share a layer (tensor parallel), follow each other (pipeline), repeat the model (data), share a sequence (context), share experts"],
  ["rank", "a place in the pipeline; tp × dp × cp devices do the same there"],
  ["micro-batch", "the part of the global batch that goes through the pipeline at once"],
  ["chunk", "a rank has several pieces of the model, not one behind another"],
  ["idle", "waiting for another rank: while the pipeline fills, drains, or in between"],
  ["lower bound", "no order of the same work can be shorter"],
  ["recompute", "activations are computed again for the backward, and not kept"],
  ["utilization", "FLOPs of the model in a second, as a share of what the device can do at its best"]];
function helps() {
  const c = D.changes;
  const card = i => {
    const x = c.all[i], faster = x.time < -0.0005;
    const lean = x.bytes - c.now.bytes, room = (lean > 0 ? "+" : "−") + gib(Math.abs(lean));
    return h("li", {}, h("b", {}, x.what),
      h("span", {class: "effect" + (faster || (x.fits && !c.now.fits) ? "" : " even")}, faster || !lean ? change(x.time) + " time" : room),
      h("span", {class: "muted small"}, howTo(x)),
      h("span", {class: "muted small"}, (faster ? (lean ? room + " on the fullest rank" : "as much memory") : change(x.time) + " time") + (x.fits ? "; fits" : "; does not fit")));
  };
  const tried = `Each is the plan made again with one change (${c.all.length} tried` +
    (c.refused ? `, ${c.refused} impossible` : "") + (c.left_out ? `, ${c.left_out} left out as too long` : "") + "); time is per token. ";
  return h("div", {class: "wide"}, h("h3", {}, "What would help most"),
    c.nothing_fits ? h("p", {}, "Nothing that was tried fits.") : null,
    c.best.length ? h("ul", {class: "helps"}, ...c.best.map(card)) : h("p", {}, D.memory.over ? "None of the changes tried makes it leaner." : "None of the changes tried makes it faster or leaner."),
    h("p", {class: "muted small"}, tried, h("a", {href: "#changes"}, "All of them")), notTried());
}
/** The whole step: what works, what is sent and what waits. */
function timeShares() {
  const w = D.waterfall, idle = w.parts.filter(p => p.kind === "wait").reduce((sum, p) => sum + p.us, 0);
  const parts = [...w.parts.filter(p => p.kind !== "wait"), {name: "idle", kind: "wait", us: idle}].filter(p => p.us > 0);
  return stack(parts.map(p => [p.name, p.kind, p.us, percent(p.us / w.whole_us)]), w.whole_us, `Where the time of the ${STEP_IS[w.whole_is]} goes, on the busiest rank`);
}
const STEP_IS = {measured: "measured step", predicted: "predicted step", pipeline: "pipeline"};
const MEMORY_COLOURS = ["forward", "weight-grad", "states", "activations", "communication", "recompute", "input-grad"];
function memoryShares() {
  const m = D.memory, left = Math.max(0, m.capacity - m.reserve - m.fullest_peak_bytes);
  const kinds = m.kinds.map((name, i) => [name, MEMORY_COLOURS[i], m.fullest_kinds[i], gib(m.fullest_kinds[i])]).filter(p => p[2] > 0);
  const whole = Math.max(m.capacity, m.reserve + m.fullest_peak_bytes);
  return stack([...kinds, ["reserve", "reserve", m.reserve, gib(m.reserve)], ["free", "free", left, gib(left)]], whole,
    "Where the memory goes, on the fullest rank", [m.capacity / whole, `the capacity is ${gib(m.capacity)}`]);
}
function overview() {
  section("overview", "Overview", null,
    h("div", {class: "verdict"}, answer(), figures(),
      h("div", {class: "wide shares"}, timeShares(), memoryShares()),
      helps()),
    h("details", {}, h("summary", {}, "What the words mean"),
      h("dl", {class: "words small"}, ...WORDS.flatMap(([word, meaning]) => [h("dt", {}, word), h("dd", {}, meaning)]))));
}

// ---- timeline: a canvas with lanes of bars

/** Numbers of words of a lane, from the form that page_bars.hpp describes. */
function unrolled(list) {
  const all = [];
  for (let i = 0; i < list.length; ++i) {
    if (list[i] >= 0) { all.push(list[i]); continue; }
    const back = list[++i];
    for (let n = -list[i - 1]; n > 0; --n) all.push(all[all.length - back]);
  }
  return all;
}
/** The bars of a lane, by start: bar i lasts from start[i] to end[i]. */
class Bars {
  constructor(words, all) {
    const n = this.length = all.length;
    this.start = new Float64Array(n);
    this.end = new Float64Array(n);
    this.kind = new Uint8Array(n);
    this.chunk = new Uint16Array(n);
    this.micro = new Int32Array(n);
    let clock = 0;
    const last = {};
    for (let i = 0; i < n; ++i) {
      const [gap, length, kind, chunk, id, step] = words[all[i]], same = `${kind} ${chunk} ${id}`;
      this.start[i] = clock + gap;
      this.end[i] = clock = this.start[i] + length;
      this.kind[i] = kind;
      this.chunk[i] = chunk;
      this.micro[i] = last[same] = (last[same] ?? -1) + step;
    }
  }
}
const AXIS = 26, LANES = 64;  // that are drawn at once
/** Places of so many lanes at most, the first and the last among them. */
function evenly(count) {
  const shown = Math.min(count, LANES);
  return Array.from({length: shown}, (_, i) => shown === 1 ? 0 : Math.floor(i * (count - 1) / (shown - 1)));
}
class Timeline {
  constructor(data, label, laneHeight) {
    this.source = data.lanes;
    this.list = unrolled(data.lane_bars);
    this.first = [0];
    for (const lane of data.lanes) this.first.push(this.first.at(-1) + lane.bars);
    this.data = {...data};
    this.pitch = laneHeight ?? (data.lanes.length > 24 ? 16 : 30);
    this.take(evenly(data.lanes.length));
    this.chunks = 1 + Math.max(0, ...data.words.map(word => word[3]));
    this.whole = Math.max(data.makespan, ...data.marks.map(m => m.at), 1);
    this.view = [0, this.whole];
    this.gutter = 74;  // room for the names of the lanes; measured when drawn
    this.canvas = h("canvas", {tabindex: "0", role: "img", "aria-label": label + " Arrow keys go from bar to bar, plus and minus zoom, 0 shows all."});
    this.said = h("p", {class: "said muted small", "aria-live": "polite"}, "");
    this.dense = h("p", {class: "dense muted small"}, "");
    const act = (name, words, f) => h("button", {type: "button", "aria-label": words, title: words, onclick: f}, name);
    this.element = h("div", {},
      h("div", {class: "controls"},
        h("span", {class: "group"}, act("+", "Zoom in", () => this.zoom(0.5)), act("−", "Zoom out", () => this.zoom(2)),
          act("◀", "Earlier", () => this.pan(-0.3)), act("▶", "Later", () => this.pan(0.3)), act("All", "Show all", () => this.all())),
        h("span", {class: "muted small keys"}, "Drag to move, Ctrl and wheel to zoom, arrow keys from bar to bar.")),
      h("div", {class: "plot"}, this.canvas), this.dense, this.said);
    this.listen();
    redraws.push(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }
  /** Lanes that are drawn, by their place in the data. */
  take(places) {
    this.data.lanes = places.map(i => this.source[i]);
    this.lanes = places.map(i => new Bars(this.data.words, this.list.slice(this.first[i], this.first[i + 1])));
    this.chosen = null;
  }
  all() { this.view = [0, this.whole]; this.draw(); }
  zoom(factor, centre = (this.view[0] + this.view[1]) / 2) {
    const span = Math.min(this.whole, Math.max(this.whole / 5e4, (this.view[1] - this.view[0]) * factor));
    const share = (centre - this.view[0]) / (this.view[1] - this.view[0]);
    this.show(centre - span * share, span);
  }
  pan(share) { const span = this.view[1] - this.view[0]; this.show(this.view[0] + share * span, span); }
  show(from, span) {
    const start = Math.max(0, Math.min(from, this.whole - span));
    this.view = [start, start + span];
    this.draw();
  }
  xOf(at) { return this.gutter + (at - this.view[0]) / (this.view[1] - this.view[0]) * (this.width - this.gutter - 8); }
  timeAt(x) { return this.view[0] + (x - this.gutter) / (this.width - this.gutter - 8) * (this.view[1] - this.view[0]); }
  us(ticks) { return ticks / this.data.ticks_per_second * 1e6; }
  /** The first bar of a lane that ends after a moment. */
  firstAfter(lane, at) {
    let low = 0, high = lane.length;
    while (low < high) { const middle = (low + high) >> 1; if (lane.end[middle] > at) high = middle; else low = middle + 1; }
    return low;
  }
  /** The first that begins at a moment or after it. */
  firstFrom(lane, at) {
    let low = 0, high = lane.length;
    while (low < high) { const middle = (low + high) >> 1; if (lane.start[middle] >= at) high = middle; else low = middle + 1; }
    return low;
  }
  draw() {
    const scale = devicePixelRatio || 1, height = AXIS + this.lanes.length * this.pitch + 6;
    this.canvas.style.height = height + "px";
    this.width = this.canvas.clientWidth;
    if (!this.width) return;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(height * scale);
    const c = this.c = this.canvas.getContext("2d");
    c.scale(scale, scale);
    c.font = "12px " + getComputedStyle(document.body).fontFamily;
    this.fills = {};
    const longest = Math.max(...this.data.lanes.map(lane => c.measureText(lane.name).width));
    this.gutter = Math.ceil(Math.min(longest + 14, this.width * 0.3));
    this.drawAxis(height);
    let dense = false;
    for (let i = 0; i < this.lanes.length; ++i) dense = this.drawLane(i) || dense;
    this.dense.textContent = dense ? "Too many bars to see in this view: the height of a colour is its share of the time, the rest is idle. Zoom in to see the bars." : "";
    this.drawChosen();
    this.drawMarks(height);
    this.drawNames();
  }
  drawAxis(height) {
    const c = this.c, span = this.us(this.view[1] - this.view[0]), rough = span / Math.max(2, (this.width - this.gutter) / 110);
    const power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find(x => x * power >= rough) * power;
    c.textBaseline = "middle";
    c.textAlign = "center";
    for (let at = Math.ceil(this.us(this.view[0]) / step) * step; at <= this.us(this.view[1]) + step / 1e6; at += step) {
      const x = this.xOf(at / 1e6 * this.data.ticks_per_second);
      c.fillStyle = colour("line");
      c.fillRect(x, AXIS - 4, 1, height - AXIS);
      c.fillStyle = colour("muted");
      if (x >= this.gutter - 1 && x < this.width - 20) c.fillText(time(at), x, AXIS / 2);
    }
  }
  /** The hue tells the kind, the shade the chunk. */
  fill(kind, chunk) {
    const key = kind + chunk;
    if (this.fills[key]) return this.fills[key];
    const mix = this.chunks > 1 && chunk !== undefined ? 0.42 * (1 - chunk / (this.chunks - 1)) : 0;
    const parts = x => [1, 3, 5].map(i => parseInt(x.slice(i, i + 2), 16));
    const a = parts(colour(KIND[kind])), b = parts(colour("surface")), rgb = a.map((x, i) => Math.round(x * (1 - mix) + b[i] * mix));
    const light = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] > 135;
    return this.fills[key] = [`rgb(${rgb})`, light ? "#10161e" : "#ffffff"];
  }
  tall() { return this.pitch - (this.pitch > 20 ? 5 : 2); }
  /** Draws its bars where they can be seen; shares of its time, and true is returned, where they cannot. */
  drawLane(i) {
    const c = this.c, top = AXIS + i * this.pitch, lane = this.lanes[i];
    c.fillStyle = colour("raised");
    c.fillRect(this.gutter, top, this.width - this.gutter - 8, this.tall());
    const first = this.firstAfter(lane, this.view[0]), end = this.firstFrom(lane, this.view[1]);
    const columns = Math.round((this.width - this.gutter - 8) * (devicePixelRatio || 1));
    const seen = this.widthOf(lane, first, end) >= 3;
    if (seen) this.drawBars(lane, first, end, top);
    else this.drawShares(lane, first, end, top, columns);
    return !seen;
  }
  /** What the bars are wide on average, in pixels; no limit without bars. */
  widthOf(lane, first, end) {
    if (first === end) return Infinity;
    let sum = 0;
    for (let k = first; k < end; ++k) sum += lane.end[k] - lane.start[k];
    return (this.xOf(sum / (end - first)) - this.xOf(0)) * (devicePixelRatio || 1);
  }
  /** Edges are on pixels: bars that touch leave no gap, and on average none is wider than it is long. */
  drawBars(lane, first, end, top) {
    const c = this.c, tall = this.tall(), scale = devicePixelRatio || 1, onPixel = x => Math.round(x * scale) / scale;
    for (let k = first; k < end; ++k) {
      const x = onPixel(Math.max(this.gutter, this.xOf(lane.start[k]))), right = onPixel(Math.min(this.width - 8, this.xOf(lane.end[k])));
      const wide = right - x, micro = lane.micro[k], [fill, ink] = this.fill(this.data.kinds[lane.kind[k]], lane.chunk[k]);
      c.fillStyle = fill;
      c.fillRect(x, top, wide, tall);
      if (wide > 4) {
        c.fillStyle = "rgba(0, 0, 0, 0.3)";  // tells it from the next; not the colour of idle time
        c.fillRect(right - 1, top, 1, tall);
      }
      if (micro >= 0 && tall > 12 && wide > 6 + 7 * String(micro).length) {
        c.fillStyle = ink;
        c.textAlign = "center";
        c.fillText(micro, x + wide / 2, top + tall / 2 + 0.5);
      }
    }
  }
  /** What share of each of so many equal columns of the view a kind has, column by column. */
  columnsOf(lane, first, end, count) {
    const kinds = this.data.kinds.length, out = new Float64Array(count * kinds), each = (this.view[1] - this.view[0]) / count;
    for (let i = first; i < end; ++i) {
      const from = Math.max(0, (lane.start[i] - this.view[0]) / each), to = Math.min(count, (lane.end[i] - this.view[0]) / each);
      for (let x = Math.floor(from); x < to; ++x) {
        out[x * kinds + lane.kind[i]] += Math.min(to, x + 1) - Math.max(from, x);
      }
    }
    return out;
  }
  /** For each kind the area up to its share and those before it, the highest first: what is drawn over it leaves its own. */
  drawShares(lane, first, end, top, count) {
    const c = this.c, kinds = this.data.kinds.length, shares = this.columnsOf(lane, first, end, count);
    const tall = this.tall(), bottom = top + tall, each = (this.width - this.gutter - 8) / count, sums = new Float64Array(count);
    for (let x = 0; x < count; ++x) for (let k = 0; k < kinds; ++k) if (this.data.kinds[k] !== "wait") sums[x] += shares[x * kinds + k];
    for (let k = kinds - 1; k >= 0; --k) {
      if (this.data.kinds[k] === "wait") continue;
      let used = false;
      c.beginPath();
      c.moveTo(this.gutter, bottom);
      for (let x = 0; x < count; ++x) {
        const y = bottom - tall * Math.min(1, sums[x]);
        c.lineTo(this.gutter + x * each, y);
        c.lineTo(this.gutter + (x + 1) * each, y);
        used = used || shares[x * kinds + k] > 0;
        sums[x] -= shares[x * kinds + k];
      }
      c.lineTo(this.gutter + count * each, bottom);
      c.fillStyle = this.fill(this.data.kinds[k])[0];
      if (used) c.fill();
    }
  }
  drawChosen() {
    if (!this.chosen) return;
    const c = this.c, [i, k] = this.chosen, lane = this.lanes[i], top = AXIS + i * this.pitch;
    const x = Math.max(this.gutter, this.xOf(lane.start[k])), right = Math.min(this.width - 8, this.xOf(lane.end[k]));
    if (right < x) return;
    c.strokeStyle = colour("text");
    c.lineWidth = 2;
    c.strokeRect(x + 1, top + 1, Math.max(2, right - x - 2), this.tall() - 2);
  }
  drawMarks(height) {
    const c = this.c;
    for (const mark of this.data.marks) {
      if (mark.at < this.view[0] || mark.at > this.view[1]) continue;
      c.fillStyle = colour("bad");
      c.fillRect(this.xOf(mark.at), AXIS - 6, 1.5, height);
    }
  }
  drawNames() {
    const c = this.c;
    c.textAlign = "left";
    const every = Math.max(1, Math.ceil(14 / this.pitch));
    c.fillStyle = colour("surface");
    c.fillRect(0, AXIS, this.gutter - 2, this.canvas.clientHeight);
    c.fillStyle = colour("muted");
    this.data.lanes.forEach((lane, i) => {
      let name = lane.name;
      while (name.length > 3 && c.measureText(name).width > this.gutter - 8) name = name.slice(0, -2) + "…";
      if (i % every === 0) c.fillText(name, 0, AXIS + i * this.pitch + this.pitch / 2 - 1);
    });
  }
  describe(i, k) {
    const lane = this.lanes[i], words = [this.data.lanes[i].name], start = lane.start[k], end = lane.end[k];
    const micro = lane.micro[k];
    words.push(this.data.kinds[lane.kind[k]] + (micro >= 0 ? (this.of ? ` of ${this.of} ` : ` of micro-batch `) + micro : "") + (this.chunks > 1 && !this.of ? `, chunk ${lane.chunk[k]}` : ""));
    words.push(`${time(this.us(start))} to ${time(this.us(end))}: ${time(this.us(end - start))}`);
    return words;
  }
  at(e) {
    const box = this.canvas.getBoundingClientRect(), x = e.clientX - box.left, i = Math.floor((e.clientY - box.top - AXIS) / this.pitch);
    if (x < this.gutter || !this.lanes[i]) return null;
    const t = this.timeAt(x), k = this.firstAfter(this.lanes[i], t);
    return this.lanes[i].start[k] <= t ? [i, k] : null;
  }
  choose(i, k) {
    const lane = this.lanes[i];
    if (!(k >= 0 && k < lane?.length)) return;
    this.chosen = [i, k];
    const span = this.view[1] - this.view[0];
    if (lane.start[k] < this.view[0] || lane.end[k] > this.view[1]) this.show((lane.start[k] + lane.end[k] - span) / 2, span);
    this.said.textContent = this.describe(i, k).join(" · ");
    this.draw();
  }
  key(e) {
    const [i, k] = this.chosen ?? [0, -1];
    const moves = {
      ArrowRight: () => this.choose(i, k + 1), ArrowLeft: () => this.choose(i, k - 1),
      ArrowDown: () => this.vertical(i + 1), ArrowUp: () => this.vertical(i - 1),
      Home: () => this.choose(i, 0), End: () => this.choose(i, this.lanes[i].length - 1),
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), "0": () => this.all(),
    };
    if (!moves[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    moves[e.key]();
  }
  vertical(i) {
    if (!this.lanes[i]) return;
    const now = this.chosen ? this.lanes[this.chosen[0]].start[this.chosen[1]] : 0;
    this.choose(i, Math.min(this.lanes[i].length - 1, this.firstAfter(this.lanes[i], now)));
  }
  listen() {
    const fingers = new Map();
    const at = this.canvas;
    at.addEventListener("keydown", e => this.key(e));
    at.addEventListener("pointerdown", e => { fingers.set(e.pointerId, e.clientX); at.setPointerCapture(e.pointerId); at.classList.add("held"); this.moved = 0; });
    const let_go = e => { fingers.delete(e.pointerId); at.classList.remove("held"); };
    at.addEventListener("pointerup", e => { const hit = this.moved < 4 && this.at(e); let_go(e); if (hit) this.choose(...hit); });
    at.addEventListener("pointercancel", let_go);
    at.addEventListener("pointerleave", hideTip);
    at.addEventListener("pointermove", e => {
      const before = fingers.get(e.pointerId);
      if (before === undefined) {
        const hit = this.at(e);
        return hit ? showTip(this.describe(...hit).join("\n"), e.clientX, e.clientY) : hideTip();
      }
      hideTip();
      const others = [...fingers].filter(([id]) => id !== e.pointerId).map(([, x]) => x);
      if (others.length) this.zoom(Math.abs(before - others[0]) / Math.max(8, Math.abs(e.clientX - others[0])), this.timeAt(others[0] - at.getBoundingClientRect().left));
      else this.pan((before - e.clientX) / (this.width - this.gutter));
      this.moved += Math.abs(e.clientX - before);
      fingers.set(e.pointerId, e.clientX);
    });
    at.addEventListener("wheel", e => {
      if (!e.ctrlKey && !e.metaKey && !e.deltaX) return;
      e.preventDefault();
      if (e.ctrlKey || e.metaKey) this.zoom(Math.exp(e.deltaY / 300), this.timeAt(e.clientX - at.getBoundingClientRect().left));
      else this.pan(e.deltaX / this.width);
    }, {passive: false});
  }
  kinds() {
    const used = new Set(this.data.words.map(word => word[2]));
    return this.data.kinds.filter((_, i) => used.has(i)).map(k => [k, KIND[k]]);
  }
}
/** Says which ranks are drawn, and lets a reader choose others. */
function thinned(t, shown) {
  if (t.lane_count <= LANES) return null;
  const all = t.lanes.length, spaced = `${Math.min(all, LANES)} of ${number(t.lane_count)}, evenly spaced`;
  const parts = [[spaced, evenly(all)]];
  for (let from = 0; all === t.lane_count && from < all; from += LANES) {
    const places = Array.from({length: Math.min(LANES, all - from)}, (_, i) => from + i);
    parts.push([`${from} to ${places.at(-1)}`, places]);
  }
  const choice = h("select", {"aria-label": "Ranks that are drawn", onchange: e => { shown.take(parts[e.target.value][1]); shown.draw(); }},
    ...parts.map(([words], i) => h("option", {value: String(i)}, words)));
  return h("p", {class: "small", id: "thinned"}, "Ranks drawn: ", parts.length > 1 ? choice : spaced + ".");
}
function timelineSection() {
  if (!D.timeline) return section("timeline", "Timeline", D.undrawn);
  const p = D.pipeline, shown = new Timeline(D.timeline, `Simulated pipeline of ${D.timeline.lane_count} ranks over ${time(p.makespan_us)}.`);
  window.hocketTimeline = shown;
  const name = p.schedule === "search" ? "Searched for, found by: " + p.found_by : p.schedule + (p.groups ? ", groups " + p.groups : "");
  const shades = shown.chunks > 1 ? " The shade tells the chunk, faint for the first." : "";
  section("timeline", "Timeline",
    `${name}. Stage times are ${p.stage_times}; a hop between ranks takes ${time(p.hop_us)}. The number in a bar is its micro-batch.${shades}` +
    (D.timeline.marks.length ? " The red line: " + D.timeline.marks.map(m => m.label).join(", ") + "." : ""),
    thinned(D.timeline, shown), shown.element, legend([...shown.kinds(), ["idle", "wait"]].filter((x, i, all) => i < all.length - 1 || !all.slice(0, -1).some(y => y[1] === "wait"))));
}

// ---- charts in SVG

const wide = element => Math.max(300, element.clientWidth || 300);
/** Keeps a picture as wide as its place: draw(width) is called again when that changes. */
function picture(draw) {
  const at = h("div", {class: "plot"});
  let last = 0;
  const again = force => { const w = wide(at); if (force || w !== last) { last = w; at.replaceChildren(draw(w)); } };
  new ResizeObserver(() => again(false)).observe(at);
  return {at, again: () => again(true)};
}
function ticks(most, count) {
  const rough = most / count, power = 10 ** Math.floor(Math.log10(rough || 1)), step = [1, 2, 5, 10].find(x => x * power >= rough) * power;
  const all = [];
  for (let x = 0; x <= most * 1.0001; x += step) all.push(x);
  return all;
}
function grid(width, height, left, bottom, yMost, yWords, xMost, xWords, xLeast = 0, yLeast = 0) {
  const y = v => 12 + (1 - (v - yLeast) / (yMost - yLeast)) * (height - bottom - 12), x = v => left + (v - xLeast) / (xMost - xLeast) * (width - left - 14);
  const g = s("g", {"aria-hidden": "true"});
  for (const v of ticks(yMost, yLeast ? 5 * yMost / (yMost - yLeast) : 5)) if (v >= yLeast) g.append(s("path", {class: "axis", d: `M${left} ${y(v)}H${width - 14}`}), s("text", {class: "soft", x: left - 6, y: y(v) + 4, "text-anchor": "end"}, yWords(v)));
  for (const v of ticks(xMost, (width < 500 ? 4 : 8) * xMost / (xMost - xLeast))) if (v >= xLeast) g.append(s("text", {class: "soft", x: x(v), y: height - bottom + 18, "text-anchor": "middle"}, xWords(v)));
  return {g, x, y};
}
function memorySection() {
  const drawn = Boolean(D.timeline), m = drawn ? D.memory_over_time : {ranks: []}, all = D.memory;
  const perSecond = drawn ? D.timeline.ticks_per_second / 1e6 : 1;
  let chosen = String((m.ranks.find(r => r.rank === all.fullest) ?? m.ranks[0])?.rank);
  const most = Math.max(all.capacity, all.fullest_peak_bytes) * 1.06 / GIB, usable = (all.capacity - all.reserve) / GIB, end = drawn ? D.timeline.makespan : 0;
  const over = drawn && picture(width => {
    const height = 280, {g, x, y} = grid(width, height, 44, 40, most, v => number(v), end / perSecond, v => time(v));
    const root = s("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Memory of the ranks over time; rank ${chosen} is highlighted, the capacity is ${gib(m.capacity)}.`}, g,
      s("text", {class: "soft", x: 2, y: height - 4}, "GiB; time since the step began"));
    const curve = r => {
      let d = `M${x(0)} ${y(r.static_bytes / GIB)}`;
      for (const [at, bytes] of r.moments) d += `H${x(at / perSecond).toFixed(1)}V${y(bytes / GIB).toFixed(1)}`;
      return s("path", {class: "curve" + (String(r.rank) === chosen ? " chosen" : ""), d: d + `H${x(end / perSecond)}`});
    };
    const ordered = [...m.ranks].sort((a, b) => (String(a.rank) === chosen) - (String(b.rank) === chosen));
    root.append(...ordered.map(curve), s("path", {class: "limit", d: `M44 ${y(usable)}H${width - 14}`}),
      s("text", {class: "limit-text", x: width - 14, y: y(usable) - 5, "text-anchor": "end"}, `capacity less reserve ${gib(all.capacity - all.reserve)}`));
    root.addEventListener("pointermove", e => {
      const box = root.getBoundingClientRect(), at = (e.clientX - box.left) / box.width * width;
      const t = (at - 44) / (width - 58) * end, r = m.ranks.find(q => String(q.rank) === chosen);
      if (t < 0 || t > end) return hideTip();
      const last = r.moments.filter(x => x[0] <= t).at(-1);
      showTip(`rank ${r.rank} at ${time(t / perSecond)}\n${gib(last ? last[1] : r.static_bytes)}, ${last ? last[2] : 0} activations held`, e.clientX, e.clientY);
    });
    root.addEventListener("pointerleave", hideTip);
    return root;
  });
  const bars = picture(width => {
    const height = 220, shown = all.ranks, {g, x, y} = grid(width, height, 44, 40, most, v => number(v), all.rank_count, () => "");
    const root = s("svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Memory of each rank"}, g);
    const each = (width - 58) / shown.length, gap = each < 5 ? 0 : Math.min(12, each * 0.2), every = Math.ceil(46 / each);
    root.append(s("rect", {x: 44, y: y(all.capacity / GIB), width: width - 58, height: y(usable) - y(all.capacity / GIB), fill: "var(--reserve)"}));
    shown.forEach((r, i) => {
      const at = 44 + i * each + gap / 2, w = each - gap, bars = [];
      let below = 0;
      r.kinds.forEach((bytes, k) => {
        if (bytes > 0) bars.push(s("rect", {x: at, y: y((below + bytes) / GIB), width: w, height: y(below / GIB) - y((below + bytes) / GIB), fill: `var(--${MEMORY_COLOURS[k]})`}));
        below += bytes;
      });
      const words = `rank ${r.rank}, ${r.layers} layers: ` + all.kinds.map((name, k) => [r.kinds[k], name]).filter(x => x[0] > 0).map(x => `${gib(x[0])} ${x[1]}`).join(", ") +
        `; ${gib(r.peak_bytes)} at its peak, ${r.moment}${r.fits ? "" : ", too much"}`;
      root.append(point(words, shown.length > 64 ? {tabindex: "-1"} : {}, ...bars));
      if (i % every === 0) root.append(s("text", {class: "soft", x: at + w / 2, y: height - 22, "text-anchor": "middle"}, r.rank));
    });
    root.append(s("path", {class: "limit", d: `M44 ${y(all.capacity / GIB)}H${width - 14}`}),
      s("text", {class: "limit-text", x: width - 14, y: y(all.capacity / GIB) - 5, "text-anchor": "end"}, `capacity ${gib(all.capacity)}`));
    root.append(s("text", {class: "soft", x: 2, y: height - 4}, "GiB; pipeline rank"));
    return root;
  });
  const held = [...all.kinds.keys()].filter(k => all.ranks.some(r => r.kinds[k] > 0));
  const rank = choose("Rank", m.ranks.map(r => [String(r.rank), "rank " + r.rank]), value => { chosen = value; over.again(); });
  if (drawn) rank.select.value = chosen;
  const some = all.ranks.length < all.rank_count ? ` Shown: ${all.ranks.length} of ${number(all.rank_count)} ranks, evenly spaced, and the fullest.` : "";
  const thin = m.ranks.length < m.rank_count ? ` ${m.ranks.length} of ${number(m.rank_count)} ranks are drawn, evenly spaced.` : "";
  section("memory", "Memory",
    `Weights, gradients and optimizer states stay; activations follow the simulated schedule, shared out evenly over the passes that hold them.${thin}` +
    (m.together > 1 ? ` Of each ${m.together} moments the fullest is drawn.` : ""),
    drawn ? h("div", {class: "controls"}, rank.field) : null, drawn ? over.at : null,
    h("h3", {}, "At the peak, by rank"), some ? h("p", {class: "small"}, some) : null, bars.at,
    legend([...held.map(k => [all.kinds[k], MEMORY_COLOURS[k]]), ["reserve", "reserve"]]),
    h("details", {}, h("summary", {}, "As a table, in GiB"), table(["rank", "layers", ...held.map(k => all.kinds[k]), "peak", "fits"],
      all.ranks.map(r => [r.rank, r.layers, ...held.map(k => number(r.kinds[k] / GIB, 2)), number(r.peak_bytes / GIB, 2), pill(r.fits)])),
      h("p", {class: "muted small"}, MEMORY_WORDS)));
}
/** The same words as in report.txt. */
const MEMORY_WORDS = "Peak: all that is there at the fullest moment of a rank, also what lives only then. " +
  "A rank fits if its peak and the reserve are within the capacity.";
function waterfall(parts, name, totals) {
  return picture(width => {
    const rows = [...parts, ...totals], pitch = 30, left = width < 560 ? 128 : 190, right = 96, height = rows.length * pitch + 6;
    const most = Math.max(...totals.map(t => t.value), 1e-9), x = v => left + Math.max(0, v) / most * (width - left - right);
    const root = s("svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": name});
    let sum = 0;
    rows.forEach((r, i) => {
      const total = i >= parts.length, from = total ? 0 : sum, y = i * pitch + 4;
      if (!total) sum += r.value;
      const share = `${time(r.value)} (${percent(r.value / most)})`;
      root.append(s("text", {x: left - 8, y: y + 15, "text-anchor": "end", "font-weight": total ? 600 : 400}, r.name),
        point(`${r.name}: ${share}`, {}, s("rect", {x: x(from), y, width: Math.max(1, x(from + r.value) - x(from)), height: pitch - 8, rx: 2, fill: `var(--${r.kind})`})),
        s("text", {x: Math.min(x(from + r.value) + 6, width - right + 6), y: y + 15, "font-weight": total ? 600 : 400}, time(r.value)));
      if (!total) root.append(s("path", {class: "axis", d: `M${x(sum)} ${y + pitch - 8}v8`}));
    });
    return root;
  }).at;
}
function stepSection() {
  const w = D.waterfall, q = D.predicted_step, name = STEP_IS[w.whole_is];
  const note = words => h("p", {class: "muted small"}, words);
  const children = [waterfall(w.parts.map(p => ({name: p.name, kind: p.kind, value: p.us})), "How the step comes together", [{name, kind: "states", value: w.whole_us}])];
  if (q) children.push(note(`Rates of ${q.machine}: ${q.source}`));
  if (w.measured_us !== undefined) children.push(note(w.whole_is !== "measured"
    ? `The measured step (${time(w.measured_us)}) is shorter than the ${name}: the device is faster than the plan says.`
    : q ? "Beyond the prediction: what the measured step has and the rates do not explain."
      : "Outside of the pipeline: what the measured step has beyond the simulated pipeline: data-parallel communication, the optimizer, and the error of predicted stage times."));
  section("step", "Step time", `How the parts add up to the ${name}, on rank ${w.rank}, which works most.`, ...children);
}
function changesSection() {
  const c = D.changes, row = x => [x.what, time(x.step_seconds * 1e6), x === c.now ? "" : change(x.time), number(x.bytes / GIB, 1), pill(x.fits)];
  c.now.what = "the plan as it is";
  section("changes", "Changes", "The plan made again with one thing changed: the best first. A step of another global batch is compared by its time per token.",
    table(["change", "step", "time per token", "GiB on the fullest rank", "fits"], [c.now, ...c.all].map(row), i => i === 0 || c.best.includes(i - 1)), notTried());
}
function measuredSection() {
  const m = D.measured;
  if (!m) return;
  const shown = (x, unit) => x === null || x === undefined ? "" : unit === "byte" ? gib(x) : unit === "second" ? time(x * 1e6) : number(x / 1e12, 1) + " TFLOP/s";
  const rows = m.compared.map(c => [c.quantity, c.predicted === null ? "not predicted" : shown(c.predicted, c.unit), shown(c.measured, c.unit),
    c.predicted === null ? "" : (c.difference > 0 ? "+" : "−") + shown(Math.abs(c.difference), c.unit), c.predicted === null ? "" : change(c.relative), c.file]);
  const notes = [...new Set(m.compared.map(c => c.predicted_note).filter(Boolean))];
  section("measured", "Measured", "What was predicted beside what these files measured, the biggest difference first: " +
    m.files.map(f => f.file + (f.steps ? `, ${number(f.steps)} step${f.steps === 1 ? "" : "s"}` : ", memory")).join("; ") + ".",
    table(["quantity", "predicted", "measured", "difference", "of measured", "file"], rows),
    ...notes.map(x => h("p", {class: "muted small"}, "Predicted: " + x)),
    ...m.utilization.map(u => h("p", {class: "muted small"}, "Measured " + u.text)),
    m.why_no_utilization ? h("p", {class: "muted small"}, "No MFU: " + m.why_no_utilization) : null);
}

// ---- schedules: makespan against memory

function schedulesSection() {
  const all = D.schedules.rows, z = D.sizes;
  const values = key => [...new Set(all.map(r => r[key]))].sort((a, b) => typeof a === "number" ? a - b : String(a).localeCompare(b));
  const now = {micro_batches: String(z.micro_batches), chunks: "all", groups: "all"};
  const mine = r => r.schedule === D.pipeline.schedule && r.chunks === z.chunks && r.micro_batches === z.micro_batches &&
    (r.groups === D.pipeline.groups || !r.groups);
  const kept = () => all.filter(r => String(r.micro_batches) === now.micro_batches && (now.chunks === "all" || String(r.chunks) === now.chunks) &&
    (now.groups === "all" || !r.groups || r.groups === now.groups));
  const name = r => r.schedule + (r.groups ? ` (${r.groups})` : "") + (r.chunks > 1 ? ` × ${r.chunks}` : "");
  const list = h("div", {}), count = h("span", {class: "muted small", "aria-live": "polite", id: "schedule-count"});
  const chart = picture(width => {
    const rows = kept(), height = 340, capacity = (D.memory.capacity - D.memory.reserve) / GIB;
    const xs = rows.map(r => r.bytes / GIB), ys = rows.map(r => r.makespan_us);
    // The axes begin near the first point: these are points, not lengths.
    const xMost = Math.max(...xs, Math.min(capacity, 1.3 * Math.max(...xs, 0))) * 1.06 || 1, yMost = Math.max(...ys, 0) * 1.08 || 1;
    const xLeast = 0.85 * Math.min(...xs, xMost), yLeast = 0.9 * Math.min(...ys, yMost);
    const {g, x, y} = grid(width, height, 64, 44, yMost, v => time(v), xMost, v => number(v, xMost - xLeast < 8 ? 1 : 0), xLeast, yLeast);
    const root = s("svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Schedules: makespan against memory of the fullest rank"}, g,
      s("text", {class: "soft", x: width - 14, y: height - 6, "text-anchor": "end"}, "GiB on the fullest rank"), s("text", {class: "soft", x: 2, y: height - 6}, "makespan"));
    if (capacity <= xMost) root.append(s("path", {class: "limit", d: `M${x(capacity)} 12V${height - 44}`}), s("text", {class: "limit-text", x: x(capacity) - 5, y: 22, "text-anchor": "end"}, "capacity less reserve"));
    const front = rows.filter(r => r.pareto).sort((a, b) => a.bytes - b.bytes);
    if (front.length > 1) root.append(s("path", {class: "front", d: "M" + front.map(r => `${x(r.bytes / GIB)} ${y(r.makespan_us)}`).join("L")}));
    for (const r of rows) root.append(point(
      `${name(r)}: ${time(r.makespan_us)}, ${gib(r.bytes)}, ${r.peak_in_flight} activations held${r.fits ? "" : ", does not fit"}${r.pareto ? ", on the front" : ""}${mine(r) ? ", the plan's own" : ""}`, {},
      s("circle", {class: "dot" + (r.fits ? "" : " over") + (r.pareto ? " best" : "") + (mine(r) ? " here" : ""), cx: x(r.bytes / GIB), cy: y(r.makespan_us), r: r.pareto || mine(r) ? 7 : 5})));
    let last = -99;
    for (const r of front) {
      if (x(r.bytes / GIB) - last < 120) continue;
      last = x(r.bytes / GIB);
      root.append(s("text", {x: Math.min(last + 10, width - 90), y: y(r.makespan_us) + 18}, name(r)));
    }
    return root;
  });
  const show = () => {
    const rows = kept().sort((a, b) => a.makespan_us - b.makespan_us);
    chart.again();
    count.textContent = `${rows.length} schedules, ${rows.filter(r => r.fits).length} fit`;
    list.replaceChildren(table(["schedule", "chunks", "makespan", "above its bound", "GiB", "held", "fits", "front"], rows.map(r =>
      [name(r), r.chunks, time(r.makespan_us), percent(r.makespan_us / r.lower_bound_us - 1), number(r.bytes / GIB, 1), r.peak_in_flight, pill(r.fits), r.pareto ? "●" : ""]), i => mine(rows[i])));
  };
  const control = (label, key, options) => {
    const c = choose(label, options, value => { now[key] = value; show(); });
    c.select.id = "by-" + key;
    c.select.value = now[key];
    return c.field;
  };
  const left = D.schedules.left_out ? ` ${D.schedules.left_out} were left out: too long to try.` : "";
  section("schedules", "Schedules",
    "Every schedule of the library on the same stages: evenly split layers, recomputed as the plan says, backward cut in two where a schedule asks for it. " +
    "No other that fits is both quicker and leaner than one on the front (●). The ringed one is the plan's own." + left,
    h("div", {class: "controls"}, control("Micro-batches", "micro_batches", values("micro_batches").map(v => [String(v), number(v)])),
      control("Chunks", "chunks", [["all", "all"], ...values("chunks").map(v => [String(v), v])]),
      control("Groups", "groups", [["all", "all"], ...values("groups").filter(Boolean).map(v => [v, v])]), count),
    chart.at, legend([["fits", "forward"], ["on the front", "backward"], ["does not fit", "free"]]), list);
  show();
}

// ---- op graph

function densityOf(g) {
  return picture(width => {
    const height = 110, most = Math.max(...g.rules_by_part, 1), {g: frame, y} = grid(width, height, 44, 30, most, v => number(v), g.ops, () => "");
    const root = s("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Edges along the program, before and after pruning"}, frame, s("text", {class: "soft", x: 2, y: height - 6}, "edges into each part of the program, in its order"));
    const each = (width - 58) / g.rules_by_part.length;
    g.rules_by_part.forEach((n, i) => {
      const x = 44 + i * each, w = Math.max(0.5, each - (each > 4 ? 1 : 0)), k = g.kept_by_part[i];
      root.append(s("rect", {x, y: y(n), width: w, height: y(0) - y(n), fill: "var(--wait)"}), s("rect", {x, y: y(k), width: w, height: y(0) - y(k), fill: "var(--forward)"}));
    });
    return root;
  }).at;
}
function densestOf(d) {
  const kinds = {compute: "forward", collective: "communication", random: "recompute", io: "weight-grad"};
  let pruned = true;
  const chart = picture(width => {
    const n = d.ops.length, each = (width - 40) / Math.max(1, n - 1), at = i => 20 + i * each, first = d.ops[0].op;
    const reach = [...d.kept, ...(pruned ? d.pruned : [])].reduce((m, [a, b]) => Math.max(m, b - a), 1);
    const up = Math.min(190, 24 + reach * each * 0.5), down = pruned ? Math.min(150, 24 + reach * each * 0.4) : 30, height = up + down + 10, r = Math.max(4, Math.min(11, each * 0.36));
    const root = s("svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Ops in program order; arcs above are kept edges, below pruned ones"});
    const arcs = [], draw = (list, above, extra) => {
      for (const [a, b] of list) {
        const x1 = at(a - first), x2 = at(b - first), tall = Math.min((above ? up : down) - 16, (x2 - x1) * 0.5);
        const arc = s("path", {class: "arc" + extra, d: `M${x1} ${up}C${x1} ${up + (above ? -1.33 : 1.33) * tall} ${x2} ${up + (above ? -1.33 : 1.33) * tall} ${x2} ${up}`});
        arcs.push([a, b, arc]);
        root.append(arc);
      }
    };
    if (pruned) draw(d.pruned, false, " gone");
    draw(d.kept, true, "");
    for (const op of d.ops) {
      const from = d.kept.filter(e => e[1] === op.op).map(e => e[0]), to = d.kept.filter(e => e[0] === op.op).map(e => e[1]);
      const words = `op ${op.op}: ${op.kind}, stream ${op.stream}; after ${from.join(", ") || "none of these"}; before ${to.join(", ") || "none of these"}`;
      const g = point(words, {}, s("circle", {cx: at(op.op - first), cy: up, r, fill: `var(--${kinds[op.kind] ?? "states"})`, stroke: "var(--surface)"}));
      if (each > 21) g.append(s("text", {x: at(op.op - first), y: up + r + 13, "text-anchor": "middle", class: "soft", "aria-hidden": "true"}, op.op));
      const light = on => arcs.forEach(([a, b, arc]) => arc.classList.toggle("lit", on && (a === op.op || b === op.op)));
      for (const e of ["pointerenter", "focus"]) g.addEventListener(e, () => light(true));
      for (const e of ["pointerleave", "blur"]) g.addEventListener(e, () => light(false));
      root.append(g);
    }
    return root;
  });
  const box = h("input", {type: "checkbox", id: "show-pruned", checked: true, onchange: () => { pruned = box.checked; chart.again(); }});
  const used = [...new Set(d.ops.map(op => op.kind))];
  return [h("div", {class: "controls"}, h("label", {}, box, "show pruned edges")), chart.at, legend(used.map(k => [k, kinds[k] ?? "states"]))];
}
function graphSection() {
  if (!D.graph) return;
  const g = D.graph, figure = (value, words) => h("div", {class: "figure"}, h("b", {}, value), h("span", {}, words));
  const gone = g.edges_before ? 1 - g.edges_after / g.edges_before : 0;
  const children = [h("div", {class: "figures"}, figure(number(g.ops), `ops on ${g.streams} streams`), figure(number(g.edges_before), "edges by the rules"),
    figure(number(g.edges_after), `edges kept: ${percent(gone)} are implied`), figure(number(g.waits), `waits for ${number(g.edges_between_streams)} edges between streams`))];
  if (g.ops) {
    const d = g.densest;
    children.push(h("h3", {}, "Edges along the program"), densityOf(g), legend([["pruned: other edges imply them", "wait"], ["kept", "forward"]]),
      h("h3", {}, `The densest part: ops ${d.ops[0].op} to ${d.ops.at(-1).op}, ${d.kept.length} edges kept, ${d.pruned.length} pruned`), ...densestOf(d));
  }
  section("graph", "Dependencies", `${g.file}, ${g.rules} rules. A kept edge is in the transitive reduction: no other path says the same.`, ...children);
}

// ---- tiles

function tilesSection() {
  const t = D.tiles;
  if (!t) return;
  const shown = new Timeline(t.timeline, "The fused operator before and after cutting.", 30);
  shown.of = "tile";
  section("tiles", "Fused operator",
    `${number(t.rows)} rows in ${t.tiles.length} tiles: ${time(t.predicted_us)} instead of ${time(t.serial_us)}, ${percent(1 - t.predicted_us / t.serial_us)} less; ` +
    `the lower bound is ${time(t.lower_bound_us)}.`,
    shown.element, legend(shown.kinds()), h("p", {class: "small"}, "Rows of the tiles, in execution order: ", h("code", {}, t.tiles.join(" + "))));
}

// ---- formulas

function costSection() {
  const c = D.cost, figure = (value, words) => h("div", {class: "figure"}, h("b", {}, value), h("span", {}, words));
  const line = (words, value) => value ? h("div", {}, h("span", {class: "muted"}, words + " "), h("code", {}, value)) : null;
  const term = (x, unit) => h("details", {}, h("summary", {}, h("span", {}, x.name), h("b", {}, `${x.value} ${unit}`)),
    h("div", {class: "formula"}, line("=", x.formula), line("=", x.numbers), line("where", x.where), line("divided by", x.split), line("source:", x.source), line("origin:", x.origin)));
  const open = value => () => at.querySelectorAll("details").forEach(x => { x.open = value; });
  const large = x => { const n = Number(String(x).replaceAll(",", "")); return n >= 1e15 ? n.toExponential(3).replace("e+", " · 10^") : n >= 1e9 ? number(n / 1e9, 2) + " G" : String(x); };
  const at = section("formulas", "Parameters, FLOPs, bytes", "Every figure is a formula over named sizes. Open a line for the formula, its numbers and its source.",
    h("div", {class: "figures"}, figure(large(c.parameters), "parameters"), c.flops_per_token ? figure(large(c.flops_per_token), "model FLOPs per token") : null,
      c.flops_per_step ? figure(large(c.flops_per_step), "model FLOPs per step") : null, c.hardware_flops_per_step ? figure(large(c.hardware_flops_per_step), "hardware FLOPs per step") : null),
    c.utilization ? h("p", {class: "muted small"}, h("br"), c.utilization.mfu_text, h("br"), c.utilization.hfu_text) : null,
    ...c.assumed.map(x => h("p", {class: "muted small"}, "Assumed, because the config does not say: " + x)),
    h("div", {class: "controls"}, h("button", {type: "button", id: "open-all", onclick: open(true)}, "Open all"), h("button", {type: "button", onclick: open(false)}, "Close all")),
    ...c.groups.map(g => h("details", {class: "group-of-terms"}, h("summary", {}, `${g.name} (${g.terms.length})`), h("div", {class: "terms"}, ...g.terms.map(x => term(x, g.unit))))));
  at.classList.add("long");
}

// ---- the whole

function theme() {
  const button = document.getElementById("theme"), names = {"": "System", light: "Light", dark: "Dark"}, order = ["", "light", "dark"];
  const system = matchMedia("(prefers-color-scheme: dark)");
  let now = "";
  const set = value => {
    now = value;
    document.documentElement.dataset.theme = now || (system.matches ? "dark" : "light");
    button.querySelector("span").textContent = names[now];
    button.setAttribute("aria-label", "Colours: " + (now ? names[now].toLowerCase() : "as the system"));
    redraws.forEach(f => f());
  };
  button.addEventListener("click", () => set(order[(order.indexOf(now) + 1) % 3]));
  system.addEventListener("change", () => set(now));
  set("");
  let before = null;
  addEventListener("beforeprint", () => {
    before = [now, [...document.querySelectorAll("details:not([open])")]];
    before[1].forEach(x => { x.open = true; });
    set("light");
  });
  addEventListener("afterprint", () => {
    if (!before) return;
    before[1].forEach(x => { x.open = false; });
    set(before[0]);
    before = null;
  });
}
function followScroll() {
  const links = [...document.querySelectorAll("nav a")];
  const seen = new IntersectionObserver(entries => entries.forEach(e => {
    if (!e.isIntersecting) return;
    links.forEach(a => a.setAttribute("aria-current", String(a.hash === "#" + e.target.id)));
  }), {rootMargin: "-20% 0px -70% 0px"});
  document.querySelectorAll("main section").forEach(x => seen.observe(x));
}
document.getElementById("title").textContent = D.title;
document.getElementById("subtitle").textContent = sizesInWords();
document.getElementById("footer").textContent = `Made by hocket ${D.hocket} from ${D.file}. The same numbers for programs: report.json; with every term as text: report.txt.`;
theme();
for (const make of [overview, timelineSection, memorySection, stepSection, measuredSection, changesSection, schedulesSection, graphSection, tilesSection, costSection]) make();
followScroll();
addEventListener("keydown", e => { if (e.key === "Escape") hideTip(); });
