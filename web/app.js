// The page: search, see passages with their places, open the originals, add and delete documents.
// Text from documents enters the page by textContent alone, so nothing in a document can run here.
"use strict";

const PAGE_SIZE = 10;
const UPLOAD_WAIT = "60s";
const element = id => document.getElementById(id);
const form = element("search");

// ---- the token: from the address that `ibid serve` prints, or typed once ----

const token = {
  get: () => localStorage.getItem("ibid-token") || "",
  set(text) {
    if (text) localStorage.setItem("ibid-token", text);
    else localStorage.removeItem("ibid-token");
    element("forget").hidden = !text;
  },
};

// The part of the address after '#' never reaches a server. It holds the token once, then the search.
function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (parts.has("token")) {
    token.set(parts.get("token"));
    parts.delete("token");
    history.replaceState(null, "", `#${parts}`);
  }
  return parts;
}

function askForToken(problem) {
  const dialog = element("sign-in");
  element("sign-in-problem").hidden = !problem;
  element("sign-in-problem").textContent = problem || "";
  if (!dialog.open) dialog.showModal();
  return new Promise(resolve => {
    dialog.addEventListener("close", () => {
      token.set(element("token").value.trim());
      element("token").value = "";
      resolve();
    }, { once: true });
  });
}

// ---- talking to the server ----

class RequestError extends Error {}

async function ask(method, path, body) {
  for (let problem = token.get() ? null : "";;) {
    if (problem !== null) await askForToken(problem);
    const headers = { Authorization: `Bearer ${token.get()}` };
    if (body && !(body instanceof FormData)) headers["Content-Type"] = "application/json";
    let reply;
    try {
      reply = await fetch(path, { method, headers, body: body instanceof FormData || !body ? body : JSON.stringify(body) });
    } catch {
      throw new RequestError("The server does not answer. Is `ibid serve` running?");
    }
    const answer = await reply.json().catch(() => null);
    if (reply.ok) return answer;
    if (reply.status !== 401) throw new RequestError(answer?.error?.message || `The server answered ${reply.status}.`);
    problem = token.get() ? "The server does not know this token." : "";
  }
}

// ---- building the page ----

function make(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

// Marks are byte ranges of the UTF-8 text.
function markedPassage(hit) {
  const bytes = new TextEncoder().encode(hit.passage), decoder = new TextDecoder();
  const piece = (start, end) => decoder.decode(bytes.subarray(start, end));
  const passage = make("p", "passage", hit.passage_cut_before ? "… " : "");
  let at = 0;
  for (const [start, end] of hit.marks) {
    passage.append(piece(at, start), make("mark", "", piece(start, end)));
    at = end;
  }
  passage.append(piece(at), hit.passage_cut_after ? " …" : "");
  return passage;
}

function placeOf(hit) {
  const place = make("p", "place", hit.path && hit.path !== hit.document_title ? hit.path : hit.source);
  if (hit.page) place.append(" · ", make("b", "", hit.page_last ? `pages ${hit.page}–${hit.page_last}` : `page ${hit.page}`));
  if (hit.heading_path) place.append(` · ${hit.heading_path}`);
  if (hit.state === "archived") place.append(" · archived");
  return place;
}

function scoreOf(hit) {
  const bar = make("span");
  bar.style.width = `${Math.round(100 * Math.min(1, Math.max(0, hit.score ?? 0)))}%`;
  const words = { high: "surely relevant", medium: "probably relevant", low: "uncertain" };
  const score = make("p", `score ${hit.confidence_band}`, make("span", "bar", bar),
    make("span", "band", words[hit.confidence_band]));
  score.append(make("span", "", `score ${(hit.score ?? 0).toFixed(3)}`));
  score.title = `score ${hit.score}, confidence ${hit.confidence}`;
  score.append(removeButton({ id: hit.document_id, name: nameOf(hit), uploaded: hit.source_type === "upload" }));
  return score;
}

function whyOf(hit) {
  const list = make("dl");
  for (const [name, value] of Object.entries(hit.scores))
    if (value !== null)
      list.append(make("div", "", make("dt", "", name.replace("_", " ")), make("dd", "", value.toFixed(3))));
  return make("div", "why", hit.explanation || "", list);
}

const nameOf = hit => hit.document_title || hit.path || `Document ${hit.document_id}`;

async function openOriginal(hit) {
  const tab = window.open("", "_blank"); // now, while the click counts as the reader's wish
  try {
    const link = await ask("POST", `/api/v1/documents/${hit.document_id}/link`);
    const page = hit.page && hit.media_type === "application/pdf" ? `#page=${hit.page}` : "";
    if (tab) tab.location.replace(link.url + page);
    else location.assign(link.url + page);
  } catch (error) {
    if (tab) tab.close();
    notify(error.message, true);
  }
}

function hitItem(hit, explain) {
  const open = make("button", "", nameOf(hit));
  open.type = "button";
  open.addEventListener("click", () => openOriginal(hit));
  const item = make("li", "hit", make("h2", "", open), placeOf(hit), markedPassage(hit), scoreOf(hit),
    explain ? whyOf(hit) : null);
  item.dataset.document = hit.document_id;
  return item;
}

function notify(message, wrong) {
  element("notice").textContent = message || "";
  element("notice").hidden = !message;
  element("notice").classList.toggle("wrong", Boolean(wrong));
}

// ---- deleting ----

// Asks before anything is lost; what that is depends on whose copy it is.
function confirmRemoval(named) {
  const dialog = element("removal");
  element("removal-title").textContent = `Delete “${named.name}”?`;
  element("removal-text").textContent = named.uploaded
    ? "It was uploaded: its only copy here goes, too. This cannot be undone."
    : "It leaves the index. The file stays in its folder, and is indexed again when it changes.";
  dialog.returnValue = ""; // Escape would leave the answer before
  dialog.showModal();
  return new Promise(resolve => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "delete"), { once: true });
  });
}

