// Query kit of termwise: query texts to query weights, in front of any search engine.
//
//   const kit = await QueryKit.open((name) => readFile(new URL(name, folder)));   // or fetch
//   kit.query("green tea");
//
// It needs analyzers.js and the data of the folder, no other file, and runs in browsers, in workers and in Node. The
// README of the folder describes the results.

import { analyzerOf } from "./analyzers.js";

export { analyzerOf };

const MANIFEST = "query_kit.json";
const FORMAT = "termwise-query-kit";
const VERSION = 1;
const LEVELS = 127; // largest absolute value of a number in a query table
const IMPACTS = 255;
const BIASES = 65535;
const QUERY_BITS = 12; // of the largest query weight that is rounded
const DENSE_LIMIT = 2 ** 53;

/** Queries of one index or of a mixture. */
export class QueryKit {
  /** Open a kit; `read(name)` returns the bytes of one of its files, or a promise of them. */
  static async open(read) {
    const bytesOf = async (name, sha256) => {
      let bytes;
      try {
        bytes = new Uint8Array(await read(name)); // a copy, whose numbers are aligned
      } catch (error) {
        throw new Error(`a file of the query kit cannot be read: ${name}: ${error.message}`, { cause: error });
      }
      if (sha256 && globalThis.crypto?.subtle) {
        const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
        const seen = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
        if (seen !== sha256) throw damaged(name, "its SHA-256 is another one");
      }
      return bytes;
    };
    const bytes = await bytesOf(MANIFEST);
    let manifest;
    try {
      manifest = json(bytes) ?? {};
    } catch (error) {
      throw damaged(MANIFEST, error.message);
    }
    if (manifest.format !== FORMAT || manifest.version !== VERSION) {
      throw new Error(`expected ${FORMAT} ${VERSION}, found ${manifest.format} ${manifest.version}: ${MANIFEST}`);
    }
    try {
      return new QueryKit(await partsOf(manifest, bytesOf));
    } catch (error) {
      throw error instanceof TypeError ? damaged(MANIFEST, error.message) : error; // all other files have checksums
    }
  }

  constructor(parts) {
    this.parts = parts;
  }

  /** Tokens of a text in each part, by its name. */
  tokens(text) {
    return Object.fromEntries(this.parts.map((part) => [part.name, part.analyzer.tokens(text)]));
  }

  /** Weights or vector of a query in each part, and the constant of its scores. */
  query(text) {
    const parts = this.parts.map((part) => part.query(text));
    return { parts, constant: parts.reduce((sum, part) => sum + (part.constant ?? 0), 0) };
  }
}

const json = (bytes) => JSON.parse(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));

const isText = (value) => typeof value === "string";
const isFlag = (value) => typeof value === "boolean";
const isWhole = (value, least = 0, most = 2 ** 53) => Number.isInteger(value) && value >= least && value <= most;
const isPositive = (value) => typeof value === "number" && value > 1e-300 && value < 1e300;

const CHECKS = {
  name: isText,
  kind: (value) => ["sparse", "dense"].includes(value),
  weight: (value) => value === 0 || isPositive(value),
  scale: (value) => value === null || isPositive(value),
  weighting: (value) => ["counts", "log-counts", "occurrences", "idf"].includes(value),
  unknown: (value) => value === null || isText(value),
  terms: (value) => isWhole(value),
  background: isFlag,
  unit: isPositive,
};
const SPARSE_CHECKS = {
  exact: isFlag,
  bias_bits: (value) => isWhole(value, 0, 8),
  limit: (value) => isWhole(value, 1),
  largest_shift: (value) => isWhole(value, 0, 8),
};
const DENSE_CHECKS = { dimensions: (value) => isWhole(value, 1) };

