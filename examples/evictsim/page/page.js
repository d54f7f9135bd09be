"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent, (_, v) => v === null ? [] : v); // only lists may be null, which are empty
const $ = id => document.getElementById(id);
const make = (tag, text, more) => Object.assign(document.createElement(tag), text === undefined ? {} : {textContent: text}, more);
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const number = v => v.toLocaleString("en", v < 1 ? {maximumSignificantDigits: 2} : {maximumFractionDigits: v < 10 ? 2 : v < 100 ? 1 : 0});
const span = s => {
  if (s === null || s === undefined) return "–";
  if (s >= 172800) return (s / 86400).toFixed(1) + " d";
  s = Math.round(s);
  const h = Math.floor(s / 3600), m = Math.floor(s % 3600 / 60), r = s % 60;
  return (h ? h + "h" : "") + (m ? m + "m" : "") + (r || !h && !m ? r + "s" : "");
};
const capital = text => text.charAt(0).toUpperCase() + text.slice(1);
const list = parts => parts.length < 2 ? parts.join() : parts.slice(0, -1).join(", ") + " and " + parts.at(-1);
const font = "12px system-ui, sans-serif", ruler = make("canvas").getContext("2d");
const widest = texts => { ruler.font = font; return Math.max(0, ...texts.map(t => ruler.measureText(t).width)); };
const named = 18; // pixels for the name of an axis
const margin = 24; // pixels right of a chart over time, for half of the last label
document.body.classList.add("scripting"); // shows what scripts fill
let charts = [], gutter = 0, run = data.runs[0]; // the gutter is left of all charts, so that their times are aligned

// Marks: dashes and widths, or a pattern, tell every series from the others without colour. The legend draws them too.
const stroke = (name, dash = [], more) => ({name, dash, width: 2, ...more});
const states = [{name: "live", alpha: "66"}, {name: "silent", spots: [[0, 0, 3, 3], [4, 4, 3, 3]]}, {name: "waiting", spots: [[0, 0, 8, 3]]},
  {name: "tainted", alpha: ""}, {name: "returned", spots: [[0, 0, 3, 8]]}]; // in the order of series.states
const dashes = [[], [10, 4], [2, 4], [12, 4, 2, 4], [4, 4]];
const curveStyle = i => stroke(["a", "b", "c", "ink"][i % 4], dashes[i % 5], {width: Math.floor(i / 5) % 2 ? 3.5 : 1.5});

// fill returns the colour or the pattern of a state.
function fill({name, alpha, spots}) {
  if (!spots) return colour(name) + alpha;
  const tile = make("canvas", undefined, {width: 8, height: 8}), c = tile.getContext("2d");
  for (const style of [colour("paper"), colour(name) + "55"]) { c.fillStyle = style; c.fillRect(0, 0, 8, 8); }
  c.fillStyle = colour(name);
  for (const spot of spots) c.fillRect(...spot);
  return c.createPattern(tile, "repeat");
}

function swatch(style) {
  if (style.live) return plan(style, 30, "mark");
  const canvas = make("canvas", undefined, {className: "mark", width: 30 * devicePixelRatio, height: 12 * devicePixelRatio}), c = canvas.getContext("2d");
  canvas.style.width = "30px";
  canvas.style.height = "12px";
  c.scale(devicePixelRatio, devicePixelRatio);
  if (style.dash) {
    c.strokeStyle = colour(style.name); c.lineWidth = style.width; c.setLineDash(style.dash);
    c.beginPath(); c.moveTo(0, 6); c.lineTo(30, 6); c.stroke();
  } else {
    c.fillStyle = fill(style); c.fillRect(0, 0, 30, 12);
    c.strokeStyle = colour(style.name); c.strokeRect(.5, .5, 29, 11);
  }
  return canvas;
}

function legend(entries) { // of labels and styles
  const ul = make("ul", undefined, {className: "legend"});
  for (const [label, style] of entries) { const li = make("li"); li.append(swatch(style), make("span", label)); ul.append(li); }
  return ul;
}

const paragraph = text => make("p", text);

