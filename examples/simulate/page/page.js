"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const make = (tag, text, more) => Object.assign(document.createElement(tag), text === undefined ? {} : {textContent: text}, more);
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const number = v => v.toLocaleString("en", {maximumFractionDigits: v < 10 ? 2 : v < 100 ? 1 : 0});
const span = s => {
  if (s === null || s === undefined) return "–";
  if (s >= 172800) return (s / 86400).toFixed(1) + " d";
  const h = Math.floor(s / 3600), m = Math.floor(s % 3600 / 60), r = Math.round(s % 60);
  return (h ? h + "h" : "") + (m ? m + "m" : "") + (r || !h && !m ? r + "s" : "");
};
const bandRows = 4, bandHeight = 5; // pixels
let charts = [], run = data.runs[0];

// chart draws a chart that the arrow keys can read.
function chart(id, options, values) {
  const box = $(id);
  box.replaceChildren();
  const axis = {stroke: colour("soft"), grid: {stroke: colour("line"), width: 1}, ticks: {stroke: colour("line")}};
  const u = new uPlot({
    width: Math.max(box.clientWidth, 200), height: 240, padding: [bandRows * bandHeight, null, null, null], cursor: {y: false}, legend: {live: true},
    ...options, axes: options.axes.map(a => ({...axis, ...a})),
  }, values, box);
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", $(box.parentElement.getAttribute("aria-labelledby")).textContent + ": arrow keys read the values");
  box.onkeydown = e => {
    const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20}[e.key];
    if (!by) return;
    e.preventDefault();
    const i = Math.min(Math.max((u.cursor.idx ?? 0) + by, 0), values[0].length - 1);
    u.setCursor({left: u.valToPos(values[0][i], "x"), top: 10});
  };
  charts.push({u, box});
}

const even = [1, 2, 5, 10, 15, 30].concat([1, 2, 5, 10, 15, 30].map(v => v * 60), [1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 720].map(v => v * 3600)); // seconds
const overTime = () => ({stroke: colour("soft"), values: (_, ticks) => ticks.map(span), space: 70, incrs: even});
const line = (label, name, more) => ({label, stroke: colour(name), width: 2, value: (_, v) => v === null ? "–" : number(v), ...more});
const timeLegend = {label: "at", value: (_, v) => span(v)};
const times = s => s.without.map((_, i) => i * s.step);

// bands draws a bar above the chart for each event whose effect lasts, and shades the chart below it. Bars that overlap in
// time are in different rows.
function bands(u) {
  const c = u.ctx, right = u.bbox.left + u.bbox.width;
  const at = v => Math.min(Math.max(u.valToPos(v, "x", true), u.bbox.left), right);
  c.save();
  const ends = []; // end of the last band in each row
  for (const e of run.events) {
    if (!e.until) continue;
    const from = at(e.at), to = at(e.until);
    if (to <= from) continue;
    let row = ends.findIndex(end => end <= from);
    if (row < 0) row = ends.length;
    ends[row] = to;
    c.fillStyle = colour("ink") + "0c";
    c.fillRect(from, u.bbox.top, to - from, u.bbox.height);
    c.fillStyle = colour("ink") + "90";
    if (row < bandRows) c.fillRect(from, u.bbox.top - (row + 1) * bandHeight * devicePixelRatio, to - from, (bandHeight - 2) * devicePixelRatio);
  }
  c.restore();
  u.root.dataset.bands = ends.length;
}

// marks draws a line for each event, numbered as in the list below.
function marks(u) {
  bands(u);
  const c = u.ctx;
  c.save();
  c.strokeStyle = c.fillStyle = colour("ink");
  c.font = 11 * devicePixelRatio + "px system-ui";
  c.setLineDash([4, 4]);
  c.lineWidth = devicePixelRatio;
  c.textAlign = "left";
  let last = -1e9;
  run.events.forEach((e, i) => {
    const x = u.valToPos(e.at, "x", true);
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
    c.beginPath(); c.moveTo(x, u.bbox.top); c.lineTo(x, u.bbox.top + u.bbox.height); c.stroke();
    if (x - last > 16 * devicePixelRatio) { c.fillText(String(i + 1), x + 3, u.bbox.top + 12 * devicePixelRatio); last = x; }
  });
  c.restore();
}

// fill returns a colour, or a pattern for states that must be distinct without colour: waiting and returned are striped,
// silent is dotted.
function fill(name) {
  const spots = {waiting: [[0, 0, 8, 3]], silent: [[0, 0, 3, 3], [4, 4, 3, 3]], returned: [[0, 0, 3, 8]]}[name];
  if (!spots) return colour(name);
  const tile = make("canvas", undefined, {width: 8, height: 8}), c = tile.getContext("2d");
  c.fillStyle = colour(name) + "99";
  c.fillRect(0, 0, 8, 8);
  c.fillStyle = colour(name);
  for (const spot of spots) c.fillRect(...spot);
  return c.createPattern(tile, "repeat");
}

