// Analyzers of the query kit of termwise: texts to tokens, by descriptions that are data.
//
// It needs no other file and runs in browsers, in workers and in Node.

/** Make the analyzer that a description (see query_kit.json) describes: an object with `tokens(text)`. */
export function analyzerOf(description) {
  const kinds = { words: Words, pieces: Pieces };
  if (!Object.hasOwn(kinds, description.kind)) throw new Error(`unknown kind of analyzer: ${description.kind}`);
  return new kinds[description.kind](description);
}

const wellFormed = (text) => text.replace(/[\ud800-\udfff]/gu, "\ufffd");
const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
const anyOf = (texts) => new RegExp([...texts].sort((a, b) => b.length - a.length).map(escaped).join("|"), "gu");

/** Function from a code point to its value in ranges: the gap since the last range, its length, its value. */
function valueIn(ranges) {
  const starts = [], ends = [], values = [];
  for (let place = 0, end = 0; place < ranges.length; place += 3) {
    starts.push(end + ranges[place]);
    ends.push((end += ranges[place] + ranges[place + 1]));
    values.push(ranges[place + 2]);
  }
  return (point) => {
    let low = 0, high = starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] <= point) low = middle + 1;
      else high = middle;
    }
    return low < starts.length && starts[low] <= point ? values[low] : 0;
  };
}

/** Map whose missing values are computed. */
class Cache extends Map {
  constructor(compute, most = 1 << 17) {
    super();
    Object.assign(this, { compute, most });
  }
  of(key) {
    let value = this.get(key);
    if (value === undefined) {
      if (this.size >= this.most) this.clear();
      this.set(key, (value = this.compute(key)));
    }
    return value;
  }
}

/** Words of a text by regular expressions over classes of characters, and steps that change or drop them. */
class Words {
  constructor({ tokenizer, classes, patterns, steps }) {
    this.cut = TOKENIZERS[tokenizer];
    if (!this.cut) throw new Error(`unknown tokenizer: ${tokenizer}`);
    this.patterns = {};
    for (const name in patterns) this.patterns[name] = new RegExp(patterns[name], "g");
    for (const name of ["emoji", "cjk"]) {
      if (patterns[name]) this.patterns[name] = new RegExp(patterns[name], "y");
    }
    if (classes) {
      const value = valueIn(classes.ranges);
      this.letters = new Cache((char) => classes.letters[value(char.codePointAt(0))]);
      this.space = this.letters.of(" ");
    }
    this.forms = new Cache(inOrder(steps));
  }

  /** Tokens of a text, in its order. */
  tokens(text) {
    return this.analyze(text).map(([token]) => token);
  }

  /** Tokens with their ranges: [token, start, end], in UTF-16 code units as in `text.slice(start, end)`. */
  analyze(text) {
    text = wellFormed(text);
    const chars = /[\ud800-\udfff]/.test(text) ? Array.from(text) : text;
    let classes = text;
    if (this.letters) {
      classes = "";
      for (const char of chars) classes += this.letters.of(char);
    }
    const starts = chars === text ? null : [0];
    if (starts) for (const char of chars) starts.push(starts[starts.length - 1] + char.length);
    const found = [];
    for (let [start, end] of this.cut(this.letters ? chars : text, classes, this.patterns, this.space)) {
      if (starts && this.letters) [start, end] = [starts[start], starts[end]];
      const token = this.forms.of(text.slice(start, end));
      if (token) found.push([token, start, end]);
    }
    return found;
  }
}

const spans = (pattern, text) => Array.from(text.matchAll(pattern), (match) => [match.index, match.index + match[0].length]);

const TOKENIZERS = {
  "whitespace": (_, classes, { word }) => spans(word, classes),
  "unicode-words": (_, classes, { word }) => spans(word, classes),
  "standard-words": standardWords,
  "standard-words-persian": standardWords,
  "code-words": codeWords,
  "cjk-bigrams": cjkPairs,
  "words-with-parts": wordsWithParts,
};