// chart adds a chart to a box. Below it stands what read says about the point that the mouse or the arrow keys chose; rest
// if none is chosen.
function chart(into, {title, height, label, rest, read, hooks, ...options}, values) {
  const box = make("div", undefined, {className: "chart", tabIndex: 0}), said = make("p", rest, {className: "read"});
  if (title) into.append(make("h3", title));
  into.append(box, said);
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", label + ": arrow keys read the values");
  box.onfocus = () => said.setAttribute("aria-live", "polite"); // not what the charts in step say
  box.onblur = () => said.removeAttribute("aria-live");
  box.dataset.axes = options.axes.map(a => a.label || "").join(" / ");
  const axis = {stroke: colour("soft"), font, labelFont: font, labelSize: named, labelGap: 0, grid: {stroke: colour("line"), width: 1}, ticks: {stroke: colour("line"), size: 5}, gap: 3};
  const u = new uPlot({
    width: Math.max(box.clientWidth, 200), padding: [8, margin, 0, 0], legend: {show: false}, ...options, height,
    cursor: {y: false, ...options.cursor}, axes: options.axes.map(a => ({...axis, ...a})),
    hooks: {...hooks, setCursor: [u => { said.textContent = (u.cursor.idx ?? null) === null ? rest : read(u.cursor.idx, u); }]},
  }, values, box);
  box.onkeydown = e => {
    const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20}[e.key] || 0, down = options.focus && {ArrowUp: -8, ArrowDown: 8}[e.key] || 0; // points and pixels
    if (!by && !down) return;
    e.preventDefault();
    const i = Math.min(Math.max((u.cursor.idx ?? 0) + by, 0), values[0].length - 1);
    u.setCursor({left: u.valToPos(values[0][i], "x"), top: Math.min(Math.max(u.cursor.top + down, 0), u.over.clientHeight)}, true, true); // and of the charts in step
  };
  charts.push(u);
  return u;
}

const even = [1, 2, 5, 10, 15, 30].concat([1, 2, 5, 10, 15, 30].map(v => v * 60), [1, 2, 3, 4, 6, 8, 12, 24, 48, 96, 168, 336, 720].map(v => v * 3600)); // seconds
const whole = [1, 2, 5].flatMap(v => [0, 1, 2, 3, 4, 5, 6, 7].map(e => v * 10 ** e)).sort((a, b) => a - b);
const times = () => run.series.without.map((_, i) => i * run.series.step);
const horizon = () => Math.max((run.series.without.length - 1) * run.series.step, 1);
// upright is the axis of values. All have the width of the widest label.
const upright = more => ({values: (_, ticks) => ticks.map(v => v.toLocaleString("en", {maximumSignificantDigits: 7})), space: 28,
  size: (_, labels) => gutter = Math.max(gutter, labels ? widest(labels) + 14 : 0), ...more});
const lines = styles => styles.map(s => ({stroke: () => colour(s.name), width: s.width, dash: s.dash, points: {show: false}, fill: s.area ? () => colour(s.name) + "22" : undefined}));

// overTime adds a chart over time. Their cursors move together.
function overTime(into, {series, y, bare, of, ...options}, values) {
  const across = {label: bare ? undefined : "time since the start", space: 70, incrs: even, values: (_, ticks) => ticks.map(span), size: 28, ...bare && {values: (_, ticks) => ticks.map(() => ""), size: 8, ticks: {show: false}}}; // half a label of the other axis
  const top = Math.max(0, ...values.flat()) || 1;
  chart(into, {
    ...options, axes: [across, upright(y)], cursor: {sync: {key: "time"}}, hooks: {draw: [u => shade(u, of)]}, series: [{}, ...series],
    scales: {x: {time: false, range: [0, horizon()]}, y: {range: [0, top * 1.02]}},
  }, [times(), ...values]);
}

// here says whether an event happened in a zone: in the one of that name, or in one of others.
const here = (e, z) => !z || !(e.zones || []).length || e.zones.some(name => z.names ? z.names.includes(name) : name === z.name || z.name.endsWith(":" + name));

// shade shades a chart while the effect of an event lasts, and draws a line where an event without one happened. The chart of a zone has
// only the events in it.
function shade(u, zone) {
  const c = u.ctx, {left, top, width, height} = u.bbox, at = v => Math.min(Math.max(u.valToPos(v, "x", true), left), left + width);
  const spans = run.events.filter(e => here(e, zone)).flatMap(e => e.spans).sort((a, b) => a[0] - b[0]);
  let shaded = left; // nothing is shaded twice
  c.save();
  c.fillStyle = colour("ink") + "14";
  c.strokeStyle = colour("ink");
  c.lineWidth = devicePixelRatio;
  c.setLineDash([4, 4]);
  for (const [from, to] of spans) {
    if (to === from) { c.beginPath(); c.moveTo(at(from), top); c.lineTo(at(from), top + height); c.stroke(); continue; }
    const begin = Math.max(at(from), shaded);
    shaded = Math.max(at(to), shaded);
    c.fillRect(begin, top, shaded - begin, height);
  }
  c.restore();
}