const mostZones = 6;
function nodes(s) {
  const zones = s.zones.slice(0, mostZones);
  if (s.zones.length > mostZones) zones.push({name: "other zones", values: s.states.map((_, k) =>
    s.without.map((_, i) => s.zones.slice(mostZones).reduce((sum, z) => sum + z.values[k][i], 0)))});
  const names = ["live", "silent", "waiting", "tainted", "returned"];
  const layers = [];
  let total = s.without.map(() => 0);
  for (const z of zones) for (const k of [3, 2, 1, 4, 0]) { // failed nodes below, live nodes above
    const values = z.values[k];
    if (k > 0 && !values.some(v => v)) continue;
    total = total.map((v, i) => v + values[i]);
    layers.push({values, sum: total, label: z.name + " " + s.states[k], name: names[k], top: k === 0});
  }
  layers.reverse(); // draw the tallest first, because the others cover it
  chart("nodes", {
    axes: [overTime(), {}], scales: {x: {time: false}, y: {range: (_, __, max) => [0, max]}}, hooks: {draw: [marks]},
    series: [timeLegend, ...layers.map(l => ({label: l.label, fill: () => fill(l.name), stroke: l.top ? colour("ink") : colour(l.name), width: l.top ? 1.5 : 0.5,
      points: {show: false}, value: (_, __, ___, i) => i === null || i === undefined ? "–" : number(l.values[i])}))],
  }, [times(s), ...layers.map(l => l.sum)]);
}

function pods(s) {
  chart("pods", {axes: [overTime(), {}], scales: {x: {time: false}}, hooks: {draw: [marks]},
    series: [timeLegend, line("without a live node", "b", {fill: colour("b") + "22"}), line("Pending", "a", {dash: [8, 4]}), line("stuck terminating", "c", {dash: [2, 3]})],
  }, [times(s), s.without, s.pending, s.terminating]);
}

function rate(s) {
  const over = Math.max(1, Math.round(60 / s.step)); // average over a minute: one node every ten seconds would be single spikes
  const perSecond = list => list.map((v, i) => (v - list[Math.max(i - over, 0)]) / (over * s.step));
  chart("rate", {axes: [overTime(), {label: "nodes/s", size: 60}, {side: 1, scale: "pods", label: "pods/s", grid: {show: false}, size: 60}], scales: {x: {time: false}, pods: {range: (_, __, max) => [0, max || 1]}, y: {range: (_, __, max) => [0, (max || 1) * 1.05]}},
    series: [timeLegend, line("nodes tainted/s", "b", {fill: colour("b") + "22"}), line("allowed, all zones", "a", {dash: [8, 4]}), line("pods evicted/s", "c", {scale: "pods", dash: [2, 3]})],
  }, [times(s), perSecond(s.tainted), s.allowed, perSecond(s.evicted)]);
}

function delay() {
  const runs = data.runs.filter(r => r.series.delays && r.series.delays.length);
  if (!runs.length) { $("delay").replaceChildren(make("p", "Nothing was evicted from silent nodes.")); return; }
  const dashes = [[], [8, 4], [2, 3], [12, 3, 2, 3]], colours = ["a", "b", "c", "ink"];
  chart("delay", {axes: [{values: (_, t) => t.map(v => v + " %"), label: "of the evicted pods"}, {values: (_, t) => t.map(span), size: 70, incrs: even}], scales: {x: {time: false}, y: {range: (_, __, max) => [0, (max || 1) * 1.05]}},
    series: [{label: "share", value: (_, v) => v === null ? "–" : v + " %"}, ...runs.map((r, i) => line(r.label, colours[i % 4], {dash: dashes[(i + Math.floor(i / 4)) % 4], value: (_, v) => span(v)}))],
  }, [runs[0].series.delays.map((_, i) => i), ...runs.map(r => r.series.delays)]);
}