// The outcome stands wherever the document stood; the focus stays at its place.
function showRemoved(named, pressed) {
  const mine = pressed.closest("[data-document]");
  for (const item of document.querySelectorAll(`[data-document="${named.id}"]`)) {
    const gone = make("p", "gone", `Deleted: ${named.name}`);
    gone.tabIndex = -1;
    item.replaceChildren(gone);
    if (item.classList.contains("hit")) shown--; // the server's next page begins one earlier
    if (item === mine) gone.focus();
  }
}

async function remove(named, pressed) {
  const item = pressed.closest("[data-document]");
  if (pressed.ariaBusy === "true" || !await confirmRemoval(named)) return;
  item.querySelector(".notice")?.remove();
  pressed.ariaBusy = "true";
  try {
    await ask("DELETE", `/api/v1/documents/${named.id}`);
    showRemoved(named, pressed);
    showHoldings();
  } catch (error) {
    pressed.ariaBusy = null;
    const problem = make("p", "notice wrong", `Not deleted: ${error.message}`);
    problem.setAttribute("role", "alert");
    item.append(problem);
  }
}

// `named`: { id, name, uploaded } of a document; the button stands in an element with its data-document.
function removeButton(named) {
  const button = make("button", "remove", "Delete…");
  button.type = "button";
  button.ariaLabel = `Delete ${named.name}…`;
  button.addEventListener("click", () => remove(named, button));
  return button;
}

// ---- searching ----

let turn = 0; // the search that counts: answers to earlier ones are dropped
let shown = 0;

function wanted() {
  const fields = new FormData(form);
  const body = {
    query: fields.get("query").trim(), mode: fields.get("mode"), top_k: PAGE_SIZE,
    group_by: fields.has("passages") ? "none" : "document", explain: fields.has("explain"),
  };
  if (fields.get("filter").trim()) body.filter = fields.get("filter").trim();
  return body;
}

function summarize(answer, offset) {
  const count = offset + answer.hits.length;
  const noun = form.passages.checked ? "passage" : "document";
  if (count === 0) return "Nothing found.";
  const more = answer.hits.length === PAGE_SIZE ? "the first " : "";
  return `${more}${count} ${noun}${count === 1 ? "" : "s"} · ${answer.took_ms.toFixed(answer.took_ms < 10 ? 1 : 0)} ms`;
}

async function search(offset) {
  const body = wanted(), mine = ++turn;
  if (!body.query && !body.filter) return;
  document.body.classList.add("busy");
  if (offset === 0) element("summary").textContent = "Searching…";
  try {
    const answer = await ask("POST", "/api/v1/search", { ...body, offset });
    if (mine !== turn) return;
    if (offset === 0) element("results").replaceChildren();
    element("results").append(...answer.hits.map(hit => hitItem(hit, body.explain)));
    shown = offset + answer.hits.length;
    element("more").hidden = answer.hits.length < PAGE_SIZE;
    element("summary").textContent = summarize(answer, offset);
    notify(answer.degraded ? capital(answer.degraded.message) : "");
  } catch (error) {
    if (mine !== turn) return;
    element("summary").textContent = "";
    if (offset === 0) { // what stands there answers another question
      element("results").replaceChildren();
      element("more").hidden = true;
    }
    notify(error.message, true);
  } finally {
    if (mine === turn) document.body.classList.remove("busy");
  }
}

