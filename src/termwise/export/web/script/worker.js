// Search in the files of `termwise export --to web`: a web worker. Tests import it under Node. The export writes the
// analyzers of the query kit before it, in the same file.
//
// A data file is a gzip stream of JSON, or of a shard: the length of a header, the header as JSON, and numbers.
// Sums are whole numbers below 2 ** 53, as in termwise, so the order of additions does not matter.

const MOST_TERMS = 5; // similar terms of a word, and terms that complete a word
const READ = 2; // documents whose groups are read for the vectors of one result

/** Files of the folder, each read once. `read(name)` returns the bytes of a file. What fails can be read again. */
class Files {
  constructor(read) {
    this.read = read;
    this.opened = new Map();
  }

  /** What `decode(header, body)` makes of a shard; without it, the JSON of a file. */
  open(name, decode) {
    if (!this.opened.has(name)) {
      const opening = this.decoded(name, decode);
      opening.catch(() => this.opened.delete(name));
      this.opened.set(name, opening);
    }
    return this.opened.get(name);
  }

  async decoded(name, decode) {
    const bytes = await this.read(name);
    try {
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      const data = await new Response(stream).arrayBuffer();
      const start = decode ? 4 : 0;
      const end = decode ? 4 + new DataView(data).getUint32(0, true) : data.byteLength;
      const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, start, end - start)));
      return decode ? decode(header, data.slice(end)) : header;
    } catch {
      throw new Error(`${name}: damaged`);
    }
  }
}

const named = (kind, hash) => `${kind}-${hash}.bin`;

/** Place of the last one of ascending values that is not above a value; -1 without one. */
function lastUpTo(values, value) {
  const next = values.findIndex((each) => each > value);
  return (next < 0 ? values.length : next) - 1;
}

/** Files with neighbouring strings; `firsts` has the first string of each. The order is that of UTF-16. */
class Shards {
  constructor(files, kind, { firsts, files: hashes }, decode) {
    Object.assign(this, { firsts, open: (place) => files.open(named(kind, hashes[place]), decode) });
  }

  /** Shards that can have strings with a prefix. */
  startingWith(prefix) {
    const first = lastUpTo(this.firsts, prefix);
    const last = lastUpTo(this.firsts, prefix + "\uffff");
    return Promise.all(this.firsts.flatMap((_, i) => (i >= first && i <= last ? [this.open(i)] : [])));
  }
}

/** Strings of a file in which each begins with so many characters of the one before as its first character says. */
function unfolded(strings) {
  let last = "";
  return strings.map((each) => (last = last.slice(0, each.charCodeAt(0) - 48) + each.slice(1)));
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

// Query weights

/** Rounds to the nearest whole number, halves to the even one. */
export const rint = (x) => (x % 1 === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));

/** Smallest power of two above a number. */
function powerAbove(x) {
  let power = 1;
  while (power <= x) power *= 2;
  while (power / 2 > x) power /= 2;
  return power;
}

/** Unit of query weights: 1 if they are whole, or a power of two. With a `limit`, the last weight is that of a bias. */
export function queryScale(weights, limit, biasBits) {
  if (weights.every(Number.isInteger)) return 1;
  const terms = limit ? weights.slice(0, -1) : weights;
  const scale = powerAbove(Math.max(...terms)) / 4096; // the largest weight has 12 bits
  if (!limit) return scale;
  const largest = (sum(terms) * 255 * 2 ** biasBits + weights.at(-1) * 65535) / scale;
  return scale * 2 ** Math.max(0, Math.ceil(Math.log2(largest / limit)) + 1);
}

const units = (weight, scale) => Math.max(1, rint(weight / scale));

/** One index: its analyzer, and the weights of the tokens of a query. */
class Part {
  constructor(record, number, analyzer, files) {
    Object.assign(this, record, { number, analyzer, files });
  }

  tokens(text) {
    return this.analyzer.tokens(text).filter((token) => token !== this.unknown);
  }

  /** Map of those terms that have an entry: one of the `frequent` ones, or one in a shard. */
  async entries(terms) {
    const found = new Map();
    const find = async (term) => {
      const place = lastUpTo(this.shards.firsts, term);
      const entry = this.frequent.get(term) ?? (place >= 0 && (await this.shards.open(place))[this.number].get(term));
      if (entry) found.set(term, entry);
    };
    await Promise.all(terms.map(find));
    return found;
  }

