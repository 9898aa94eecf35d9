import { expect, it } from "vitest";
import { createResultCache } from "turnwright/cache";
import { runTool } from "turnwright/testing";
import { redactSecrets } from "../../src/shared/redact-secrets.ts";
import { PlanScanner, ThoughtFilter } from "../../src/middleware/plan/plan-scanner.ts";
import { growthOf, maxGrowth, timeOf } from "./measure.ts";
import { onPieces, onText, type Row } from "./rows.ts";

/** Texts that repeat one of these pieces may make a regular expression backtrack. */
const pieces = [
  "-eyJ",
  "eyJaaaaaaaaaaa.",
  "eyJaaaaaaaaaaa.aaaaaaaa.",
  "sk-",
  "sk-a",
  "ghp_",
  "://",
  "://a:",
  "://a@",
  "%3A%2F%2Fa%3A",
  "Headers.append: ",
  "password=",
  'password:"',
  "token\n",
  "<token>",
  "--token ",
  "cookie: a=",
  "authorization: digest ",
  "MIIE",
  "a.",
  "a-",
  "AKIA/",
  "\\",
  '\\"',
  "unexpected token:",
  "'token','",
  "api key ",
  "Bearer ",
  "-----BEGIN PRIVATE KEY-----",
  "x",
  "=",
  ":",
  "\n",
  " ",
  "a:",
  "a b\n",
  "bot1",
  '="',
  "=\\",
  'token:["',
  'token:["a",',
  '"key":"token",',
  '"key":"token","value":"',
  '"value":"aaaa',
  "'value':'aaaa','",
  "token is ",
  "a a is ",
  "curl -ua",
  "pa-1aB",
  "AQ.",
  "ABSK",
  "bedrock-api-key-",
];

const redaction: readonly Row[] = pieces.map((piece) => [
  `redactSecrets: redacting a text of repeated ${JSON.stringify(piece)}`,
  20_000,
  onText(piece, redactSecrets),
]);

async function keepAndFind(text: string): Promise<void> {
  const cache = createResultCache();
  const kept = await cache.cacher.store(text, { toolName: "t" });
  const id = /id "([^"]+)"/.exec(kept)?.[1] ?? "";
  for (const request of [{ action: "read" }, { action: "tail" }, { action: "stats" }, { action: "grep", pattern: "(b|c)+d" }]) {
    await runTool(cache.tool, { ...request, id });
  }
}

const cached: readonly Row[] = ["A", ",", "\n", " ", "\r", "😀", "AAAA,"].map((piece) => [
  `createResultCache: storing and searching a text of repeated ${JSON.stringify(piece)}`,
  100_000,
  onText(piece, keepAndFind),
]);

function scan(texts: readonly string[]): void {
  const filter = new ThoughtFilter();
  const scanner = new PlanScanner();
  for (const text of texts) {
    scanner.push(filter.take(text));
    if (scanner.isLeading && scanner.isResponse) return;
  }
  void scanner.problem;
}

const plans: readonly Row[] = [
  " ",
  "\n",
  "{",
  "}",
  "{}",
  '"',
  '{"',
  "[",
  ",",
  '{"a":1}',
  "<think>",
  "<",
  "</think",
  "\\",
  '{"next_action":',
  "`",
].map((piece) => [`PlanScanner: scanning a text of repeated ${JSON.stringify(piece)}`, 10_000, onPieces(piece, scan)]);

it.for<Row>([...redaction, ...cached, ...plans])("%s takes linear time", async ([, size, prepare]) => {
  expect(await growthOf(prepare, size)).toBeLessThan(maxGrowth);
});

it("PlanScanner: formats only the last of many problems", async () => {
  const best = { meant: Number.POSITIVE_INFINITY, other: Number.POSITIVE_INFINITY };
  for (let round = 0; round < 5 && best.meant >= 2 * best.other; round++) {
    best.other = Math.min(best.other, await timeOf(() => scan(["{tool_use}".repeat(20_000)])));
    best.meant = Math.min(best.meant, await timeOf(() => scan(["{use_tool}".repeat(20_000)])));
  }
  expect(best.meant).toBeLessThan(2 * best.other);
});