// lane places the events above the charts, aligned with their times: the text of each above its bars, or marks if nothing
// lasts, and several beside each other where they have room.
function lane() {
  const narrow = phone.matches;
  if ($("done").dataset.narrow !== String(narrow)) Object.assign($("done"), {open: !narrow}).dataset.narrow = narrow; // on a phone events are folded
  $("done").firstElementChild.textContent = run.events.length === 1 ? "1 event" : number(run.events.length) + " events";
  const box = $("events"), width = box.clientWidth, plot = width - gutter - named - margin, x = at => gutter + named + plot * Math.min(at / horizon(), 1);
  const rows = [];
  box.replaceChildren();
  for (const e of run.events) {
    const li = make("li"), text = make("span", e.text), bars = e.spans.map(([from, to]) => make("i", undefined, {className: to > from ? "bar" : "instant", style: `left:${x(from)}px;width:${to > from ? x(to) - x(from) : 0}px`}));
    li.append(text, ...bars);
    box.append(li);
    text.style.maxWidth = width + "px";
    if (narrow) continue;
    const from = x(e.spans[0][0]), needed = Math.ceil(text.getBoundingClientRect().width) + 1;
    text.style.left = Math.max(0, Math.min(from, width - needed)) + "px";
    text.style.width = needed + "px";
    const begins = Math.min(from, width - needed), ends = Math.max(begins + needed, ...e.spans.map(s => x(s[1]))) + 12;
    let row = rows.find(r => r.every(o => ends <= o.begins || begins >= o.ends));
    if (!row) rows.push(row = []);
    row.push({begins, ends, li, bars, high: text.offsetHeight});
  }
  let top = 0;
  for (const row of rows) {
    const high = Math.max(...row.map(o => o.high));
    for (const o of row) { o.li.style.top = top + high - o.high + "px"; for (const bar of o.bars) bar.style.top = o.high + 1 + "px"; }
    top += high + 13;
  }
  box.style.height = top + "px";
  $("done").hidden = !run.events.length;
  $("more-events").textContent = run.moreEvents ? number(run.moreEvents) + " more events are not shown." : "";
  $("more-events").hidden = !run.moreEvents;
}

const phone = matchMedia("screen and (max-width: 700px)");
const mostZones = 6;
const away = z => z.values[0].map((_, i) => z.values.slice(1).reduce((sum, v) => sum + v[i], 0)); // nodes that are not live
const size = z => z.values.reduce((sum, v) => sum + (v[0] || 0), 0);
const zoneTitle = z => z.zones ? z.zones + " other zones" : "Zone " + z.name;

// disturbed returns the zones with nodes that were not live at some time. Of many, it adds up the least disturbed.
function disturbed(s) {
  const worst = s.zones.map(z => ({...z, sum: away(z).reduce((sum, v) => sum + v, 0)})).filter(z => z.sum).sort((a, b) => b.sum - a.sum);
  const shown = worst.slice(0, mostZones).sort((a, b) => a.name < b.name ? -1 : 1), rest = worst.slice(mostZones);
  if (rest.length) shown.push({zones: rest.length, names: rest.map(z => z.name), values: s.states.map((_, k) => s.without.map((_, i) => rest.reduce((sum, z) => sum + z.values[k][i], 0)))});
  return shown;
}