  /** Tokens of a text with their places; in place of pieces, whole words. */
  placed(text) {
    const found = this.words
      ? this.analyzer.analyze(text)
      : Array.from(text.matchAll(/[\p{L}\p{N}\p{M}]+/gu), ({ 0: word, index }) => [word.toLowerCase(), index, index + word.length]);
    return found.map(([token, start, end]) => ({ token, start, end }));
  }

  /** Query: terms with their weights in `units`. `added` has terms for mistyped and unfinished words. */
  async query(text, added) {
    const counts = new Map();
    for (const token of this.tokens(text)) counts.set(token, (counts.get(token) ?? 0) + 1);
    const wanted = [...counts].map(([term, count]) => ({ term, count, share: 1, origin: "exact" })).concat(added);
    const entries = await this.entries(wanted.map(({ term }) => term));
    const found = new Map();
    for (const { term, count, share, origin, typed } of wanted) {
      const entry = entries.get(term);
      if (!entry) continue;
      const weights = { idf: entry.weight, counts: count, "log-counts": Math.fround(1 + Math.log(count)) };
      const each = found.get(term) ?? { term, entry, origin, typed, weight: 0 };
      each.weight += share * (weights[this.weighting] ?? 1);
      if (each.weight > 0) found.set(term, each);
    }
    const terms = [...found.values()];
    const query = { part: this, terms, constant: 0, background: 0, unit: this.scale };
    if (!terms.length) return query;
    const real = terms.map(({ weight, entry }) => Math.fround(weight) * (entry.factor ?? 1));
    const bits = this.biasBits ?? 0;
    if (this.bias) real.push(Math.fround(sum(real)));
    const scale = queryScale(real, this.bias && this.limit, bits);
    terms.forEach((each, i) => {
      each.units = units(real[i], scale);
      query.constant += (each.entry.floor ?? 0) * each.units * scale;
      each.units *= 2 ** bits;
    });
    query.unit *= scale / 2 ** bits;
    if (this.bias) {
      query.background = units(real.at(-1), scale);
      query.constant += query.background * scale * this.backgroundFloor;
    }
    await this.finish(query);
    return query;
  }
}

/** Term weights: the score of a document is a sum over its postings. */
class TermsPart extends Part {
  constructor(record, number, analyzer, files) {
    super(record, number, analyzer, files);
    this.words = record.words && new Shards(files, "words", record.words, ({ words, terms, documents, kinds }) =>
      words.map((word, i) => ({ word, term: terms[i] || word, documents: documents[i], kind: kinds[i] })),
    );
  }

  decode(header, body) {
    return postings(header, body, this.width);
  }

  async finish(query) {
    if (this.bias) query.biases = await this.files.open(this.bias, (_, body) => new Uint32Array(body));
  }

  /** Sums of all documents; 0 for those without a term of the query. */
  sums({ terms, background, biases }, length) {
    const sums = new Float64Array(length);
    for (const { units, entry } of terms) {
      entry.documents.forEach((document, i) => (sums[document] += units * entry.impacts[i]));
    }
    if (background) biases.forEach((bias, document) => sums[document] && (sums[document] += background * bias));
    return sums;
  }

  /** Sum of each term in a document, and the rest. */
  why({ terms, background, biases }, document) {
    const impact = ({ documents, impacts }) => impacts[documents.indexOf(document)] ?? 0;
    return [terms.map(({ units, entry }) => units * impact(entry)), background ? background * biases[document] : 0];
  }
}

/** Postings of each term of a shard. */
function postings({ terms, counts, factors, weights, floors }, body, width) {
  const bytes = new Uint8Array(body);
  const documents = new Uint32Array(sum(counts));
  let at = 0;
  let place = 0;
  for (const count of counts) {
    for (let i = 0, document = -1; i < count; i++) {
      let shift = 1;
      document++;
      for (; bytes[at] > 127; shift *= 128) document += (bytes[at++] - 128) * shift;
      documents[place++] = document += bytes[at++] * shift;
    }
  }
  const impacts = new (width === 1 ? Uint8Array : Uint32Array)(body.slice(at));
  place = 0;
  return new Map(
    terms.map((term, i) => {
      const range = [place, (place += counts[i])];
      const [factor, weight, floor] = [factors, weights, floors].map((each) => each?.[i]);
      return [term, { documents: documents.subarray(...range), impacts: impacts.subarray(...range), factor, weight, floor }];
    }),
  );
}