const columns = [["workload", "name"], ["desired", "desired"], ["lowest", "lowest"], ["below for", "below"], ["below half for", "belowHalf"], ["below budget for", "belowBudget"]];
let sorted = {by: "belowHalf", down: true};
function loads() {
  const head = $("loads").tHead.rows[0];
  head.replaceChildren();
  for (const [title, key] of columns) {
    const th = make("th", undefined, {scope: "col"});
    th.setAttribute("aria-sort", sorted.by === key ? (sorted.down ? "descending" : "ascending") : "none");
    th.append(make("button", title + (sorted.by === key ? (sorted.down ? " ▼" : " ▲") : ""), {onclick: () => {
      sorted = {by: key, down: sorted.by === key ? !sorted.down : key !== "name"};
      loads();
      head.querySelectorAll("button")[columns.findIndex(c => c[1] === key)].focus();
    }}));
    head.append(th);
  }
  head.append(make("th", "live pods over time, full height is the desired number", {scope: "col"}));
  const rows = [...run.workloads].sort((a, b) => (a[sorted.by] < b[sorted.by] ? -1 : a[sorted.by] > b[sorted.by] ? 1 : 0) * (sorted.down ? -1 : 1));
  $("loads").tBodies[0].replaceChildren(...rows.map(w => {
    const tr = make("tr"), cell = make("td"), canvas = make("canvas", undefined, {width: 360, height: 20});
    for (const text of [w.name, number(w.desired), number(w.lowest), span(w.below), span(w.belowHalf), w.belowBudget < 0 ? "–" : span(w.belowBudget)]) tr.append(make("td", text));
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "lowest " + w.lowest + " of " + w.desired);
    const c = canvas.getContext("2d"), width = 360 / w.live.length, short = new Set(w.short);
    w.live.forEach((share, i) => {
      const bad = w.belowBudget < 0 ? share < 50 : short.has(i);
      c.fillStyle = colour(bad ? "tainted" : share >= 100 ? "live" : "silent");
      c.fillRect(i * width, 20 - share / 5, width + .5, share / 5);
      if (bad) { c.fillRect(i * width, 18, width + .5, 2); c.fillRect(i * width, 0, width + .5, 2); } // mark by shape as well as by colour
    });
    cell.append(canvas);
    tr.append(cell);
    return tr;
  }));
  $("loads-note").textContent = run.workloads.length ? (run.more ? "The worst " + run.workloads.length + " of " + (run.workloads.length + run.more) + ". " : "") + "Red, with a line above and below: fewer than its disruption budgets need, or fewer than half if it has none." : "No workload was below its desired number of pods.";
}

let podsOf; // the node of each pod in the stories
function known() {
  podsOf = new Map();
  const stories = run.stories || {};
  for (const [node, moments] of Object.entries(stories)) for (const m of moments) if (m.pod && !podsOf.has(m.pod)) podsOf.set(m.pod, node);
  $("known").replaceChildren(...[...Object.keys(stories), ...podsOf.keys()].map(v => make("option", undefined, {value: v})));
  $("nodelist").replaceChildren(...Object.keys(stories).map(n => make("button", n, {onclick: () => tell(n)})));
  $("nodelist").hidden = !Object.keys(stories).length;
  $("untold").textContent = run.untold ? "`simulate explain` has the stories of " + number(run.untold) + " more nodes." : Object.keys(stories).length ? "" : "`simulate explain` has the stories of this run.";
  $("story").replaceChildren();
}
function tell(who) {
  $("who").value = who;
  const stories = run.stories || {}, pod = podsOf.has(who), node = pod ? podsOf.get(who) : who;
  if (!stories[node]) { $("story").replaceChildren(make("li", "This page has no story of " + who + ".")); return; }
  $("story").replaceChildren(...stories[node].filter(m => !pod || !m.pod || m.pod === who).map(m => {
    const li = make("li"), text = make("span");
    li.append(make("time", span(m.at)), text);
    const at = m.pod ? m.text.indexOf(m.pod) : -1;
    if (at >= 0 && !pod) text.append(m.text.slice(0, at), make("button", m.pod, {onclick: () => tell(m.pod)}), m.text.slice(at + m.pod.length));
    else text.textContent = m.text;
    return li;
  }));
}
$("who").onchange = e => tell(e.target.value.trim());

const told = [["evicted", "pods evicted"], ["needlessEvictions", "needless: node back in 10m"], ["lostEvictions", "lost evictions"], ["podHoursLost", "pod-hours lost"], ["firstEvictionSeconds", "first eviction"], ["lastEvictionSeconds", "last eviction"],
  ["taintedNodes", "nodes tainted"], ["mostPending", "most Pending"], ["mostTerminating", "most stuck terminating"], ["workloadsBelowHalf", "workloads below half"], ["longestBelowHalfSeconds", "longest below half"], ["budgetsBroken", "budgets not kept"]];
const pairs = (dl, list) => dl.replaceChildren(...list.map(([title, value, id]) => { const d = make("div"); d.append(make("dt", title), make("dd", value, id ? {id} : {})); return d; }));
function draw() {
  charts.forEach(c => c.u.destroy());
  charts = [];
  pairs($("figures"), told.map(([key, title]) => [title, key.endsWith("Seconds") ? (run.figures.evicted || !key.includes("Eviction") ? span(run.figures[key]) : "–") : number(run.figures[key]), "figure-" + key]));
  pairs($("settings"), [["engine", run.engine], ...run.settings.map(s => [s.name, s.value])]);
  $("verdict").replaceChildren(...run.verdict.map(text => make("li", text)));
  $("events").replaceChildren(...run.events.map(e => make("li", span(e.at) + (e.until ? " to " + span(e.until) : "") + " " + e.text)));
  nodes(run.series); pods(run.series); rate(run.series); delay(); loads();
}
data.runs.forEach((r, i) => $("run").append(make("option", r.label, {value: i})));
$("choose").hidden = data.runs.length < 2;
$("run").onchange = e => { run = data.runs[e.target.value]; draw(); known(); };
draw();
known();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
new ResizeObserver(() => charts.forEach(({u, box}) => { if (box.clientWidth && box.clientWidth !== u.width) u.setSize({width: box.clientWidth, height: 240}); })).observe(document.body);
})();