function nodes(s) {
  const box = $("nodes"), zones = disturbed(s), order = [3, 2, 1, 4, 0]; // failed nodes below, live nodes above
  const occurring = order.filter(k => zones.some(z => z.values[k].some(v => v)));
  const quiet = s.zones.filter(z => !away(z).some(v => v));
  box.replaceChildren();
  if (zones.length) box.append(legend(occurring.map(k => [s.states[k], states[k]])));
  zones.forEach((z, n) => {
    let sum = s.without.map(() => 0);
    const layers = order.filter(k => z.values[k].some(v => v)).map(k => ({k, sum: sum = sum.map((v, i) => v + z.values[k][i])}));
    layers.reverse(); // draw the tallest first, because the others cover it
    const near = (v, i) => v[i] || v[i - 1] || v[i + 1]; // where a state does not occur its layer has no line, which would look as if it did
    const gone = away(z), most = Math.max(...gone), last = n === zones.length - 1;
    const first = size(z) - z.least === most ? z.leastAt : gone.indexOf(most) * s.step; // when it really began, if that is known
    overTime(box, {
      of: z, title: zoneTitle(z), label: "Nodes of " + zoneTitle(z), height: last ? 146 : 108, bare: !last, y: {label: "nodes", splits: () => [0, Math.max(...layers[0].sum)]},
      series: layers.map(l => ({fill: () => fill(states[l.k]), stroke: () => colour(states[l.k].name), width: 1, points: {show: false}})),
      rest: `${number(size(z))} nodes at the start; at worst ${number(most)} not live, from ${span(first)} on.`,
      read: i => `At ${span(i * s.step)}: ` + order.toReversed().filter(k => z.values[k][i]).map(k => number(z.values[k][i]) + " " + s.states[k]).join("; "),
    }, layers.map(l => l.sum.map((v, i) => near(z.values[l.k], i) ? v : null)));
  });
  if (quiet.length) box.append(paragraph((quiet.length > 4 ? `The nodes of ${zones.length ? quiet.length + " other" : "all " + quiet.length} zones`
    : zones.length ? "The nodes of " + list(quiet.map(z => "zone " + z.name)) : `All ${number(quiet.reduce((sum, z) => sum + size(z), 0))} nodes`)
    + (zones.length || !["unknownNodes", "taints", "kubeletFailures", "drains"].some(key => run.figures[key]) ? " were live all the time." : ` were live, or replaced, at every step of ${span(s.step)}.`)));
}

// peak returns the most of a series, and when that began: as the simulation says, or by its values.
const peak = (l, s) => l.of !== undefined && s.peaks && s.peaks[l.of] ? s.peaks[l.of] : [Math.max(...l.values), l.values.indexOf(Math.max(...l.values)) * s.step];

// counted adds a chart of numbers over time. A sentence names those that are 0 all the time.
function counted(box, s, {label, height, all, none, y}) {
  const shown = all.filter(l => l.values.some(v => v)), idle = all.filter(l => !shown.includes(l) && l.idle);
  if (shown.length) {
    if (all.length > 1) box.append(legend(shown.map(l => [l.label, l.style])));
    const [most, from] = peak(shown[0], s), when = shown[0].of === undefined ? "around" : "from", on = shown[0].of === undefined ? "" : " on";
    overTime(box, {label, height, y, series: lines(shown.map(l => l.style)),
      rest: `${capital(shown[0].label)}: at most ${number(most)}, ${when} ${span(from)}${on}.` + shown.slice(1).filter(l => l.peak).map(l => ` ${capital(l.label)}: at most ${number(peak(l, s)[0])}.`).join(""),
      read: i => `At ${span(i * s.step)}: ` + shown.map(l => `${number(l.values[i])} ${l.label}`).join("; "),
    }, shown.map(l => l.values));
    if (idle.length) box.append(paragraph(capital(list(idle.map(l => l.idle))) + "."));
  } else box.append(paragraph(none));
}

function pods(s) {
  $("pods").replaceChildren();
  counted($("pods"), s, {label: "Pods without a live node", height: 208, y: {label: "pods", incrs: whole}, none: "Every pod had a live node and its endpoints all the time.", all: [
    {label: "without a live node", values: s.without, of: 0, style: stroke("b", [], {area: true}), idle: "no pod was without a live node"},
    {label: "Pending", values: s.pending, of: 2, style: stroke("a", [10, 4]), idle: "no pod was Pending"},
    {label: "held until a lower ordinal is Ready", values: s.held, of: 3, style: stroke("a", [2, 4]), peak: true},
    {label: "stuck terminating", values: s.terminating, of: 4, style: stroke("c", [2, 4], {width: 2.5}), idle: "no pod was stuck terminating"},
    {label: "marked not Ready, so without endpoints", values: s.marked, of: 1, style: stroke("ink", [12, 4, 2, 4]), idle: "no pod was marked not Ready", peak: true}]});
}

function rate(s) {
  const box = $("rate"), over = Math.max(1, Math.round(60 / s.step)); // in about a minute: one node every ten seconds would be single spikes
  const last = over * s.step === 60 ? "a minute" : span(over * s.step), counts = list => list.map((v, i) => v - list[Math.max(i - over, 0)]);
  const tainted = counts(s.tainted), evicted = counts(s.evicted);
  box.replaceChildren();
  if (![...tainted, ...evicted].some(v => v)) { box.append(paragraph("No node was tainted, and no pod was evicted.")); return; }
  counted(box, s, {label: "Nodes tainted", height: 168, y: {label: `nodes within ${last}`, incrs: whole}, none: "No node was tainted.", all: [{label: `nodes tainted within ${last}, all zones together`, values: tainted, style: stroke("b", [], {area: true})}]});
  counted(box, s, {label: "Pods evicted", height: 168, y: {label: `pods within ${last}`, incrs: whole}, none: "No pod was evicted.", all: [{label: `pods evicted within ${last}`, values: evicted, style: stroke("c", [], {area: true})}]});
}