// Vectors

/** Vectors: the query is a sum of rows, and the score of a document is its largest product with a window. */
class VectorsPart extends Part {
  decode({ terms, shifts }, body) {
    const row = (i) => new Int8Array(body, i * this.dimensions, this.dimensions);
    return new Map(terms.map((term, i) => [term, { size: 2 ** shifts[i], row: row(i) }]));
  }

  finish(query) {
    query.vector = new Float64Array(this.dimensions);
    for (const { units, entry } of query.terms) {
      for (let j = 0; j < this.dimensions; j++) query.vector[j] += units * entry.size * entry.row[j];
    }
    query.length = Math.sqrt(dot(query.vector, query.vector)) * query.unit || 1;
  }

  why({ terms }, window) {
    const product = ({ size, row }) => size * dot(row, window.rows, window.start) * window.scale;
    return [terms.map(({ units, entry }) => (window ? units * product(entry) : 0)), 0];
  }
}

function dot(vector, rows, start = 0) {
  let product = 0;
  for (let j = 0; j < vector.length; j++) product += vector[j] * rows[start + j];
  return product;
}

/** For each part with vectors, scales and rows from a place of a body on. */
function rows(parts, counts, body, at) {
  return parts.map(({ dimensions }, i) => {
    const scales = new Float32Array(body.slice(at, (at += 4 * counts[i])));
    return { scales, rows: new Int8Array(body.slice(at, (at += dimensions * counts[i]))) };
  });
}

/** Documents in groups. A group is a file with texts, and with the vectors of all parts that have some. */
class Groups {
  constructor(files, hashes, owners) {
    Object.assign(this, { files, hashes, owners });
  }

  /** Group of a document. */
  open(document) {
    const name = named("documents", this.hashes[this.owners[document]]);
    return this.files.open(name, (header, body) => ({ ...header, body }));
  }
}

/** Vectors of documents in those groups that have the documents which are estimated best. */
class Vectors {
  constructor(groups, parts, { sketches, axes }, body, at) {
    Object.assign(this, { groups, parts, axes: rows(parts, axes, body, at), sketches: new Int8Array(body, sketches) });
  }

  /**
   * Products of queries and documents. Those documents come first whose sum is estimated largest: `others`, and the
   * product of the query and the first coordinates of the document.
   */
  async scan(queries, factors, others, allowed, count) {
    const query = queries.flatMap(({ vector }, i) => {
      const { scales, rows } = this.axes[i];
      return Array.from(scales, (scale, axis) => factors[i] * scale * dot(vector, rows, axis * vector.length));
    });
    const estimates = others.map((other, document) => other + dot(query, this.sketches, document * query.length));
    const first = best(others.keys(), allowed || others.map(() => 1), estimates, count);
    const groups = await Promise.all(first.map(({ document }) => this.groups.open(document)));
    const windows = queries.map(() => new Map());
    const documents = [];
    for (const group of new Set(groups)) {
      documents.push(...group.documents);
      const parts = (group.parts ??= rows(this.parts, group.owners.map(({ length }) => length), group.body, 0));
      queries.forEach(({ vector }, i) => {
        const { scales, rows } = parts[i];
        group.owners[i].forEach((document, window) => {
          const [start, scale] = [window * vector.length, scales[window]];
          const product = dot(vector, rows, start) * scale;
          const best = windows[i].get(document);
          if (!best || product > best.product) windows[i].set(document, { product, start, rows, scale });
        });
      });
    }
    return { documents: documents.sort((a, b) => a - b), windows };
  }
}

// Search

export class Search {
  /** Open the search that a manifest names. `read(name)` returns the bytes of a file. */
  static async open(read, { index: name, analyzers }) {
    const files = new Files(read);
    const [index, described] = await Promise.all([
      files.open(name, (header, body) => ({ ...header, body })),
      files.open(analyzers),
    ]);
    const made = described.map(({ pieces, ...rest }) => analyzerOf({ ...rest, pieces: pieces && unfolded(pieces) }));
    const parts = index.parts.map(
      (record, i) => new (record.dimensions ? VectorsPart : TermsPart)(record, i, made[record.analyzer], files),
    );
    const decode = (sections, body) => sections.map(([header, start, end], i) => parts[i].decode(header, body.slice(start, end)));
    const frequent = decode(index.frequent, index.body);
    const shards = new Shards(files, "terms", index.terms, decode);
    parts.forEach((part, i) => Object.assign(part, { shards, frequent: frequent[i] }));
    return new Search(files, index, parts);
  }