const LONGEST = 255; // of a word, in UTF-16 code units
const STRETCH = 1024; // characters that are searched at a time
const MANY = 32; // underscores in a row that are shortened

/** Unicode word boundaries: the longest match of a word or an emoji, within LONGEST. */
function standardWords(chars, classes, patterns, space) {
  classes = shortened(classes, patterns, space);
  const found = [];
  for (let place = 0; place < chars.length; ) {
    const stretch = Math.min(place + STRETCH, chars.length);
    const last = stretch === chars.length ? stretch : stretch - LONGEST;
    patterns.word.lastIndex = 0;
    const match = patterns.word.exec(classes.slice(place, stretch));
    if (!match || place + match.index > last) {
      place = last;
      continue;
    }
    const start = place + match.index;
    let end = start + match[0].length;
    if (end - start > LONGEST >> 1 || matchesAt(patterns["letter or emoji"], classes[start], 0) !== null) {
      const within = classes.slice(start, start + fitting(chars, start));
      end = start;
      for (const name of ["word", "emoji"]) end = Math.max(end, start + (matchesAt(patterns[name], within, 0) ?? 0));
    }
    if (end > start) found.push([start, end]);
    place = Math.max(end, start + 1);
  }
  return found;
}

/** End of the match of a pattern at a place, or null. */
function matchesAt(pattern, text, place) {
  pattern.lastIndex = place;
  const match = pattern.exec(text);
  return match && match.index === place ? place + match[0].length : null;
}

/** Classes in which underscores too far from a word to belong to it are spaces. */
function shortened(classes, patterns, space) {
  if (classes.search(patterns["many underscores"]) < 0) return classes;
  return classes.replace(patterns.underscores, (whole, before, run, place) => {
    const head = before === undefined ? 0 : LONGEST;
    const isBeforeWord = matchesAt(patterns["after underscores"], classes[place + whole.length] ?? "", 0) !== null;
    const tail = isBeforeWord ? Math.max(head, run.length - LONGEST) : run.length;
    const middle = run.slice(head, tail).replace(patterns["low line"], space);
    return (before ?? "") + run.slice(0, head) + middle + run.slice(tail);
  });
}

/** Number of characters from a place that fit into LONGEST. */
function fitting(chars, start) {
  let units = 0, place = start;
  for (; place < chars.length && place < start + LONGEST; place++) if ((units += chars[place].length) > LONGEST) break;
  return place - start;
}

/** Identifiers, each followed by its parts if it has several. */
function codeWords(chars, classes, { word, part }) {
  return besideMarks(classes, word, (kinds) => {
    const parts = spans(part, kinds);
    return parts.length === 1 && parts[0][1] - parts[0][0] === kinds.length ? parts : [[0, kinds.length], ...parts];
  });
}

/** Words, and for compounds of several parts also the parts and the words that some parts form. */
function wordsWithParts(chars, classes, { word, part, run, lead, code }) {
  classes = classes.replace(code, (text) => text.replaceAll("\x1e", "-"));
  return besideMarks(classes, word, (kinds) => {
    const found = spans(part, kinds);
    if (found[1]) for (const word of [[0, kinds.length], ...spans(run, kinds), ...spans(lead, kinds)])
      if (word[1] - word[0] <= 64 && found.every((span) => span.join() !== word.join())) found.push(word);
    return found.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  });
}

/** The ranges in each word, without marks inside words. */
function besideMarks(classes, word, ranges) {
  const kinds = classes.replace(/[\x7f\x1f]/g, "");
  const kept = [...classes].flatMap((kind, place) => (kinds.includes(kind) ? place : []));
  return spans(word, kinds).flatMap(([place, stop]) => ranges(kinds.slice(place, stop)).map(([start, end]) =>
    [kept[place + start], matchesAt(/(?:\x7f*\x1f)*/y, classes, kept[place + end - 1] + 1)]));
}