const share = {label: "share of the pods", values: (_, t) => t.map(v => v + " %"), space: 50, size: 28};
const lag = {label: "after the node's silence", values: (_, t) => t.map(span), incrs: even};
const within = (d, percent) => span(d[percent]);
const late = r => r.series.late ? ` Of them, ${number(r.series.late)} are late and still there: they count with what it takes at least.` : "";
function delay() {
  const d = run.series.delays || [];
  $("of-delay").hidden = data.runs.length > 1; // there is one chart of all runs
  $("delay").replaceChildren();
  if (!d.length) { $("delay").append(paragraph("Nothing was evicted from silent nodes.")); return; }
  if (data.runs.length > 1) return;
  chart($("delay"), {label: "From silence to eviction", height: 218, axes: [share, upright(lag)], series: [{}, ...lines([stroke("a")])],
    scales: {x: {time: false}, y: {range: [0, (d[100] || 1) * 1.05]}},
    rest: `Half of the pods that had to leave left within ${within(d, 50)} of their node's silence, 99 % within ${within(d, 99)}, all within ${within(d, 100)}.` + late(run),
    read: i => `${i} % of the pods that had to leave left within ${within(d, i)} of their node's silence.`,
  }, [d.map((_, i) => i), d]);
}

const mostCurves = 10;
const called = r => r.values.join(" · ");
// drawn returns the runs whose delays are drawn: if they are too many, some evenly chosen and the current one.
function drawn(runs) {
  if (runs.length <= mostCurves) return runs;
  const some = Array.from({length: mostCurves}, (_, i) => runs[Math.round(i * (runs.length - 1) / (mostCurves - 1))]);
  return some.includes(run) || !runs.includes(run) ? some : [run, ...some.slice(1)];
}

function curves() {
  const box = $("curves"), evicting = data.runs.filter(r => r.series.delays && r.series.delays.length), runs = drawn(evicting), varied = data.varied.join(" · ");
  box.replaceChildren();
  if (!runs.length) { box.append(paragraph("Nothing was evicted from silent nodes.")); return; }
  const style = r => curveStyle(runs.indexOf(r)), names = make("div");
  const room = Math.min(widest(runs.map(called)) + 64, box.clientWidth * .42);
  if (runs.length < data.runs.length) box.append(paragraph(`${runs.length} of ${number(data.runs.length)} runs are drawn` + (evicting.length < data.runs.length ? `; ${data.runs.length - evicting.length} evicted nothing from silent nodes.` : ", evenly chosen, with the one chosen below.")));
  box.append(make("p", `How long after a node fell silent each share of the pods that had to leave had left; those that are late and still there count with what it takes at least. Curves are named by ${varied}, the latest first.`, {className: "soft"}));
  const top = Math.max(1, ...runs.map(r => r.series.delays[100])), least = Math.min(...runs.map(r => r.series.delays[0])), bubble = make("div", undefined, {className: "name", hidden: true});
  // nearest returns the curves at the cursor's height, which may be several.
  const nearest = (u, i) => {
    const far = runs.map(r => Math.abs(u.valToPos(r.series.delays[i], "y") - u.cursor.top)), least = Math.min(...far);
    return runs.filter((_, k) => far[k] <= least + .5);
  };
  let lit = null;
  const light = (u, k) => { if (k !== lit) u.setSeries(lit = k, {focus: true}); };
  const u = chart(box, {
    label: "From silence to eviction, all runs; up and down choose a curve", height: Math.max(338, runs.length * 18 + 78), padding: [8, room, 0, 0], focus: {alpha: .2},
    axes: [share, upright(lag)], scales: {x: {time: false}, y: {range: [least * .95, top + (top - least) * .05]}}, series: [{}, ...lines(runs.map(style))],
    rest: "Point at a curve to see its name.",
    read: (i, u) => {
      const at = nearest(u, i), text = `${varied} ${list(at.map(called))}`;
      light(u, runs.indexOf(at[0]) + 1);
      bubble.textContent = text;
      bubble.hidden = false;
      bubble.style.left = Math.max(0, Math.min(u.cursor.left + 12, u.over.clientWidth - bubble.offsetWidth)) + "px";
      bubble.style.top = Math.max(0, u.cursor.top - 30) + "px";
      return `${text}: ${i} % of the pods that had to leave left within ${within(at[0].series.delays, i)}.`;
    },
    hooks: {draw: [u => ends(u, runs, style, names)]},
  }, [runs[0].series.delays.map((_, i) => i), ...runs.map(r => r.series.delays)]);
  u.over.append(bubble);
  u.root.append(names);
  u.over.addEventListener("mouseleave", () => { bubble.hidden = true; light(u, null); });
}