  constructor(files, index, parts) {
    Object.assign(this, { files, index, parts });
    this.whole = parts.find((part) => part.words); // its terms are whole words
    this.groups = new Groups(files, index.groups, new Uint32Array(index.body, 0, index.documents));
    const dense = parts.filter((part) => part.dimensions);
    this.vectors = index.vectors && new Vectors(this.groups, dense, index.vectors, index.body, 4 * index.documents);
  }

  /** The `k` best documents, best first; equal ones in the order of the index. `filters`: see `masks`. */
  async find(text, { k = 10, fuzzy = true, prefix = false, filters = {}, facets = false, length = 200 } = {}) {
    const added = await this.added(text, fuzzy, prefix);
    const queries = await Promise.all(
      this.parts.map((part) => (part.words ? part.query(text, added) : this.inPieces(part, text, added))),
    );
    const masks = await this.masks(filters);
    const ranked = await this.ranked(queries, intersection(Object.values(masks)), k);
    const shown = queries.find(({ part }) => part === this.whole) ?? queries[0]; // its words are marked in texts
    const result = async ({ document, score }) => {
      const [title, url, body] = await this.text(document);
      const why = this.why(queries, ranked, document);
      return { document, score, title, url, snippet: this.snippet(body, text, shown, length), why };
    };
    return {
      results: await Promise.all(ranked.best.map(result)),
      total: ranked.total,
      replaced: added.filter(({ origin }) => origin === "fuzzy").map(({ typed, word }) => [typed, word]),
      facets: facets ? await this.facets(masks, ranked.matched) : {},
    };
  }

  async ranked(queries, allowed, k) {
    const scores = new Float64Array(this.index.documents);
    const matched = new Uint8Array(scores.length);
    const factors = queries.map(({ part, length }) => (this.index.mixture ? part.weight / part.deviation / (length ?? 1) : 1));
    let windows = [];
    let candidates = scores.keys();
    queries.forEach((query, i) => {
      if (!query.part.width || !query.terms.length) return;
      query.part.sums(query, scores.length).forEach((sum, document) => {
        if (sum) matched[document] = 1;
        scores[document] += factors[i] * (sum * query.unit + query.constant);
      });
    });
    const lexical = matched.slice();
    const kept = () => intersection(allowed ? [matched, allowed] : [matched]);
    const total = sum(kept());
    const dense = queries.filter(({ part }) => !part.width);
    if (dense.some(({ terms }) => terms.length)) {
      dense.forEach((query) => (query.vector ??= new Float64Array(query.part.dimensions)));
      const own = dense.map((query) => factors[queries.indexOf(query)] * query.unit);
      const found = await this.vectors.scan(dense, own, scores, allowed, READ * k);
      windows = found.windows;
      candidates = found.documents;
      for (const document of candidates) {
        own.forEach((factor, i) => {
          const window = windows[i].get(document);
          if (window) matched[document] = 1;
          scores[document] += factor * (window?.product ?? 0);
        });
      }
    }
    return { best: best(candidates, kept(), scores, k), factors, windows, matched: total ? lexical : matched, total };
  }

  /** The score of a document as a sum over the terms of the query, in each part. */
  why(queries, { factors, windows }, document) {
    let dense = 0;
    return queries.map((query, i) => {
      const place = query.part.width ? document : windows[dense++]?.get(document);
      const [sums, rest] = query.part.why(query, place);
      const score = (sum) => factors[i] * sum * query.unit;
      const terms = query.terms.map(({ term, origin, typed }, t) => ({ term, origin, typed, score: score(sums[t]) }));
      const constant = score(rest) + factors[i] * query.constant;
      return { part: query.part.name, terms: terms.filter((each) => each.score), constant };
    });
  }

  async text(document) {
    const { documents, texts } = await this.groups.open(document);
    return texts[documents.indexOf(document)];
  }

  // Words that are mistyped or unfinished

