// Search box over the files beside this script. One line of a page includes it:
//
//   <script type="module" src="search/termwise-search.js"></script>
//
// The box stands where the script stands, or in each <termwise-search> element of the page.

const VERSION = 2;
const HERE = import.meta.url;
const WAIT = 120; // milliseconds from a key to a search

const style = new CSSStyleSheet();
style.replaceSync(`
:host { display: block; position: relative; overflow-wrap: anywhere; --line: 1px solid color-mix(in srgb, currentColor 30%, transparent); }
* { box-sizing: border-box; font: inherit; color: inherit; }
[hidden] { display: none; }
form { display: flex; gap: .5em; }
input[type=search], button { padding: .5em .8em; background: none; border: 1px solid; border-radius: .4em; }
input[type=search] { flex: 1; min-width: 0; }
:focus-visible { outline: 3px solid Highlight; outline-offset: 1px; }
form label { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
:host([popup]) .panel:not([hidden]) { position: absolute; z-index: 10; inset-inline: 0; max-height: 75vh; overflow: auto; padding: 0 1em; border: 1px solid; background: var(--termwise-background, Canvas); color: var(--termwise-color, CanvasText); }
p { margin: .5em 0; }
ol { list-style: none; margin: 0; padding: 0; }
li { padding: .8em 0; border-top: var(--line); }
a, strong, legend, tfoot { font-weight: 600; }
mark { background: Mark; color: MarkText; }
summary { cursor: pointer; width: fit-content; padding: .3em 0; }
table { border-collapse: collapse; }
th, td { padding: .15em 1em .15em 0; text-align: start; }
td:last-child { text-align: end; }
tfoot { border-top: 1px solid; }
fieldset { margin: .5em 0; border: var(--line); display: flex; flex-wrap: wrap; gap: .4em 1.2em; }
`);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const button = (text, click) => make("button", { type: "button", click }, text);
const row = (tag, texts) => make("tr", {}, make("th", { scope: tag === "th" ? "col" : "row" }, texts[0]), ...texts.slice(1).map((text) => make(tag, {}, text)));
const rounded = (score) => score.toFixed(3);