/** Standard words, with pairs of neighbours in place of Chinese, Japanese and Korean words. */
function cjkPairs(chars, classes, patterns, space) {
  const found = [];
  let run = [];
  const finish = () => {
    if (run.length === 1) found.push(run[0]);
    for (let place = 1; place < run.length; place++) found.push([run[place - 1][0], run[place][1]]);
    run = [];
  };
  for (const [start, end] of standardWords(chars, classes, patterns, space)) {
    const word = classes.slice(start, end);
    const isCjk = matchesAt(patterns.cjk, word, 0) === word.length;
    if (run.length && (!isCjk || run[run.length - 1][1] !== start)) finish();
    if (!isCjk) found.push([start, end]);
    else for (const [first, last] of spans(patterns.unit, word)) run.push([start + first, start + last]);
  }
  finish();
  return found;
}

// Steps

/** Function of steps in order, until one drops the word. */
function inOrder(steps) {
  const functions = steps.map(stepOf);
  return (word) => {
    for (const change of functions) if (!(word = change(word))) return "";
    return word;
  };
}

const sizeOf = (word) => (/[\ud800-\udfff]/.test(word) ? Array.from(word).length : word.length);

/** Function of a step: the new form of a word, empty to drop it. */
function stepOf(step) {
  if (step.map) {
    const to = Array.from(step.map[1]);
    const map = new Map(Array.from(step.map[0], (char, place) => [char, to[place]]));
    return (word) => {
      let form = "";
      for (const char of word) form += map.get(char) ?? char;
      return form;
    };
  }
  if (step.replace) {
    const map = new Map(Object.entries(step.replace));
    const pattern = anyOf(map.keys());
    return (word) => word.replace(pattern, (found) => map.get(found));
  }
  if (step.drop) {
    const words = new Set(step.drop);
    return (word) => (words.has(word) ? "" : word);
  }
  if (step.first) {
    const rules = step.first.map(([longer, pattern, to]) => [longer, new RegExp(pattern, "u"), new RegExp(pattern, "gu"), to]);
    return (word) => {
      const size = sizeOf(word);
      const rule = rules.find(([longer, pattern]) => size > longer && pattern.test(word));
      return rule ? word.replace(rule[2], rule[3]) : word;
    };
  }
  if (step.normalize) return (word) => word.normalize(step.normalize);
  if (step.unless) {
    const other = new RegExp(step.unless, "u"), change = inOrder(step.steps);
    return (word) => (other.test(word) ? word : change(word));
  }
  if (step.longer) {
    const change = inOrder(step.steps);
    return (word) => (sizeOf(word) > step.longer ? change(word) : word);
  }
  const stemmers = { english: englishStem, porter: porterStem };
  if (!Object.hasOwn(stemmers, step.stem)) throw new Error(`unknown step: ${Object.keys(step)}`);
  return (word) => narrow(word, (letters) => stemmers[step.stem](letters, step.rules)) || word;
}

/** Apply a function of UTF-16 code units to a word, in which each other character counts as one unit. */
function narrow(word, change) {
  if (!/[\ud800-\udfff]/.test(word)) return change(word);
  const others = [...new Set(word.match(/[\u{10000}-\u{10ffff}]/gu))];
  const unit = (char) => String.fromCharCode(0xd800 + others.indexOf(char));
  return change(word.replace(/[\u{10000}-\u{10ffff}]/gu, unit)).replace(
    /[\ud800-\udfff]/g,
    (char) => others[char.charCodeAt(0) - 0xd800],
  );
}

/** First rule [suffix, new ending] whose suffix a word has. */
const ruleOf = (word, rules) => rules.find(([suffix]) => word.endsWith(suffix));

