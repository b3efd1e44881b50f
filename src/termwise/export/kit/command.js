// Queries of the query kit on the command line of Node 20 or later; HELP lists its options.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { QueryKit } from "./query_kit.js";

const HELP = `Queries of a query kit.

  node command.js "green tea"            the query as JSON
  node command.js --tokens "green tea"   the tokens of each part
  node command.js < queries.txt          one query a line, one JSON object a line
  node command.js --kit FOLDER ...       another kit than that of this folder`;

const options = {
  help: { type: "boolean", short: "h", default: false },
  kit: { type: "string", default: fileURLToPath(new URL(".", import.meta.url)) },
  tokens: { type: "boolean", default: false },
};

try {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (values.help) {
    console.log(HELP);
    process.exit();
  }
  const kit = await QueryKit.open((name) => readFile(join(values.kit, name)));
  const show = (text) => console.log(JSON.stringify(values.tokens ? kit.tokens(text) : kit.query(text)));
  positionals.forEach(show);
  if (!positionals.length) for await (const line of lines(process.stdin)) show(line);
} catch (error) {
  console.error(`command.js: ${error.message}`);
  process.exitCode = 1;
}

/** Lines of a stream, which end with \n or \r\n; readline would also split them at other characters. */
async function* lines(stream) {
  let rest = "";
  for await (const text of stream.setEncoding("utf8")) {
    const found = (rest + text).split("\n");
    rest = found.pop();
    yield* found.map((line) => line.replace(/\r$/, ""));
  }
  if (rest) yield rest.replace(/\r$/, "");
}
