// Draws the chunks. Texts are plain until they come near what is in view; then they get an
// element for each token, and lose it when they are far away again. So what exists at any
// time does not grow with the text, and the browser's own search finds all of it.

// ---- Chunks ----

const main = $("chunks");
const articles = [];
let current = 0;

const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && !target.isDrawn) drawTokens(target);
      else if (!isIntersecting && target.isDrawn && !isInUse(target)) drawPlain(target);
    }
  },
  { rootMargin: "50% 0px" },
);

// Of chunks that the browser leaves out of its layout, nothing needs to be watched.
main.addEventListener("contentvisibilityautostatechange", ({ target, skipped }) => {
  for (const box of target.querySelectorAll(":scope > .text > .part")) {
    if (skipped) watcher.unobserve(box);
    else watcher.observe(box);
    if (skipped && box.isDrawn && !isInUse(box)) drawPlain(box);
  }
}, { capture: true });

function isInUse(box) {
  const selection = getSelection();
  return box.contains(document.activeElement)
    || (!selection.isCollapsed && selection.containsNode(box, true));
}

const ofBudget = chunkSize ? ` of ${number(chunkSize)}` : "";
const budgeted = data.sent.length ? data.sent : counts; // what is sent is what the budget is for
const fillOf = (k) => `${number(counts[k])}${data.sent.length ? "" : ofBudget} tokens`;

function detail(parent, content, className) {
  parent.append(element("p", className ? `detail ${className}` : "detail", content));
}

function about(k) {
  const made = element("header", "about");
  const head = element("p", "head");
  const link = element("a", "number", `#${data.indexes[k]}`);
  link.href = `#chunk-${k}`;
  link.tabIndex = -1;
  head.append(link, element("span", "count", fillOf(k)));
  const bar = element("div", "fill");
  bar.append(element("i"));
  bar.firstChild.style.width = `${Math.min(100, (100 * budgeted[k]) / largest)}%`;
  made.append(head, bar);
  const { boundary, ...others } = data.metadata[k];
  if (data.headings[k].length) detail(made, data.headings[k].join(" › "), "path");
  if (boundary !== undefined) detail(made, `cut at ${boundary}`, "boundary");
  detail(made, `characters ${number(data.starts[k])}–${number(data.ends[k])}`, "span");
  const repeated = [...text.slice(starts[k], headEnds[k])].length;
  if (repeated) detail(made, `${number(repeated)} repeated`, "repeated");
  if (data.sent.length) detail(made, `${number(data.sent[k])}${ofBudget} tokens sent`, "sent");
  for (const [key, value] of Object.entries(others)) detail(made, `${key}: ${value}`);
  return made;
}

// About how high the text is, so that the scroll bar is right before it is laid out.
function estimate(k) {
  let lines = 1;
  for (let at = starts[k]; at < ends[k]; lines++) {
    const end = text.indexOf("\n", at);
    const stop = end < 0 || end > ends[k] ? ends[k] : end + 1;
    lines += Math.floor((stop - at) / columns);
    at = stop;
  }
  return Math.max(5, lines) * 22 + 24;
}

const columns = Math.max(30, Math.floor((Math.min(innerWidth, 1344) - 260) / 8));

function drawChunk(k) {
  const article = element("article", `chunk ${k % 2 ? "odd" : "even"}`);
  article.id = `chunk-${k}`;
  article.tabIndex = k === current ? 0 : -1;
  article.setAttribute("aria-posinset", k + 1);
  article.setAttribute("aria-setsize", size);
  const boundary = data.metadata[k].boundary;
  article.setAttribute(
    "aria-label",
    `Chunk ${data.indexes[k]}, ${fillOf(k)}${boundary === undefined ? "" : `, cut at ${boundary}`}`,
  );
  article.height = estimate(k);
  article.style.containIntrinsicBlockSize = `auto ${article.height}px`;
  const shown = element("div", "text");
  for (const part of partsOf(k)) {
    const box = element("span", "part");
    box.stretch = part;
    drawPlain(box);
    shown.append(box);
  }
  const [before, after] = (data.frames[k] ?? ["", ""]).map((sent) => sent && element("div", "frame", sent));
  article.append(...[about(k), before, shown, after].filter(Boolean));
  article.number = k;
  articles.push(article);
  return article;
}

function lost(from, to) {
  const length = [...text.slice(from, to)].length;
  const note = element("p", "lost", `${number(length)} ${length === 1 ? "character" : "characters"} in no chunk: `);
  const shown = element("code", "white");
  appendMarked(shown, from, Math.min(to, from + SHOWN_LOST));
  note.append(shown, to > from + SHOWN_LOST ? "…" : "");
  return note;
}