// ends names each curve where it ends, with its mark. Most curves end close together, so the names are moved apart, and are
// in the order of the whole curves.
function ends(u, runs, style, into) {
  const high = 18, ratio = devicePixelRatio, right = (u.bbox.left + u.bbox.width) / ratio, bottom = (u.bbox.top + u.bbox.height) / ratio;
  const sum = r => r.series.delays.reduce((sum, v) => sum + v, 0);
  const labels = [...runs].sort((a, b) => sum(b) - sum(a)).map(r => ({r, end: u.valToPos(r.series.delays[100], "y", true) / ratio}));
  labels.forEach((l, i) => { l.at = Math.max(l.end, i ? labels[i - 1].at + high : high / 2); });
  for (let i = labels.length - 1, most = bottom; i >= 0; most = labels[i].at - high, i--) labels[i].at = Math.min(labels[i].at, most);
  const c = u.ctx;
  c.save();
  Object.assign(c, {strokeStyle: colour("line"), lineWidth: ratio, globalAlpha: 1});
  c.setLineDash([]);
  into.replaceChildren(...labels.map(({r, end, at}) => {
    c.beginPath(); c.moveTo(right * ratio, end * ratio); c.lineTo((right + 16) * ratio, at * ratio); c.stroke();
    const name = make("button", undefined, {className: "end", tabIndex: -1, title: called(r), onclick: () => choose(r), style: `left:${right + 18}px;top:${at - high / 2}px;width:${u.width - right - 18}px`});
    name.append(swatch(style(r)), make("span", called(r)));
    return name;
  }));
  c.restore();
}

// table fills a table. A column has a title, the value of a row to sort by, and its text or node; best marks cells.
function table(id, columns, rows, order, current) {
  const head = $(id).tHead.rows[0];
  head.replaceChildren(...columns.map((col, i) => {
    const th = make("th", undefined, {scope: "col"}), by = order.by === i;
    if (!col.value) { th.textContent = col.title; return th; }
    th.setAttribute("aria-sort", by ? (order.down ? "descending" : "ascending") : "none");
    th.append(make("button", col.title + (by ? (order.down ? " ▼" : " ▲") : ""), {onclick: () => {
      Object.assign(order, {by: i, down: by ? !order.down : !!col.down});
      table(id, columns, rows, order, current);
      head.querySelectorAll("button")[i].focus();
    }}));
    return th;
  }));
  const value = (columns[order.by] || {}).value;
  const sorted = value ? [...rows].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (order.down ? -1 : 1)) : rows;
  $(id).tBodies[0].replaceChildren(...sorted.map(row => {
    const tr = make("tr");
    if (row === current) tr.setAttribute("aria-current", "true");
    for (const col of columns) {
      const td = make("td", undefined, {className: !col.best ? "" : col.best(row) ? "best" : "rest"});
      td.dataset.title = col.title;
      td.append(col.cell(row));
      tr.append(td);
    }
    return tr;
  }));
}

// map draws the live pods of a workload over time.
function map(w) {
  const canvas = plan(w, 480, "map");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "lowest " + w.lowest + " of " + w.desired);
  return canvas;
}

function plan(w, wide, className) {
  const canvas = make("canvas", undefined, {className, width: wide, height: 20}), c = canvas.getContext("2d");
  const width = wide / w.live.length, short = new Set(w.short);
  w.live.forEach((share, i) => {
    const bad = w.belowBudget < 0 ? share < 50 : short.has(i);
    c.fillStyle = colour(bad ? "tainted" : share >= 100 ? "live" : "silent");
    c.fillRect(i * width, 20 - share / 5, width + .5, share / 5);
    if (bad) { c.fillRect(i * width, 18, width + .5, 2); c.fillRect(i * width, 0, width + .5, 2); } // mark by shape as well as by colour
  });
  return canvas;
}