const capital = text => text.charAt(0).toUpperCase() + text.slice(1);

function remember() {
  const body = wanted(), parts = new URLSearchParams({ q: body.query });
  if (body.mode !== "hybrid") parts.set("mode", body.mode);
  if (body.filter) parts.set("filter", body.filter);
  if (body.group_by === "none") parts.set("passages", "1");
  const address = `#${parts}`;
  if (address !== location.hash) history.pushState(null, "", address);
  document.title = body.query ? `${body.query} – ibid` : "ibid";
}

function restore(parts) {
  form.query.value = parts.get("q") || "";
  form.mode.value = parts.get("mode") || "hybrid";
  form.filter.value = parts.get("filter") || "";
  form.passages.checked = parts.has("passages");
  if (form.query.value || form.filter.value) search(0);
}

// ---- what there is, and adding to it ----

async function showHoldings() {
  try {
    const status = await ask("GET", "/api/v1/status");
    const { completed, failed, pending, in_progress: working } = status.documents;
    const parts = [`${completed} document${completed === 1 ? "" : "s"} indexed`];
    if (pending + working) parts.push(`${pending + working} waiting`);
    if (failed) parts.push(`${failed} failed`);
    element("holdings").textContent = `${parts.join(", ")} · ibid ${status.version}`;
    const meaning = status.collections?.find(collection => collection.meaning !== "ready");
    if (meaning && completed > 0 && element("notice").hidden)
      notify(`Searching by word only: ${meaning.meaning_reason || meaning.meaning}`);
  } catch (error) {
    notify(error.message, true);
  }
}

async function upload(files) {
  for (const file of files) {
    const line = make("li", "", `${file.name}: sending…`);
    element("uploads").prepend(line);
    const body = new FormData();
    body.append("file", file, file.name);
    try {
      const answer = await ask("POST", `/api/v1/documents?wait=${UPLOAD_WAIT}`, body);
      const made = answer.documents[0];
      const reason = made.reason ? ` (${made.reason})` : "";
      line.dataset.document = made.id;
      line.replaceChildren(`${file.name}: ${made.processing_state === "completed" ? "indexed" : made.processing_state}${reason} `,
        removeButton({ id: made.id, name: file.name, uploaded: true }));
    } catch (error) {
      line.textContent = `${file.name}: ${error.message}`;
    }
  }
  showHoldings();
}

function watchDrops() {
  let depth = 0;
  const carriesFiles = event => event.dataTransfer?.types.includes("Files");
  const show = visible => { element("drop").hidden = !visible; };
  addEventListener("dragenter", event => { if (carriesFiles(event)) { depth++; show(true); } });
  addEventListener("dragleave", event => { if (carriesFiles(event) && --depth <= 0) { depth = 0; show(false); } });
  addEventListener("dragover", event => { if (carriesFiles(event)) event.preventDefault(); });
  addEventListener("drop", event => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    depth = 0;
    show(false);
    upload([...event.dataTransfer.files]);
  });
}

// ---- start ----

form.addEventListener("submit", event => {
  event.preventDefault();
  remember();
  search(0);
});
form.addEventListener("change", event => {
  if (event.target.name === "query" || event.target.name === "filter") return;
  remember();
  search(0);
});
element("more").addEventListener("click", () => search(shown));
element("upload").addEventListener("click", () => element("files").click());
element("files").addEventListener("change", event => {
  upload([...event.target.files]);
  event.target.value = "";
});
element("forget").addEventListener("click", () => { token.set(""); location.reload(); });
addEventListener("popstate", () => restore(readAddress()));
addEventListener("hashchange", () => { if (location.hash.includes("token=")) { restore(readAddress()); showHoldings(); } });
addEventListener("keydown", event => {
  if (event.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
    event.preventDefault();
    form.query.focus();
  }
});

watchDrops();
const start = readAddress();
token.set(token.get());
restore(start);
showHoldings();