// Chunks come in groups, for the browser to leave out many at once.
function drawAll() {
  const made = document.createDocumentFragment();
  let reached = 0;
  for (let first = 0; first < size; first += GROUP) {
    const group = made.appendChild(element("div", "group"));
    group.role = "presentation";
    let height = 0;
    for (let k = first; k < Math.min(size, first + GROUP); k++) {
      for (const parent of data.parents[k] ?? []) group.append(element("p", "parent", parent));
      if (starts[k] > reached) group.append(lost(reached, starts[k]));
      height += group.appendChild(drawChunk(k)).height;
      reached = Math.max(reached, ends[k]);
    }
    group.style.containIntrinsicBlockSize = `auto ${height}px`;
  }
  if (reached < text.length) made.append(lost(reached, text.length));
  if (!size) made.append(element("p", "none", "There are no chunks."));
  main.append(made);
}

// ---- The strip of bars ----

const strip = $("strip");

function drawStrip() {
  const width = size > MOST_BARS_APART ? 1 : 0.86;
  const bars = budgeted.map((count, k) => {
    const height = Math.min(1, count / largest).toFixed(3);
    return `M${k} 1v-${height}h${width}v${height}z`;
  });
  const svg = strip.firstElementChild;
  svg.setAttribute("viewBox", `0 0 ${Math.max(1, size)} 1`);
  svg.firstElementChild.setAttribute("d", bars.join(""));
  strip.setAttribute("aria-valuemin", 0);
  strip.setAttribute("aria-valuemax", Math.max(0, size - 1));
}

function setCurrent(k) {
  articles[current].tabIndex = -1;
  articles[current].classList.remove("current");
  current = k;
  articles[k].tabIndex = 0;
  articles[k].classList.add("current");
  strip.setAttribute("aria-valuenow", k);
  strip.setAttribute("aria-valuetext", articles[k].getAttribute("aria-label"));
  const here = strip.querySelector(".here");
  here.style.left = `${(100 * k) / size}%`;
  here.style.width = `${100 / size}%`;
  $("where").textContent = `chunk ${number(data.indexes[k])}: ${fillOf(k)}`;
}

function goTo(k, takesFocus) {
  k = Math.min(size - 1, Math.max(0, k));
  articles[k].scrollIntoView({ block: "start" });
  if (takesFocus) articles[k].focus({ preventScroll: true });
  setCurrent(k);
  heldUntil = performance.now() + 300;
}

// A jump decides what is current; for a moment scrolling does not.
let heldUntil = 0;

const chunkAt = (event) => {
  const { left, width } = strip.getBoundingClientRect();
  return Math.floor(((event.clientX - left) / width) * size);
};

strip.addEventListener("pointerdown", (event) => {
  if (!size) return;
  strip.setPointerCapture(event.pointerId);
  goTo(chunkAt(event), false);
});
strip.addEventListener("pointermove", (event) => {
  if (size && strip.hasPointerCapture(event.pointerId)) goTo(chunkAt(event), false);
});
strip.addEventListener("keydown", (event) => {
  const page = Math.max(1, Math.round(size / 20));
  const target = {
    ArrowRight: current + 1, ArrowUp: current + 1, ArrowLeft: current - 1, ArrowDown: current - 1,
    PageUp: current + page, PageDown: current - page, Home: 0, End: size - 1,
  }[event.key];
  if (size && event.key === "Enter") goTo(current, true);
  else if (size && target !== undefined) goTo(target, false);
  else return;
  event.preventDefault();
});

let isScrollSeen = false;
addEventListener("scroll", () => {
  if (!tip.hidden) placeTip();
  if (isScrollSeen || !size) return;
  isScrollSeen = true;
  requestAnimationFrame(() => {
    isScrollSeen = false;
    if (performance.now() < heldUntil || main.contains(document.activeElement?.closest(".chunk"))) return;
    const { left, width } = main.getBoundingClientRect();
    const top = strip.parentElement.getBoundingClientRect().bottom + 24;
    const found = document.elementFromPoint(left + width / 2, top)?.closest(".chunk");
    if (found) setCurrent(found.number);
  });
}, { passive: true });

// ---- What a token is ----

const MOST_SHOWN = 32;
const tip = $("tip");
const encoder = new TextEncoder();
let hiding = 0;

const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");

const SIGNS = { " ": "·", "\xa0": "⍽", "\n": "↵", "\t": "→" };

function quoted(slice) {
  const shown = slice.replace(SPECIAL, (c) => SIGNS[c[0]]?.repeat(c.length) ?? `[${nameOf(c.charCodeAt(0))}]`);
  return `“${shown}”`;
}

// Of a text that the tokenizer changes, the bytes are not those of its tokens.
function tokenRows(cell) {
  const tokens = data.tokens[cell.k].slice(cell.first, cell.last);
  const bytes = encoder.encode(text.slice(cell.from, cell.to));
  let at = 0;
  return tokens.map((id) => {
    if (data.widths[cell.k] && id >= 0) return { id };
    const start = at;
    at += bytesOf(id);
    return { id, bytes: hex(bytes.subarray(start, at)) };
  });
}

