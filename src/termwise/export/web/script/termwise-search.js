// Search box over the files beside this script. One line of a page includes it:
//
//   <script type="module" src="search/termwise-search.js"></script>
//
// The box stands where the script stands, or in each <termwise-search> element of the page.

const VERSION = 1;
const HERE = import.meta.url;
const WAIT = 120; // milliseconds after a key before a search

const style = new CSSStyleSheet();
style.replaceSync(`
:host { display: block; position: relative; text-align: start; --line: color-mix(in srgb, currentColor 30%, transparent); }
* { box-sizing: border-box; font: inherit; color: inherit; }
[hidden] { display: none !important; }
form { display: flex; gap: .5em; }
input[type=search] { flex: 1; min-width: 0; padding: .6em .8em; background: transparent; border: 1px solid currentColor; border-radius: .4em; }
button, select { padding: .5em .8em; background: transparent; border: 1px solid var(--line); border-radius: .4em; cursor: pointer; }
:focus-visible { outline: 3px solid var(--termwise-accent, Highlight); outline-offset: 1px; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
:host([popup]) .panel { position: absolute; z-index: 10; inset-inline: 0; max-height: 75vh; overflow: auto; padding: 0 1em; border: 1px solid var(--line); border-radius: .4em; background: var(--termwise-background, Canvas); color: var(--termwise-color, CanvasText); }
p { margin: .5em 0; overflow-wrap: anywhere; }
.words button { margin-inline-end: .4em; padding: .2em .6em; }
ol { list-style: none; margin: 0; padding: 0; }
li { padding: .8em 0; border-top: 1px solid var(--line); }
a { font-weight: 600; text-decoration: underline; overflow-wrap: anywhere; }
mark { background: color-mix(in srgb, gold 45%, transparent); border-radius: .2em; }
summary { cursor: pointer; width: fit-content; padding: .3em 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15em 1em .15em 0; text-align: start; font-weight: 400; }
td:last-child { text-align: end; }
tfoot { font-weight: 600; border-top: 1px solid currentColor; }
fieldset { margin: .5em 0; border: 1px solid var(--line); border-radius: .4em; display: flex; flex-wrap: wrap; gap: .2em 1.2em; }
legend { font-weight: 600; }
label { padding: .2em 0; }
`);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const number = (x, digits = 0) => x.toLocaleString(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** The worker of a box, and what the folder holds. */
class Connection {
  async open() {
    const response = await fetch(new URL("search.json", HERE), { cache: "no-cache" });
    if (!response.ok) throw new Error(`search.json: status ${response.status}`);
    this.manifest = await response.json();
    if (this.manifest.version !== VERSION) throw new Error("the search has been updated: reload the page");
    this.worker = new Worker(new URL(this.manifest.worker, HERE), { type: "module" });
  }

  /** Answer of the worker; only the last question is answered. */
  async ask(text, options) {
    this.opening ??= this.open();
    await this.opening;
    const id = (this.last = (this.last ?? 0) + 1);
    return new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }) => {
        if (data.id !== id) return;
        if (data.error) reject(new Error(data.error));
        else resolve(data);
      };
      this.worker.onerror = () => reject(new Error("the search does not start"));
      this.worker.postMessage({ id, manifest: this.manifest, text, options });
    });
  }

  close() {
    this.worker?.terminate();
    this.opening = this.worker = null;
  }
}