class TermwiseSearch extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot) return;
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [style];
    this.filters = {};
    this.last = 0;
    this.size = Number(this.getAttribute("results")) || 10;
    this.isPopup = this.hasAttribute("popup");
    const name = this.getAttribute("label") ?? "Search";
    const placeholder = this.getAttribute("placeholder") ?? "";
    const typed = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.search(true), WAIT);
    };
    const submit = (event) => {
      event.preventDefault();
      this.search(false);
    };
    this.input = make("input", { type: "search", id: "q", autocomplete: "off", spellcheck: "false", placeholder, input: typed });
    this.status = make("p", { role: "status" });
    this.alert = make("p", { role: "alert" });
    this.words = make("p", { role: "group", "aria-label": "Completions" });
    this.choices = make("details", { hidden: "", toggle: () => this.search(this.unfinished) }, make("summary", {}, "Filters"));
    this.list = make("ol", { "aria-label": "Results" });
    this.more = button("More results", () => this.search(this.unfinished, this.shown + this.size));
    this.more.hidden = true;
    this.panel = make("div", { class: "panel", hidden: "" }, this.status, this.alert, this.words, this.choices, this.list, this.more);
    root.append(make("form", { role: "search", submit }, make("label", { for: "q" }, name), this.input, make("button", {}, name)), this.panel);
    this.addEventListener("keydown", (event) => this.key(event));
    if (this.isPopup) {
      this.addEventListener("focusout", ({ relatedTarget }) => (this.panel.hidden ||= relatedTarget && relatedTarget !== this));
    } else if ((this.input.value = new URLSearchParams(location.search).get("q") ?? "")) this.search(false);
  }

  /** Search for the text of the box; `unfinished` if its last word may be the beginning of one. */
  async search(unfinished, k = this.size) {
    clearTimeout(this.timer);
    const text = this.input.value;
    const id = ++this.last;
    Object.assign(this, { unfinished, shown: k });
    if ((this.panel.hidden = !text.trim())) return;
    if (!unfinished && !this.isPopup) {
      const address = new URL(location);
      address.searchParams.set("q", text);
      history.replaceState(history.state, "", address);
    }
    try {
      await (this.opening ??= this.open());
      if (id !== this.last) return;
      const options = { k, prefix: unfinished, filters: this.filters, facets: this.choices.open };
      this.worker.postMessage({ id, manifest: this.manifest, text, options });
    } catch (error) {
      this.fail(error.message);
    }
  }

  async open() {
    const response = await fetch(new URL("search.json", HERE), { cache: "no-cache" });
    if (!response.ok) throw new Error(`search.json: status ${response.status}`);
    this.manifest = await response.json();
    if (this.manifest.version !== VERSION) throw new Error("reload the page, it has changed");
    this.worker = new Worker(new URL(this.manifest.worker, HERE), { type: "module" });
    this.worker.onerror = () => this.fail("its worker does not start");
    this.worker.onmessage = ({ data }) => {
      if (data.id !== this.last) return; // the user typed on
      if (data.error) this.fail(data.error);
      else this.render(data);
    };
  }

  fail(reason) {
    this.worker?.terminate();
    this.opening = null; // the next search reads search.json again, which may name other files
    this.status.textContent = "";
    const again = button("Try again", () => {
      this.input.focus();
      this.search(this.unfinished, this.shown);
    });
    this.alert.replaceChildren(`The search does not work: ${reason}. `, again);
  }

  render({ results, total, replaced, completions, filters, facets }) {
    this.alert.replaceChildren();
    const count = Math.max(total, results.length);
    const notes = replaced.map(([typed, word]) => ` No document has “${typed}”: “${word}” is searched for.`);
    this.status.textContent = `${count || "No"} result${count === 1 ? "" : "s"}.${notes.join("")}`;
    const complete = (text) => () => {
      this.input.value = text;
      this.input.focus();
      this.search(false);
    };
    const others = completions.filter((text) => text !== this.input.value);
    this.words.replaceChildren(...others.flatMap((text) => [button(text, complete(text)), " "]));
    this.list.replaceChildren(...results.map((result) => this.item(result)));
    this.more.hidden = results.length < this.shown;
    this.choose(filters, facets);
  }

  item({ title, url, snippet, why, score }) {
    const base = this.getAttribute("base");
    const root = base === null ? new URL(`${this.manifest.base}/`, HERE) : new URL(base, document.baseURI);
    const address = url && URL.canParse(url, root) ? new URL(url, root) : { protocol: "" };
    const link = /^https?:$/.test(address.protocol) ? make("a", { href: address.href }, title) : make("strong", {}, title);
    return make("li", {}, link, excerpt(snippet), explained(why, score));
  }

  /** Filters: check boxes for values with their numbers of results, and limits of numbers and dates. */
  choose(filters, facets) {
    this.choices.hidden = !filters.length;
    for (const { field, type, values } of this.sets ? [] : filters) {
      const change = (key, valueOf) => ({ target }) => {
        const chosen = (this.filters[field] ??= {});
        chosen[key] = valueOf(target, chosen[key]);
        if (chosen[key] === undefined) delete chosen[key];
        if (!Object.keys(chosen).length) delete this.filters[field];
        this.search(this.unfinished);
      };
      const toggled = (value) => (target, any = []) => {
        const others = any.filter((each) => each !== value);
        return target.checked ? [...others, value] : others.length ? others : undefined;
      };
      // A date up to which documents are wanted ends with its last millisecond.
      const limit = (end) => ({ value, valueAsNumber }) => (value ? valueAsNumber + (type === "date" && end === "to" ? 864e5 - 1 : 0) : undefined);
      const labels = values
        ? values.map((value) => make("label", {}, make("input", { type: "checkbox", change: change("any", toggled(value)) }), ` ${value} `, ""))
        : ["from", "to"].map((end) => make("label", {}, `${end} `, make("input", { type, step: "any", change: change(end, limit(end)) })));
      this.choices.append(make("fieldset", { "data-field": field }, make("legend", {}, field), ...labels));
    }
    this.sets = filters;
    for (const set of this.choices.querySelectorAll("fieldset")) {
      facets[set.dataset.field]?.forEach((count, i) => (set.children[i + 1].lastChild.textContent = `(${count})`));
    }
  }

  /** Arrow keys move between the box and the results, and Escape goes back to the box. */
  key(event) {
    const stops = [this.input, ...this.list.querySelectorAll("a")];
    const place = stops.indexOf(this.shadowRoot.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      if (!place) this.panel.hidden = true;
      this.input.focus();
    } else if (step && place >= 0 && stops[place + step]) {
      event.preventDefault();
      this.panel.hidden = false;
      stops[place + step].focus();
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

/** The score of a result as a sum. The table is made when it is opened. */
function explained(parts, score) {
  const relation = { fuzzy: "resembles", prefix: "completes" };
  const name = ({ term, origin, typed }) => (relation[origin] ? `${term} (${relation[origin]} ${typed})` : term);
  const toggle = ({ target }) => {
    if (target.lastChild.tagName === "TABLE") return;
    const rows = parts.flatMap(({ part, terms, constant }) => [
      ...terms.map((each) => [name(each), part, rounded(each.score)]),
      ...(constant ? [["(document)", part, rounded(constant)]] : []),
    ]);
    const body = make("tbody", {}, ...rows.map((texts) => row("td", texts)));
    target.append(make("table", {}, make("thead", {}, row("th", ["term", "part", "score"])), body, make("tfoot", {}, row("td", ["sum", "", rounded(score)]))));
  };
  return make("details", { toggle }, make("summary", {}, "Why"));
}

if (!customElements.get("termwise-search")) {
  customElements.define("termwise-search", TermwiseSearch);
  addEventListener("keydown", (event) => {
    const box = document.querySelector("termwise-search");
    const isTyped = event.composedPath()[0].matches?.("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || isTyped || !box) return;
    event.preventDefault();
    box.input.focus();
  });
  const script = [...document.scripts].find(({ src }) => src === HERE);
  if (document.body.contains(script) && !document.querySelector("termwise-search")) script.after(make("termwise-search"));
}
