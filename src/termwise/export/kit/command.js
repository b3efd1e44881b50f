// Queries of the query kit on the command line of Node 20 or later.
//
//   node command.js "green tea"            the query as JSON
//   node command.js --tokens "green tea"   the tokens of each part
//   node command.js < queries.txt          one query a line, one JSON object a line

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { QueryKit } from "./query_kit.js";

const options = {
  kit: { type: "string", default: fileURLToPath(new URL(".", import.meta.url)) },
  tokens: { type: "boolean", default: false },
};

try {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const kit = await QueryKit.open((name) => readFile(join(values.kit, name)));
  const show = (text) => console.log(JSON.stringify(values.tokens ? kit.tokens(text) : kit.query(text)));
  positionals.forEach(show);
  if (!positionals.length) for await (const line of createInterface({ input: process.stdin })) show(line);
} catch (error) {
  console.error(`command.js: ${error.message}`);
  process.exitCode = 1;
}