  async added(text, fuzzy, prefix) {
    const { whole } = this;
    if (!whole || !(fuzzy || prefix)) return [];
    const words = new Map();
    for (const { token, start, end } of whole.placed(text)) {
      const { spans = [] } = words.get(token) ?? {};
      words.set(token, { typed: text.slice(start, end), spans: [...spans, [start, end]] });
    }
    const entries = await whole.entries([...words.keys()]);
    const documents = (token) => entries.get(token)?.documents.length ?? 0;
    const added = [];
    const add = (terms, total, rest) => {
      for (const { term, word, documents, share = 1 } of terms) {
        added.push({ term, word, share: (share * documents) / total, ...rest });
      }
    };
    const last = lastWord(text);
    if (prefix && last) {
      const token = whole.tokens(last).at(-1) ?? "";
      const beginning = token.length === last.length ? token : last.toLowerCase();
      const terms = (await this.startingWith(beginning)).filter(({ term, kind }) => kind & 1 && term !== token);
      const completed = mostFrequent(terms);
      const total = sum(completed.map((each) => each.documents)) + documents(token);
      add(completed, total, { count: 1, origin: "prefix", typed: last });
      if (completed.length) words.delete(token);
    }
    for (const [token, { typed, spans }] of fuzzy ? words : []) {
      if (documents(token)) continue;
      const similar = await this.similar(token, typed.toLowerCase());
      add(similar, sum(similar.map((each) => each.documents)), { count: spans.length, origin: "fuzzy", typed, spans });
    }
    return added;
  }

  /** Words (kind 2) and terms (kind 1) of the index that begin with a prefix. */
  async startingWith(prefix) {
    return (await this.whole.words.startingWith(prefix)).flat().filter(({ word }) => word.startsWith(prefix));
  }

  /** Terms with the nearest words, among those that begin with the first or second letter of a mistyped word. */
  async similar(token, word) {
    const most = Math.max(mostEdits(token), mostEdits(word));
    if (!most || (await this.isWord(word))) return [];
    let near = new Map();
    let least = most;
    for (const letter of new Set(word.slice(0, 2))) {
      for (const each of await this.startingWith(letter)) {
        const distance = edits(word, each.word, least);
        if (distance < least) near = new Map();
        if (distance <= least) near.set(each.term, { ...each, share: 1 - distance / word.length });
        least = Math.min(least, distance);
      }
    }
    return mostFrequent([...near.values()]);
  }

  /** Whether a part of pieces has a word as a whole. Then it is no typo, though no document has it. */
  async isWord(word) {
    for (const part of this.parts) {
      const tokens = part.words ? [] : part.tokens(word);
      if (tokens.length === 1 && (await part.entries(tokens)).size) return true;
    }
  }

  /** Query of a part of pieces: the text without mistyped words, and the pieces of the similar ones. */
  inPieces(part, text, added) {
    const similar = added.filter(({ origin }) => origin === "fuzzy");
    let rest = text;
    for (const [start, end] of similar.flatMap(({ spans }) => spans)) {
      rest = rest.slice(0, start) + " ".repeat(end - start) + rest.slice(end);
    }
    return part.query(rest, similar.flatMap((each) => part.tokens(each.word).map((term) => ({ ...each, term }))));
  }

  /** Texts in which the last word is completed. */
  async completions(text) {
    const last = lastWord(text);
    if (!last || !this.whole) return [];
    const words = (await this.startingWith(last.toLowerCase())).filter(({ kind }) => kind & 2);
    return mostFrequent(words).map(({ word }) => text.slice(0, text.length - last.length) + word);
  }

  // Filters

  column({ file, type }) {
    return this.files.open(file, ({ counts }, body) => {
      if (type !== "values") return new Float64Array(body);
      let end = 0;
      return counts.map((count) => new Uint16Array(body.slice(end, (end += 2 * count))));
    });
  }

  /** For each filtered field, which documents it allows: `{any: [value]}`, or `{from: number, to: number}`. */
  async masks(filters) {
    const masks = {};
    for (const field of this.index.filters) {
      const wanted = filters[field.field];
      if (!wanted) continue;
      const { from = -Infinity, to = Infinity, any } = wanted;
      const codes = any?.map((value) => field.values.indexOf(value));
      const allows = any ? (own) => own.some((code) => codes.includes(code)) : (number) => number >= from && number <= to;
      masks[field.field] = Uint8Array.from(await this.column(field), allows);
    }
    return masks;
  }

  /** Number of matches with each value of each field; the filter of a field does not change its own numbers. */
  async facets(masks, matched) {
    const facets = {};
    for (const field of this.index.filters.filter(({ type }) => type === "values")) {
      const column = await this.column(field);
      const others = intersection(Object.keys(masks).filter((name) => name !== field.field).map((name) => masks[name]));
      const counts = field.values.map(() => 0);
      matched.forEach((is, document) => {
        if (is && (!others || others[document])) column[document].forEach((code) => counts[code]++);
      });
      facets[field.field] = counts;
    }
    return facets;
  }

