// Cloudflare Workers forbid timers, requests and random values while a module loads.

import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { entries } from "../../scripts/entries.ts";

/** DBOS needs a process that stays alive. */
const loaded = entries.filter(({ name }) => name !== "dbos");

const program = `
  import crypto from "node:crypto";
  import timers from "node:timers";
  import { syncBuiltinESMExports } from "node:module";
  const refuse = (object, names) => {
    for (const name of names) object[name] = () => { throw new Error(name + " is called while the module loads"); };
  };
  refuse(crypto, ["randomUUID", "randomBytes", "randomInt"]);
  refuse(timers, ["setTimeout", "setInterval", "setImmediate"]);
  syncBuiltinESMExports();
  refuse(globalThis.crypto, ["randomUUID", "getRandomValues"]);
  refuse(Math, ["random"]);
  refuse(globalThis, ["fetch", "setTimeout", "setInterval", "setImmediate"]);
  const problems = [];
  for (const url of JSON.parse(process.argv[1])) await import(url).catch((error) => problems.push(url + ": " + error.message));
  console.log(JSON.stringify(problems));
`;

it("no entry uses timers, requests or random values while it loads", () => {
  const urls = loaded.map(({ name }) => pathToFileURL(resolve(`dist/${name}.js`)).href);
  const args = ["--input-type=module", "--eval", program, JSON.stringify(urls)];
  expect(JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }))).toEqual([]);
});