const loadOrder = {by: 4, down: true};
function loads() {
  const figure = (title, key, text = number) => ({title, down: true, value: w => w[key], cell: w => text(w[key])});
  const columns = [{title: "workload", value: w => w.name, cell: w => w.name}, figure("desired", "desired"), figure("lowest", "lowest"), figure("below for", "below", span),
    figure("below half for", "belowHalf", span), figure("pod-hours missing", "missing"), figure("below budget for", "belowBudget", v => v < 0 ? "no budget" : span(v)),
    figure("most without endpoints", "gone"), figure("longest without endpoints", "longestGone", span), {title: "live pods from 0 to " + span(horizon()), cell: map}];
  $("loads").hidden = !run.workloads.length;
  if (run.workloads.length) table("loads", columns.filter((_, i) => (i !== 6 || run.workloads.some(w => w.belowBudget >= 0)) && (i !== 7 && i !== 8 || run.workloads.some(w => w.gone))), run.workloads, loadOrder);
  $("loads-note").textContent = !run.workloads.length ? "No workload was below its desired number of pods, or without endpoints."
    : (run.more ? "The worst " + run.workloads.length + " of " + (run.workloads.length + run.more) + ". " : "")
    + "The bar of a workload is as high as the share of its pods that are live.";
  $("loads-legend").replaceChildren(...run.workloads.length ? [legend([["all pods are live", {live: [100]}], ["some are not", {live: [75], belowBudget: -1}],
    ["fewer than the disruption budgets need, or than half if there is none", {live: [30], belowBudget: -1}]])] : []);
  moreLoads($("loads").classList.contains("all"));
}
// moreLoads shows all workloads, or the first ten.
function moreLoads(all) {
  $("loads").classList.toggle("all", all);
  $("more-loads").hidden = run.workloads.length <= 10;
  $("more-loads").textContent = all ? "Only ten" : number(run.workloads.length - 10) + " more";
  $("more-loads").onclick = () => moreLoads(!all);
}

let podsOf; // the node of each pod in the stories
function known() {
  podsOf = new Map();
  const stories = run.stories || {};
  for (const [node, moments] of Object.entries(stories)) for (const m of moments) if (m.pod && !podsOf.has(m.pod)) podsOf.set(m.pod, node);
  $("known").replaceChildren(...[...Object.keys(stories), ...podsOf.keys()].map(v => make("option", undefined, {value: v})));
  $("nodelist").replaceChildren(make("option", "choose one", {value: ""}), ...Object.keys(stories).map(n => make("option", n, {value: n})));
  $("nodelist").parentElement.hidden = !Object.keys(stories).length;
  $("untold").textContent = run.untold ? "`evictsim explain` has the stories of " + number(run.untold) + " more nodes." : Object.keys(stories).length ? "" : "`evictsim explain` has the stories of this run.";
  $("story").replaceChildren();
}
function tell(who) {
  $("who").value = who;
  $("nodelist").value = run.stories && run.stories[who] ? who : "";
  const linked = new Set(); // one button for each pod is enough
  const stories = run.stories || {}, pod = podsOf.has(who), node = pod ? podsOf.get(who) : who;
  if (!stories[node]) { $("story").replaceChildren(make("li", "This page has no story of " + who + ".")); return; }
  $("story").replaceChildren(...stories[node].filter(m => !pod || !m.pod || m.pod === who).map(m => {
    const li = make("li"), text = make("span");
    li.append(make("time", span(m.at)), text);
    const at = m.pod ? m.text.indexOf(m.pod) : -1;
    if (at >= 0 && !pod && !linked.has(m.pod)) linked.add(m.pod) && text.append(m.text.slice(0, at), make("button", m.pod, {onclick: () => tell(m.pod)}), m.text.slice(at + m.pod.length));
    else text.textContent = m.text;
    return li;
  }));
}
$("nodelist").onchange = e => { if (e.target.value) tell(e.target.value); };
$("who").onchange = e => tell(e.target.value.trim());

