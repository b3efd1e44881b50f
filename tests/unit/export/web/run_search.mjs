// Answers queries with the scripts of a search folder, under Node: a request as JSON on the standard input.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const { folder, queries } = JSON.parse(await readFile("/dev/stdin", "utf8"));
const manifest = JSON.parse(await readFile(`${folder}/search.json`, "utf8"));
const load = (name) => import(pathToFileURL(`${folder}/${name}`).href);
const { Search, edits, mostEdits, queryScale, rint, passage } = await load(manifest.worker);
const reads = [];
const read = (name) => {
  reads.push(name);
  return readFile(`${folder}/${name}`);
};
const functions = { edits, mostEdits, queryScale, rint, passage: (t, marks, weights, n) => passage(t, marks, new Map(weights), n) };
const search = await Search.open(read, manifest);
const answers = [];
for (const { call, text, options, complete } of queries) {
  const before = reads.length;
  let answer;
  if (call) answer = { value: functions[call[0]](...call[1]) };
  else if (complete) answer = { completions: await search.completions(text) };
  else answer = await search.find(text, options);
  answers.push({ ...answer, reads: reads.slice(before) });
}
process.stdout.write(JSON.stringify(answers));