/** Throw a TypeError for a part in query_kit.json with a missing or wrong value. */
function checkPart(part, listed) {
  const isDense = part.kind === "dense";
  for (const [name, isRight] of Object.entries({ ...CHECKS, ...(isDense ? DENSE_CHECKS : SPARSE_CHECKS) })) {
    if (!isRight(part[name])) throw new TypeError(`wrong ${name} of a part`);
  }
  const { files } = part;
  const needed = { rows: isDense, shifts: isDense, weights: part.weighting === "idf" };
  const fits = Object.entries(needed).every(([name, isNeeded]) => (name in files) === isNeeded);
  if (!fits || Object.values(files).some((name) => listed[name].sha256.length !== 64)) {
    throw new TypeError("wrong files of a part");
  }
}

async function partsOf(manifest, bytesOf) {
  for (const part of manifest.parts) checkPart(part, manifest.files);
  if (!manifest.parts.length) throw new TypeError("no parts");
  const loaded = new Map();
  const load = (name) => {
    if (!loaded.has(name)) loaded.set(name, bytesOf(name, manifest.files[name].sha256));
    return loaded.get(name);
  };
  const numbers = new Map();
  const numbering = async (name) => {
    if (!numbers.has(name)) numbers.set(name, new Map(json(await load(name)).map((token, number) => [token, number])));
    return numbers.get(name);
  };
  const analyzers = new Map();
  const parts = [];
  for (const part of manifest.parts) {
    const { files } = part;
    const key = [files.analyzer, files.pieces].join(" ");
    if (!analyzers.has(key)) {
      const pieces = files.pieces ? await numbering(files.pieces) : undefined;
      const described = json(await load(files.analyzer));
      if (JSON.stringify(described.steps ?? []).includes('"stem":"snowball"')) {
        throw new Error("only query_kit.py stems this language, with the package snowballstemmer");
      }
      analyzers.set(key, analyzerOf({ ...described, pieces }));
    }
    const data = { analyzer: analyzers.get(key), vocabulary: await numbering(files.vocabulary) };
    data.tokens = Array.from(data.vocabulary.keys());
    for (const [name, size] of [["weights", 4], ["factors", 8], ["floors", 8]]) {
      if (files[name]) data[name] = floats(await load(files[name]), size);
    }
    if (files.rows) data.rows = new Int8Array((await load(files.rows)).buffer);
    if (files.shifts) data.shifts = await load(files.shifts);
    const size = (data.shifts?.length ?? 0) * (part.dimensions ?? 0);
    if (part.terms !== data.tokens.length || size !== (data.rows?.length ?? 0)) {
      throw new TypeError("terms or dimensions of a part differ from its files");
    }
    parts.push(new Part(part, data));
  }
  return parts;
}

/** Little-endian floating-point numbers of 4 or 8 bytes. */
function floats(bytes, size) {
  const view = new DataView(bytes.buffer);
  const read = size === 4 ? (place) => view.getFloat32(place, true) : (place) => view.getFloat64(place, true);
  return Float64Array.from({ length: bytes.length / size }, (_, number) => read(number * size));
}

class Part {
  constructor(settings, data) {
    Object.assign(this, settings, data);
    this.share = this.scale === null ? null : this.weight / this.scale; // of the normalised score of a mixture
  }

  query(text) {
    const row = this.row(text);
    return this.kind === "dense" ? this.dense(row) : this.sparse(row);
  }

