"use strict";
// What is shown: texts, and the tokens that they are made of. page.js, which follows, shows it.

const PART_TOKENS = 1024;
const PART_UNITS = 8192;
const GROUP = 64;
const SHOWN_LOST = 200;
const MOST_BARS_APART = 240;

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const { text, chunkSize, counts } = data;
const size = counts.length;
const largest = chunkSize ?? counts.reduce((a, b) => Math.max(a, b), 1);
const number = new Intl.NumberFormat("en").format;

function element(name, className, content) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (content !== undefined) made.append(content);
  return made;
}

// ---- Offsets: the chunks count code points, JavaScript counts UTF-16 units ----

function unitsOf(points) {
  const order = [...points.keys()].sort((a, b) => points[a] - points[b]);
  const found = new Array(points.length);
  let unit = 0, point = 0;
  for (const k of order) {
    while (point < points[k]) {
      unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
      point++;
    }
    found[k] = unit;
  }
  return found;
}

const starts = unitsOf(data.starts);
const ends = unitsOf(data.ends);
// The part of a chunk that others hold, too: up to `headEnds`, and from `tailStarts`.
const headEnds = [], tailStarts = [];
for (let k = 0, reached = 0; k < size; k++) {
  headEnds.push(Math.min(ends[k], Math.max(starts[k], reached)));
  tailStarts.push(k + 1 < size ? Math.min(ends[k], starts[k + 1]) : ends[k]);
  reached = Math.max(reached, ends[k]);
}

// ---- Tokens: a cell is the fewest tokens that together are whole characters ----

const bytesOf = (token) => (token < 0 ? -token : data.sizes[token]);

function* cellsOf(k, first, last, from) {
  const tokens = data.tokens[k], widths = data.widths[k];
  let at = from, head = first, missing = 0;
  for (let j = first; j < last; j++) {
    missing += widths ? widths[j] : bytesOf(tokens[j]);
    while (missing > 0) {
      const point = text.codePointAt(at);
      missing -= widths || point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      at += point > 0xffff ? 2 : 1;
    }
    if (missing === 0 && at > from) {
      yield { k, from, to: at, first: head, last: j + 1 };
      from = at;
      head = j + 1;
    }
  }
}

function partsOf(k) {
  const last = data.tokens[k].length;
  if (last <= PART_TOKENS && ends[k] - starts[k] <= PART_UNITS)
    return [{ k, from: starts[k], to: ends[k], first: 0, last }];
  const parts = [];
  let part = null;
  for (const cell of cellsOf(k, 0, last, starts[k])) {
    part ??= { k, from: cell.from, first: cell.first };
    part.to = cell.to;
    part.last = cell.last;
    if (part.last - part.first >= PART_TOKENS || part.to - part.from >= PART_UNITS) {
      parts.push(part);
      part = null;
    }
  }
  return part ? [...parts, part] : parts;
}

// ---- Text: what cannot be seen is marked, and stays what it is ----

// Joiners stay as they are: they hold emoji together.
const SPECIAL = / +|[\0-\x1f\x7f-\xa0\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const CONTROLS = ("NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB "
  + "CAN EM SUB ESC FS GS RS US").split(" ");
const NAMES = {
  ...CONTROLS, 0x7f: "DEL", 0x85: "NEL", 0xad: "SHY", 0x61c: "ALM", 0x200b: "ZWSP", 0x200e: "LRM", 0x200f: "RLM", 0x2028: "LS",
  0x2029: "PS", 0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO",
  0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM",
};

const codeOf = (point) => "U+" + point.toString(16).toUpperCase().padStart(4, "0");

const nameOf = (point) => NAMES[point] ?? codeOf(point);

const SPACES = { " ": "space", "\xa0": "fixed", "\t": "tab", "\n": "end" };

function marked(characters) {
  const kind = SPACES[characters[0]];
  const mark = element("i", kind ? `s ${kind}` : "c", characters);
  if (!kind) mark.dataset.name = nameOf(characters.charCodeAt(0));
  return mark;
}

function appendMarked(parent, from, to) {
  const slice = text.slice(from, to);
  let done = 0;
  for (const { 0: found, index } of slice.matchAll(SPECIAL)) {
    // The mark of a CR LF stands at its LF.
    if (found === "\r" && text[from + index + 1] === "\n") continue;
    if (index > done) parent.append(slice.slice(done, index));
    parent.append(marked(found));
    done = index + found.length;
  }
  if (done < slice.length) parent.append(slice.slice(done));
}

function appendShared(parent, k, from, to, append) {
  const stops = [from, headEnds[k], tailStarts[k], to].filter((at) => at >= from && at <= to);
  stops.sort((a, b) => a - b);
  for (let j = 1; j < stops.length; j++) {
    const [left, right] = [stops[j - 1], stops[j]];
    if (left === right) continue;
    const isShared = right <= headEnds[k] || left >= tailStarts[k];
    append(isShared ? parent.appendChild(element("span", "shared")) : parent, left, right);
  }
}

const plain = (parent, from, to) => parent.append(text.slice(from, to));

function drawPlain(box) {
  box.replaceChildren();
  appendShared(box, box.stretch.k, box.stretch.from, box.stretch.to, plain);
  box.isDrawn = false;
}

function drawTokens(box) {
  const { k, from, first, last } = box.stretch;
  const made = document.createDocumentFragment();
  for (const cell of cellsOf(k, first, last, from)) {
    const isGap = data.tokens[k][cell.first] < 0;
    const isStruck = isGap && /\S/.test(text.slice(cell.from, cell.to));
    const span = element("span", isStruck ? "t gap" : cell.last - cell.first > 1 ? "t parts" : "t");
    span.cell = cell;
    appendShared(span, k, cell.from, cell.to, appendMarked);
    made.append(span);
  }
  box.replaceChildren(made);
  box.isDrawn = true;
}