/** Stem of an English word as by Snowball 3.1. */
function englishStem(word, rules) {
  if (Object.hasOwn(rules.words, word)) return rules.words[word];
  if (word.length < 3) return word;
  word = word.replace(/^'/, "");
  // A y that begins the word or follows a vowel is a consonant, written Y.
  const marked = word.replace(/^y/, "Y").replace(/([aeiouy])y/g, "$1Y");
  const isMarked = marked !== word;
  word = marked;
  const region = (from) => {
    const place = word.slice(from).search(/[aeiouy][^aeiouy]/);
    return place < 0 ? word.length : from + place + 2;
  };
  const beginning = rules.beginnings.find((each) => word.startsWith(each));
  const first = beginning ? beginning.length : region(0);
  const second = region(first);
  const without = (suffix) => word.slice(0, word.length - suffix.length);
  const inFirst = (suffix) => without(suffix).length >= first;
  const inSecond = (suffix) => without(suffix).length >= second;
  const hasVowel = (text) => /[aeiouy]/.test(text);
  const isShort = (text) => /[^aeiouy][aeiouy][^aeiouywxY]$|^[aeiouy][^aeiouy]$|past$/.test(text);

  word = word.replace(/('s'|'s|')$/, "");
  if (word.endsWith("sses")) word = without("es");
  else if (/ie[ds]$/.test(word)) word = without(word.length > 4 ? "es" : "s");
  else if (/[^us]s$|^s$/.test(word) && hasVowel(word.slice(0, -2))) word = without("s");

  const [suffix] = word.match(/(eed|ing|ed)(ly)?$/) ?? [""];
  if (suffix) {
    const stem = without(suffix);
    if (suffix.startsWith("eed")) {
      if (inFirst(suffix) && !rules["kept before eed"].includes(stem)) word = stem + "ee";
    } else if (suffix === "ing" && /^[^aeiouy]y$/.test(stem)) word = stem[0] + "ie";
    else if (hasVowel(stem) && !(suffix === "ing" && rules["kept before ing"].includes(stem))) {
      word = stem;
      if (/(at|bl|iz)$/.test(word)) word += "e";
      else if (/(bb|dd|ff|gg|mm|nn|pp|rr|tt)$/.test(word)) {
        if (!/^[aeo]..$/.test(word)) word = word.slice(0, -1);
      } else if (word.length <= first && isShort(word)) word += "e";
    }
  }
  if (/[^][^aeiouy][yY]$/.test(word)) word = word.slice(0, -1) + "i";

  let rule = ruleOf(word, rules["step 2"]);
  if (rule) {
    if (inFirst(rule[0])) word = without(rule[0]) + rule[1];
  } else if (word.endsWith("logi")) {
    if (inFirst("ogi")) word = without("i");
  } else if (/[cdeghkmnrt]li$/.test(word) && inFirst("li")) word = without("li");

  rule = ruleOf(word, rules["step 3"]);
  if (rule) {
    if (inFirst(rule[0])) word = without(rule[0]) + rule[1];
  } else if (word.endsWith("ative") && inSecond("ative")) word = without("ative");

  const last = rules["step 4"].find((each) => word.endsWith(each));
  if (last && inSecond(last) && (last !== "ion" || /[st]ion$/.test(word))) word = without(last);

  if (word.endsWith("e")) {
    if (inSecond("e") || (inFirst("e") && !isShort(without("e")))) word = without("e");
  } else if (word.endsWith("ll") && inSecond("l")) word = without("l");
  return isMarked ? word.replace(/Y/g, "y") : word;
}

/** Stem of an English word as by Porter's program. */
function porterStem(word, rules) {
  if (word.length <= 2) return word;
  const shape = (stem) => {
    let found = "";
    for (const letter of stem) {
      found += "aeiou".includes(letter) || (letter === "y" && found.endsWith("c")) ? "v" : "c";
    }
    return found;
  };
  const measure = (stem) => shape(stem).split("vc").length - 1;
  const hasVowel = (stem) => shape(stem).includes("v");
  const endsShort = (stem) => !/[wxy]$/.test(stem) && shape(stem).endsWith("cvc");
  const without = (suffix) => word.slice(0, word.length - suffix.length);

  if (/(sses|ies)$/.test(word)) word = word.slice(0, -2);
  else if (/s$/.test(word) && !/ss$/.test(word)) word = word.slice(0, -1);

  const past = /ed$/.test(word) ? "ed" : /ing$/.test(word) ? "ing" : "";
  if (/eed$/.test(word)) {
    if (measure(without("eed")) > 0) word = word.slice(0, -1);
  } else if (past && hasVowel(without(past))) {
    word = without(past);
    if (/(at|bl|iz)$/.test(word)) word += "e";
    else if (word.at(-2) === word.at(-1) && shape(word).endsWith("c")) {
      if (!/[lsz]$/.test(word)) word = word.slice(0, -1);
    } else if (measure(word) === 1 && endsShort(word)) word += "e";
  }
  if (/y$/.test(word) && hasVowel(word.slice(0, -1))) word = word.slice(0, -1) + "i";
  for (const step of ["step 2", "step 3"]) {
    const rule = ruleOf(word, rules[step]);
    if (rule && measure(without(rule[0])) > 0) word = without(rule[0]) + rule[1];
  }
  const last = rules["step 4"].find((each) => word.endsWith(each) && (each !== "ion" || /[st]ion$/.test(word)));
  if (last && measure(without(last)) > 1) word = without(last);
  if (/e$/.test(word)) {
    const stem = word.slice(0, -1), size = measure(stem);
    if (size > 1 || (size === 1 && !endsShort(stem))) word = stem;
  }
  return /ll$/.test(word) && measure(word) > 1 ? word.slice(0, -1) : word;
}

// Word pieces

const [KEPT, REMOVED, BREAK, SPACE, ALONE, MAPPED, SYLLABLE] = Array(7).keys();

/** Word pieces as of BERT: the normal form of a text, its words, and the longest pieces of each word. */
class Pieces {
  constructor({ unknown, prefix, longest, special, forms, mapped, order, pieces, drop }) {
    Object.assign(this, { unknown, prefix, longest, order });
    this.special = special.length ? new RegExp(`(${anyOf(special).source})`, "u") : null;
    this.pieces = pieces instanceof Map ? pieces : new Set(pieces);
    this.dropped = new Set(drop);
    const value = valueIn(forms);
    const make = {
      [KEPT]: (char) => char,
      [REMOVED]: () => "",
      [BREAK]: () => "\0",
      [SPACE]: () => " ",
      [ALONE]: (char) => ` ${char} `,
      [MAPPED]: (char) => mapped[char],
      [SYLLABLE]: (char) => char.normalize("NFD"),
    };
    this.forms = new Cache((char) => make[value(char.codePointAt(0))](char));
    const marks = Object.keys(order).join("");
    this.marks = marks ? new RegExp(`[${marks}]{2,}`, "gu") : null;
    this.words = new Cache((word) => this.cut(word));
  }

  /** Tokens of a text, in its order. */
  tokens(text) {
    const found = [];
    const parts = this.special ? wellFormed(text).split(this.special) : [wellFormed(text)];
    parts.forEach((part, place) => {
      if (place % 2) found.push(part);
      else for (const word of this.normal(part).split(" ")) if (word) found.push(...this.words.of(word));
    });
    return found.filter((token) => !this.dropped.has(token));
  }

  normal(text) {
    let normal = "";
    for (const char of text) normal += this.forms.of(char);
    if (this.marks) {
      const sorted = (run) => Array.from(run).sort((a, b) => this.order[a] - this.order[b]).join("");
      normal = normal.replace(this.marks, sorted);
    }
    return normal.replaceAll("\0", "");
  }

  cut(word) {
    const chars = Array.from(word);
    if (chars.length > this.longest) return [this.unknown];
    const found = [];
    for (let start = 0; start < chars.length; ) {
      let end = chars.length, piece;
      for (; end > start; end--) {
        piece = (start ? this.prefix : "") + chars.slice(start, end).join("");
        if (this.pieces.has(piece)) break;
      }
      if (end === start) return [this.unknown];
      found.push(piece);
      start = end;
    }
    return found;
  }
}