// told are the figures: name, title, and whether fewer is better.
const told = [["evicted", "pods evicted"], ["notEvicted", "not evicted, on silent nodes at the end", true], ["needlessEvictions", "needless: node silent for 10m at most", true], ["lostEvictions", "overdue, never evicted", true], ["podHoursLost", "pod-hours lost", true], ["podHoursMissing", "pod-hours missing", true],
  ["firstEvictionSeconds", "first eviction"], ["lastEvictionSeconds", "last eviction"], ["evictionDelayMedianSeconds", "median delay"], ["taintedNodes", "nodes tainted"], ["mostPending", "most Pending", true], ["mostHeld", "most held by a lower ordinal", true],
  ["mostTerminating", "most stuck terminating", true], ["workloadsBelowHalf", "workloads below half", true], ["longestBelowHalfSeconds", "longest below half", true], ["budgetsBroken", "budgets not kept", true],
  ["podsWithoutEndpoints", "pods without endpoints", true], ["longestWithoutEndpointsSeconds", "longest without endpoints", true], ["evictionsRefused", "refused by budgets"], ["drained", "pods drained"],
  ["drainsForced", "drains forced", true], ["drainsGivenUp", "drains given up", true], ["drainsUnfinished", "drains unfinished", true], ["drainsFailed", "drains failed", true], ["rollsUnfinished", "rolls unfinished", true]];
const rare = new Set(["mostHeld", "evictionsRefused", "drained", "drainsForced", "drainsGivenUp", "drainsUnfinished", "drainsFailed", "rollsUnfinished"]); // shown only if there are any
const figure = (r, key) => !key.endsWith("Seconds") ? number(r.figures[key]) : r.figures[key] || !key.includes("viction") ? span(r.figures[key]) : "none";
const pairs = (dl, list) => dl.replaceChildren(...list.map(([title, value, id]) => { const d = make("div"); d.append(make("dt", title), make("dd", value, id ? {id} : {})); return d; }));

const runOrder = {};
// several shows all runs: the figures that differ in a table, the others in a sentence.
function several() {
  const differs = told.filter(([key]) => data.runs.some(r => r.figures[key] !== data.runs[0].figures[key]));
  const sortable = r => r.values.map(v => isNaN(v) ? v : String(+v).padStart(20)).join();
  table("runs", [{title: data.varied.join(" · "), value: sortable, cell: r => make("button", called(r), {tabIndex: -1, onclick: () => choose(r)})}, ...differs.map(([key, title, fewer]) => {
    const least = Math.min(...data.runs.map(r => r.figures[key]));
    return {title, value: r => r.figures[key], cell: r => figure(r, key), best: fewer && (r => r.figures[key] === least)};
  })], data.runs, runOrder, run);
  const same = told.filter(t => !differs.includes(t) && data.runs[0].figures[t[0]]).map(([key, title]) => title + " " + figure(data.runs[0], key));
  $("same").textContent = "★ marks the best of a column in which fewer is better." + (same.length ? " The same in all runs: " + list(same) + "." : "");
  curves();
}
// choose shows a run. The buttons that do so are no tab stops: by keyboard, the list of runs does.
function choose(r) {
  run = r;
  $("run").value = data.runs.indexOf(r);
  draw();
  known();
  $("one").scrollIntoView({block: "start"});
}

function draw() {
  charts.forEach(u => u.destroy());
  charts = [];
  gutter = 0;
  if (data.runs.length > 1) several();
  document.querySelectorAll("#verdicts > article").forEach((article, i) => { article.hidden = data.runs[i] !== run; });
  pairs($("figures"), told.filter(([key]) => run.figures[key] || !rare.has(key)).map(([key, title]) => [title, figure(run, key), "figure-" + key]));
  pairs($("settings"), [["engine", run.engine], ...run.settings.map(s => [s.name, s.value])]);
  $("notes").replaceChildren(...run.notes.map(text => make("li", text)));
  const recorded = run.series.without.length > 0; // not by programs that make no series
  for (const id of ["pods", "rate"]) $(id).parentElement.hidden = !recorded;
  if (recorded) { nodes(run.series); pods(run.series); rate(run.series); }
  else $("nodes").replaceChildren(paragraph(run.engine + " records nothing over time, so there are no charts of it."));
  delay(); loads();
  align();
}

// align gives all charts the same gutter, which is known once all are drawn, and places the events.
function align() {
  requestAnimationFrame(() => {
    charts.forEach(u => u.redraw(false, true));
    lane();
    document.body.dataset.drawn = document.body.clientWidth;
  });
}

data.runs.forEach((r, i) => $("run").append(make("option", r.label, {value: i})));
$("several").hidden = data.runs.length < 2;
$("run").onchange = e => { run = data.runs[e.target.value]; draw(); known(); };
draw();
known();
for (const of of ["screen and (max-width: 700px)", "(prefers-color-scheme: dark)", "print"]) matchMedia(of).addEventListener("change", draw);
let width = document.body.clientWidth;
new ResizeObserver(() => { if (document.body.clientWidth !== width) { width = document.body.clientWidth; draw(); } }).observe(document.body);
})();