class TermwiseSearch extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot) return;
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [style];
    this.connection = new Connection();
    this.filters = {};
    const label = this.getAttribute("label") ?? "Search";
    const events = { input: () => this.typed(), keydown: (event) => this.key(event), focus: () => this.show() };
    this.input = make("input", {
      type: "search", id: "q", name: "q", autocomplete: "off", spellcheck: "false", enterkeyhint: "search",
      placeholder: this.getAttribute("placeholder") ?? label, "aria-controls": "results", ...events,
    });
    const submit = (event) => {
      event.preventDefault();
      this.search(false);
    };
    const form = make("form", { role: "search", submit }, make("label", { for: "q", class: "hidden" }, label), this.input, make("button", {}, label));
    this.status = make("p", { role: "status" });
    this.alert = make("div", { role: "alert" });
    this.words = make("p", { class: "words", role: "group", "aria-label": "Completions", hidden: "" });
    this.choices = make("details", { hidden: "", toggle: () => this.choices.open && this.search(this.unfinished) });
    this.list = make("ol", { id: "results", "aria-label": "Results" });
    this.more = make("button", { type: "button", hidden: "", click: () => this.search(this.unfinished, this.shown + this.size) }, "More results");
    this.panel = make("div", { class: "panel", hidden: "", keydown: (event) => this.key(event) }, this.status, this.alert, this.words, this.choices, this.list, make("p", {}, this.more));
    root.append(form, this.panel);
    this.size = Number(this.getAttribute("results")) || 10;
    if (this.hasAttribute("popup")) {
      this.addEventListener("focusout", ({ relatedTarget }) => relatedTarget && !this.contains(relatedTarget) && (this.panel.hidden = true));
      return;
    }
    this.input.value = new URLSearchParams(location.search).get("q") ?? "";
    if (this.input.value) this.search(false);
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.search(true), WAIT);
  }

  show() {
    if (this.input.value) this.panel.hidden = false;
  }

  /** Search for the text of the box; `unfinished` if the user is still typing its last word. */
  async search(unfinished, k = this.size) {
    clearTimeout(this.timer);
    Object.assign(this, { unfinished, shown: k });
    const text = this.input.value;
    this.panel.hidden = !text.trim();
    if (!text.trim()) return;
    if (!unfinished && !this.hasAttribute("popup")) {
      const address = new URL(location);
      address.searchParams.set("q", text);
      history.replaceState(history.state, "", address);
    }
    this.list.setAttribute("aria-busy", "true");
    try {
      const options = { k, prefix: unfinished, filters: this.filters, facets: this.choices.open };
      this.render(await this.connection.ask(text, options), text);
    } catch (error) {
      this.fail(error);
    }
    this.list.removeAttribute("aria-busy");
  }

  fail(error) {
    const again = () => {
      this.connection.close();
      this.alert.replaceChildren();
      this.input.focus();
      this.search(this.unfinished, this.shown);
    };
    this.status.textContent = "";
    this.alert.replaceChildren(
      make("p", {}, `The search does not work: ${error.message}. `, make("button", { type: "button", click: again }, "Try again")),
    );
  }

  render({ results, total, replaced, completions, filters, facets }, text) {
    this.alert.replaceChildren();
    const corrected = Map.groupBy ? Map.groupBy(replaced, ([typed]) => typed) : new Map(replaced.map((each) => [each[0], [each]]));
    const notes = [...corrected].map(([typed, words]) => ` No document has “${typed}”; searched for ${words.map(([, word]) => `“${word}”`).join(", ")}.`);
    const count = total || results.length;
    this.status.textContent = `${count ? `${number(count)} ${count === 1 ? "result" : "results"}.` : "No results."}${notes.join("")}`;
    const complete = (completion) => () => {
      this.input.value = completion;
      this.input.focus();
      this.search(false);
    };
    const others = completions.filter((each) => each.toLowerCase() !== text.toLowerCase());
    this.words.hidden = !others.length;
    this.words.replaceChildren(...others.map((each) => make("button", { type: "button", click: complete(each) }, each)));
    this.list.replaceChildren(...results.map((result) => this.item(result)));
    this.more.hidden = results.length < this.shown;
    this.choose(filters, facets);
  }

  item({ title, url, snippet, why, score }) {
    const base = this.getAttribute("base");
    const root = base === null ? new URL(`${this.connection.manifest.base}/`, HERE) : new URL(base, document.baseURI);
    const address = URL.canParse(url, root) ? new URL(url, root) : null;
    const isSafe = url && address && /^https?:$/.test(address.protocol);
    const link = isSafe ? make("a", { href: address.href }, title) : make("strong", {}, title);
    return make("li", {}, link, excerpt(snippet), explained(why, score));
  }

  /** Filters: check boxes for values, and limits of numbers and dates. */
  choose(filters, facets) {
    this.choices.hidden = !filters.length;
    if (!this.choices.firstChild) {
      this.choices.append(make("summary", {}, "Filters"));
      this.fields = filters.map((filter) => ({ filter, set: make("fieldset", {}, make("legend", {}, filter.field)) }));
      this.choices.append(...this.fields.map(({ set }) => set));
    }
    for (const { filter, set } of this.fields ?? []) {
      if (filter.type === "values") this.values(filter, set, facets[filter.field]);
      else if (set.childElementCount === 1) set.append(this.limit(filter, "from"), this.limit(filter, "to"));
    }
  }

  values({ field }, set, counts) {
    if (!counts || set.contains(this.shadowRoot.activeElement) && set.childElementCount > 1) {
      counts?.forEach(([, count], i) => (set.children[i + 1].lastChild.textContent = ` (${number(count)})`));
      return;
    }
    const chosen = new Set(this.filters[field]?.any);
    const change = (value) => ({ target }) => {
      if (target.checked) chosen.add(value);
      else chosen.delete(value);
      if (chosen.size) this.filters[field] = { any: [...chosen] };
      else delete this.filters[field];
      this.search(this.unfinished);
    };
    const box = (value) => make("input", { type: "checkbox", checked: chosen.has(value), change: change(value) });
    const labels = counts.map(([value, count]) => make("label", {}, box(value), ` ${value}`, ` (${number(count)})`));
    set.replaceChildren(set.firstChild, ...labels);
  }

  limit({ field, type }, end) {
    const change = ({ target }) => {
      const limits = { ...this.filters[field] };
      // The end of a day is the last millisecond before the next one.
      if (target.value) limits[end] = target.valueAsNumber + (type === "date" && end === "to" ? 86399999 : 0);
      else delete limits[end];
      if (Object.keys(limits).length) this.filters[field] = limits;
      else delete this.filters[field];
      this.search(this.unfinished);
    };
    return make("label", {}, `${end} `, make("input", { type, step: type === "number" && "any", change }));
  }

  key(event) {
    const links = [...this.list.querySelectorAll("a")];
    const place = links.indexOf(this.shadowRoot.activeElement);
    const isInput = this.shadowRoot.activeElement === this.input;
    const target = { ArrowDown: links[place + 1], ArrowUp: links[place - 1] ?? this.input }[event.key];
    if (target && (place >= 0 || isInput)) {
      event.preventDefault();
      target.focus();
    } else if (event.key === "Escape") {
      if (isInput) this.panel.hidden = true;
      else this.input.focus();
    }
  }
}

