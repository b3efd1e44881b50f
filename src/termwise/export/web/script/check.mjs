// Answers queries with the search of a folder under Node.js: each line of the standard input with a line of JSON.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";

const folder = process.argv[1];
const read = (name) => readFile(`${folder}/${name}`);
const manifest = JSON.parse(await read("search.json"));
// Without a package.json, Node.js reads a file that ends with .js as CommonJS, and modules from data: addresses as such.
const { Search } = await import(`data:text/javascript;base64,${(await read(manifest.worker)).toString("base64")}`);
const search = await Search.open(read, manifest);
for await (const line of createInterface({ input: process.stdin })) {
  const { text, k } = JSON.parse(line);
  const { results } = await search.find(text, { k, fuzzy: false });
  console.log(JSON.stringify(results.map(({ document, score }) => [document, score])));
}