  /** Pairs of a term number and its weight, ascending, with the factors of a changed index. */
  row(text) {
    const counts = new Map();
    for (const token of this.analyzer.tokens(text)) {
      const number = token === this.unknown ? undefined : this.vocabulary.get(token);
      if (number !== undefined) counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    const weigh = {
      "counts": (_, count) => count,
      "log-counts": (_, count) => 1 + Math.log(count),
      "occurrences": () => 1,
      "idf": (number) => this.weights[number],
    }[this.weighting];
    let row = Array.from(counts, ([number, count]) => [number, weigh(number, count)]).filter(([, weight]) => weight > 0);
    if (row.length && this.background) {
      row.push([this.terms, row.reduce((sum, [, weight]) => sum + weight, 0)]);
    }
    row = row.map(([number, weight]) => [number, Math.fround(weight)]).sort(([a], [b]) => a - b);
    return this.factors ? row.map(([number, weight]) => [number, weight * this.factors[number]]) : row;
  }

  sparse(row) {
    const scale = this.exact ? 1 : unitOf(row.map(([, weight]) => weight), this.background ? this.limit : null, this.bias_bits);
    const weights = row.map(([number, weight]) => [number, this.exact ? weight : Math.max(1, even(weight / scale))]);
    const constant = this.floors
      ? weights.reduce((sum, [number, weight]) => sum + this.floors[number] * (weight * scale), 0)
      : 0;
    const background = this.background && weights.length ? weights.pop()[1] : 0;
    let unit = this.unit * scale;
    if (!this.exact) {
      if (this.background) {
        unit /= 2 ** this.bias_bits;
        for (const pair of weights) pair[1] *= 2 ** this.bias_bits;
      }
      const sum = weights.reduce((total, [, weight]) => total + weight, 0);
      if ((sum * IMPACTS + background * BIASES) * 2 ** this.largest_shift >= this.limit) throw tooLarge();
    }
    const share = this.share ?? 1;
    return {
      name: this.name,
      kind: this.kind,
      coefficient: share * unit,
      constant: share * constant,
      terms: Object.fromEntries(weights.map(([number, weight]) => [this.tokens[number], weight])),
      numbers: Object.fromEntries(weights),
      background,
    };
  }

  dense(row) {
    const size = this.dimensions, { rows, shifts } = this;
    const known = row.filter(([number]) => {
      return number < shifts.length && rows.subarray(number * size, (number + 1) * size).some((value) => value);
    });
    const scale = unitOf(known.map(([, weight]) => weight));
    const factors = known.map(([number, weight]) => Math.max(1, even(weight / scale)) * 2 ** shifts[number]);
    if (factors.reduce((sum, factor) => sum + factor, 0) * LEVELS ** 2 >= DENSE_LIMIT) throw tooLarge();
    const vector = new Array(size).fill(0);
    known.forEach(([number], place) => {
      for (let dimension = 0; dimension < size; dimension++) {
        vector[dimension] += factors[place] * rows[number * size + dimension];
      }
    });
    if (vector.reduce((sum, value) => sum + Math.abs(value), 0) * LEVELS >= DENSE_LIMIT) throw tooLarge();
    const unit = this.unit * scale;
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0)) * unit;
    const coefficient = this.share === null ? unit : length ? (this.share * unit) / length : 0;
    return { name: this.name, kind: this.kind, coefficient, vector };
  }
}

const damaged = (name, reason) => new Error(`a file of the query kit is damaged: ${name}: ${reason}`);

const tooLarge = () => new RangeError("the query weights are too large for exact sums");

/** Nearest whole number, the even one of two. */
function even(value) {
  const nearest = Math.round(value);
  return nearest - value === 0.5 && nearest % 2 ? nearest - 1 : nearest;
}

/** Unit of query weights. With a limit, the last weight is that of the document bias, and sums are below the limit. */
function unitOf(weights, limit = null, biasBits = 0) {
  if (weights.every(Number.isInteger)) return 1;
  const terms = limit !== null && weights.length > 1 ? weights.slice(0, -1) : weights;
  let scale = 2 ** (exponent(Math.max(...terms)) - QUERY_BITS);
  if (limit !== null) {
    const sum = terms.reduce((total, weight) => total + weight, 0);
    const largest = (sum * IMPACTS * 2 ** biasBits + weights.at(-1) * BIASES) / scale;
    scale *= 2 ** Math.max(0, Math.ceil(Math.log2(largest / limit)) + 1);
  }
  return scale;
}

/** Exponent of a number as the product of a power of two and a number of at least 0.5 and below 1. */
function exponent(value) {
  let power = Math.floor(Math.log2(value)) + 1;
  while (value < 2 ** (power - 1)) power--;
  while (value >= 2 ** power) power++;
  return power;
}