/** Excerpt of a text, with its marked words. */
function excerpt({ text, spans, before, after }) {
  const parts = [before ? "… " : ""];
  let end = 0;
  for (const [start, stop] of spans) {
    if (start < end) continue;
    parts.push(text.slice(end, start), make("mark", {}, text.slice(start, stop)));
    end = stop;
  }
  return make("p", {}, ...parts, text.slice(end), after ? " …" : "");
}

/** The score of a result as a sum, made when it is opened. */
function explained(parts, score) {
  const rows = () =>
    parts.flatMap(({ part, terms, constant }) => {
      const added = { fuzzy: "resembles", prefix: "completes" };
      const shares = terms.map(({ term, origin, typed, score }) => [added[origin] ? `${term} (${added[origin]} ${typed})` : term, score]);
      if (constant) shares.push(["document", constant]);
      return shares.map(([name, share]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, part), make("td", {}, number(share, 3))));
    });
  const toggle = ({ target }) => {
    if (target.childElementCount > 1) return;
    const head = ["term", "part", "score"].map((name) => make("th", { scope: "col" }, name));
    const sum = make("tr", {}, make("th", { scope: "row" }, "sum"), make("td"), make("td", {}, number(score, 3)));
    target.append(make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows()), make("tfoot", {}, sum)));
  };
  return make("details", { toggle }, make("summary", {}, "Why"));
}

if (!customElements.get("termwise-search")) {
  customElements.define("termwise-search", TermwiseSearch);
  const isTyped = (element) => element?.matches("input, textarea, select, [contenteditable]");
  addEventListener("keydown", (event) => {
    const box = document.querySelector("termwise-search");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || isTyped(event.composedPath()[0])) return;
    event.preventDefault();
    box?.input.focus();
  });
  const script = [...document.scripts].find(({ src }) => src === HERE);
  if (script && document.body?.contains(script) && !document.querySelector("termwise-search")) {
    script.after(document.createElement("termwise-search"));
  }
}