function describe(cell) {
  const slice = text.slice(cell.from, cell.to);
  const rows = tokenRows(cell);
  const characters = [...slice].length;
  const before = [...text.slice(starts[cell.k], cell.from)].length;
  const start = data.starts[cell.k] + before;
  const what = element("p", "what", quoted(slice));
  const list = element("dl", rows.length > 1 ? "many" : "");
  const add = (name, value, className) => list.append(element("dt", "", name), element("dd", className, value));
  if (characters === 1) add("code point", codeOf(slice.codePointAt(0)));
  for (const { id, bytes } of rows.slice(0, MOST_SHOWN)) {
    if (id < 0) add("no token", `the ${data.widths[cell.k] ? "offsets of tokens leave this out" : "split pattern matches nothing here"}`);
    else add("id", String(id), "id");
    if (bytes) add("bytes", bytes, "bytes");
  }
  if (rows.length > MOST_SHOWN) add("and", `${number(rows.length - MOST_SHOWN)} more`);
  add("characters", `${number(start)}–${number(start + characters)}`, "span");
  if (rows[0].id < 0) return [what, list];
  const place = data.tokens[cell.k].slice(0, cell.first).filter((id) => id >= 0).length;
  const places = rows.length > 1 ? `${place}–${place + rows.length - 1}` : `${place}`;
  add("place", `${places} of ${counts[cell.k]} in chunk ${data.indexes[cell.k]}`, "place");
  return [what, list];
}

function showTip(span) {
  clearTimeout(hiding);
  tip.replaceChildren(...describe(span.cell));
  tip.hidden = false;
  tip.anchor = span;
  placeTip();
}

function placeTip() {
  const span = tip.anchor;
  const spot = span.getClientRects()[0] ?? span.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  const left = Math.max(8, Math.min(spot.left, room - width - 8));
  const isBelow = spot.bottom + height + 12 < innerHeight;
  const top = isBelow ? spot.bottom + 6 : spot.top - height - 6;
  tip.style.left = `${left}px`;
  tip.style.top = `${top}px`;
}

function hideTip() {
  clearTimeout(hiding);
  tip.hidden = true;
}

// A moment to move the pointer onto it, to read on or to copy from it.
const hideSoon = () => { hiding = setTimeout(hideTip, 120); };
const tokenOf = (target) => target instanceof Element && target.closest(".t");

main.addEventListener("pointerover", (event) => {
  const span = tokenOf(event.target);
  if (span) showTip(span);
  else hideSoon();
});
main.addEventListener("pointerleave", hideSoon);
tip.addEventListener("pointerenter", () => clearTimeout(hiding));
tip.addEventListener("pointerleave", hideSoon);
main.addEventListener("focusin", (event) => {
  const span = tokenOf(event.target);
  if (span) showTip(span);
  const article = event.target.closest(".chunk");
  if (article && article.number !== current) setCurrent(article.number);
});
main.addEventListener("focusout", hideTip);

// ---- Keys ----

function focusToken(span) {
  span.tabIndex = -1;
  span.focus({ preventScroll: true });
  span.scrollIntoView({ block: "nearest" });
}

function walkTokens(step) {
  const article = articles[current];
  for (const box of article.querySelectorAll(".part")) if (!box.isDrawn) drawTokens(box);
  const spans = [...article.querySelectorAll(".t")];
  const here = spans.indexOf(document.activeElement);
  const next = step === Infinity ? spans.length - 1 : step === -Infinity ? 0
    : here < 0 ? (step > 0 ? 0 : spans.length - 1) : here + step;
  if (spans[next]) focusToken(spans[next]);
}

const IN_CHUNKS = {
  ArrowRight: () => walkTokens(1),
  ArrowLeft: () => walkTokens(-1),
  Home: () => walkTokens(-Infinity),
  End: () => walkTokens(Infinity),
};
const ANYWHERE = {
  j: () => goTo(main.contains(document.activeElement) && document.activeElement !== main ? current + 1 : current, true),
  k: () => goTo(main.contains(document.activeElement) && document.activeElement !== main ? current - 1 : current, true),
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !size) return;
  if (event.key === "Escape") {
    hideTip();
    if (tokenOf(document.activeElement)) articles[current].focus({ preventScroll: true });
    return;
  }
  const isInChunk = document.activeElement.closest(".chunk");
  const action = ANYWHERE[event.key] ?? (isInChunk ? IN_CHUNKS[event.key] : undefined);
  if (!action) return;
  event.preventDefault();
  action();
});

// ---- Buttons ----

function toggle(id) {
  const isOn = document.documentElement.classList.toggle(id);
  $(id).setAttribute("aria-pressed", isOn);
}

$("edges").addEventListener("click", () => toggle("edges"));
$("white").addEventListener("click", () => toggle("white"));
$("theme").addEventListener("click", () => {
  const next = { auto: "light", light: "dark", dark: "auto" }[document.documentElement.dataset.theme ?? "auto"];
  document.documentElement.dataset.theme = next;
  $("theme").textContent = `Theme: ${next}`;
});

toggle("edges");
drawAll();
drawStrip();
if (size) setCurrent(0);
if (/^#chunk-\d+$/.test(location.hash) && $(location.hash.slice(1))) {
  goTo(Number(location.hash.slice(7)), true);
}