  // Excerpts

  /** Excerpt of a text with the rarest words of a query, and the places of these words in it. */
  snippet(body, text, { part, terms }, length) {
    const rarity = ({ length }) => Math.log(1 + (this.index.documents - length + 0.5) / (length + 0.5));
    const weights = part.words
      ? new Map(terms.map(({ term, entry }) => [term, rarity(entry.documents)]))
      : new Map(part.placed(text).map(({ token }) => [token, 1]));
    const marks = part.placed(body).filter(({ token }) => weights.has(token));
    const [low, high] = passage(body, marks, weights, length);
    const spans = [];
    for (const { start, end } of marks.filter(({ start, end }) => start >= low && end <= high)) {
      const last = spans.at(-1);
      if (last && start - low < last[1]) last[1] = Math.max(last[1], end - low);
      else spans.push([start - low, end - low]);
    }
    return { text: body.slice(low, high), spans, before: low, after: body.length - high };
  }
}

/** Range of the passage with the largest sum of weights of different words; the beginning if it has 4/5 of that. */
export function passage(text, marks, weights, length) {
  if (text.length <= length) return [0, text.length];
  const within = (from) => marks.filter(({ start, end }) => start >= from && end <= from + length);
  const value = (from) => sum([...new Set(within(from).map(({ token }) => token))].map((token) => weights.get(token)));
  let [first, most] = [0, value(0) * 1.25];
  for (const { start } of marks) if (value(start) > most) [first, most] = [start, value(start)];
  const last = within(first).at(-1)?.end ?? first;
  let low = Math.max(0, Math.min(first - Math.floor((length - last + first) / 3), text.length - length));
  if (low) low = Math.min(first, low + text.slice(low).search(/\s/) + 1);
  const end = text.slice(0, low + length + 1).search(/\s\S*$/);
  return [low, low + length >= text.length || end <= low ? low + length : end];
}

/** The word at the end of a text, if it has two characters or more. */
const lastWord = (text) => text.match(/[\p{L}\p{N}\p{M}_]{2,}$/u)?.[0];

const mostFrequent = (terms) =>
  terms.sort((a, b) => b.documents - a.documents || (a.word < b.word ? -1 : 1)).slice(0, MOST_TERMS);

const intersection = (masks) => masks.length && masks.reduce((a, b) => a.map((is, document) => is & b[document]));

/** The `k` matching candidates with the largest scores; earlier candidates win ties. */
function best(candidates, matched, scores, k) {
  const found = [];
  for (const document of candidates) {
    const score = scores[document];
    if (!matched[document] || (found.length === k && score <= found[k - 1].score)) continue;
    let place = found.length;
    while (place > 0 && found[place - 1].score < score) place--;
    found.splice(place, 0, { document, score });
    found.length = Math.min(k, found.length);
  }
  return found;
}

export function mostEdits(word) {
  if (word.length < 4 || word.length > 100 || /\p{Nd}/u.test(word)) return 0;
  return word.length < 8 ? 1 : 2;
}

/** Insertions, deletions, substitutions and swaps of neighbours between two words, or a number above `most`. */
export function edits(a, b, most) {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before = [];
  let last = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length && Math.min(...row) <= most; i++) {
    [before, last, row] = [last, row, [i]];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] !== b[j - 1]));
      if (i > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
  }
  return Math.min(...row) > most ? most + 1 : row[b.length];
}

// Messages

async function read(name) {
  const response = await fetch(new URL(name, self.location)).catch(() => ({ status: "no connection" }));
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response.arrayBuffer();
}

if (typeof WorkerGlobalScope !== "undefined") {
  let latest = 0;
  let opening = null;
  self.onmessage = async ({ data: { id, manifest, text, options } }) => {
    latest = id;
    try {
      opening ??= Search.open(read, manifest);
      const search = await opening;
      const completions = options.prefix ? await search.completions(text) : [];
      if (id !== latest) return; // another query came
      const found = await search.find(text, options);
      if (id === latest) self.postMessage({ id, ...found, completions, filters: search.index.filters });
    } catch (error) {
      if (!(await opening?.catch(() => null))) opening = null;
      self.postMessage({ id, error: error.message });
    }
  };
}
