// Functions that read text of models, tools and servers, on texts that would take quadratic time if anything could.

import type { FileHandle } from "node:fs/promises";
import { expect, it } from "vitest";
import { createDeliberateMode, createResultCache, textMatches, truncateResults } from "turnwright";
import { fromJsonSchema, withValidation } from "turnwright/json-schema";
import { runTool } from "turnwright/testing";
import { parseJsonPath } from "../../src/adapters/google/json-path.ts";
import { createPartialArguments } from "../../src/adapters/google/partial-arguments.ts";
import { checkAnswer } from "../../src/adapters/mcp/check-answer.ts";
import { toToolResult } from "../../src/adapters/mcp/call-result.ts";
import { toToolNames } from "../../src/adapters/mcp/tool-names.ts";
import { head, readLines, toLine } from "../../src/journal/file/journal-lines.ts";
import { cutText } from "../../src/kit/cut-text.ts";
import { describeValue, quote } from "../../src/kit/describe-value.ts";
import { compileLinearRegExp } from "../../src/kit/linear-regexp/linear-regexp.ts";
import { locateMedia, readText } from "../../src/kit/media-source.ts";
import { nearestName } from "../../src/kit/nearest-name.ts";
import { parseToolArguments } from "../../src/kit/parse-arguments.ts";
import { toPlainError } from "../../src/kit/plain-error.ts";
import { redactJson } from "../../src/kit/redact-json.ts";
import { redactSecrets } from "../../src/kit/redact-secrets.ts";
import { digest, stableJson } from "../../src/kit/stable-json.ts";
import { toJson } from "../../src/kit/to-json.ts";
import { toProviderError } from "../../src/errors/provider-error.ts";
import { PlanScanner } from "../../src/plan/plan-scanner.ts";
import { readDecision } from "../../src/plan/read-decision.ts";
import { ThoughtFilter } from "../../src/plan/thought-filter.ts";
import { printRequest } from "../../src/testing/cassettes/request-print.ts";
import { readCassette, toHead, toLine as toCassetteLine } from "../../src/testing/cassettes/cassette-lines.ts";
import { toOutcome } from "../../src/tools/to-outcome.ts";
import { toContentResult } from "../../src/toolsets/content-parts.ts";
import { growthOf, mostGrowth, type Prepare } from "./measure.ts";

let made = 0;

/** A text of so many units, never the same twice. */
function textOf(piece: string, size: number): string {
  made += 1;
  return piece.repeat(Math.ceil(size / piece.length)).slice(0, size) + made;
}

/** So many pieces, one after the other. */
function piecesOf(piece: string, size: number): readonly string[] {
  return Array.from({ length: size }, (_, index) => piece + (index % 7 === 0 ? "" : piece));
}

const onText =
  (piece: string, work: (text: string) => unknown): Prepare =>
  (size) => {
    const text = textOf(piece, size);
    return () => work(text);
  };

const onPieces =
  (piece: string, work: (pieces: readonly string[]) => unknown): Prepare =>
  (size) => {
    const pieces = piecesOf(piece, size);
    return () => work(pieces);
  };

type Row = readonly [what: string, size: number, prepare: Prepare];

/** Texts that make expressions begin again and again. */
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
];

const redaction: readonly Row[] = pieces.map((piece) => [
  `redactSecrets on ${JSON.stringify(piece)}`,
  50_000,
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
  `the result cache on ${JSON.stringify(piece)}`,
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
].map((piece) => [`the planner's scanner on ${JSON.stringify(piece)}`, 10_000, onPieces(piece, scan)]);

const schema = fromJsonSchema({
  items: { pattern: "^(a+)+$" },
  patternProperties: { "^(a|a)*$": { type: "string" } },
  pattern: "^(a+)+$",
});
const ofFormat = (format: string) => fromJsonSchema({ format });
const formats = [
  "date",
  "time",
  "date-time",
  "duration",
  "uri",
  "uri-reference",
  "uri-template",
  "url",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "regex",
  "uuid",
  "json-pointer",
  "json-pointer-uri-fragment",
  "relative-json-pointer",
];
const probes = ["a", "/", "a.", "%41", "{a}", '"', "1", "t", "a@", "~0", "//", "(", "a:"];

const schemas: readonly Row[] = [
  ["a pattern of a schema", 20_000, onText("a", (text) => schema["~standard"].validate(`${text}!`))],
  [
    "a pattern of a schema, for items",
    20_000,
    (size) => {
      const items = Array.from({ length: 100 }, () => `${textOf("a", size / 100)}!`);
      return () => schema["~standard"].validate(items);
    },
  ],
  [
    "patterns of properties",
    1_000,
    (size) => {
      const value = Object.fromEntries(Array.from({ length: size }, (_, index) => [`a${index}`, 1]));
      return () => schema["~standard"].validate(value);
    },
  ],
  [
    "withValidation",
    20_000,
    onText("a", (text) =>
      withValidation([
        {
          name: "t",
          description: "",
          inputSchema: { type: "object", properties: { x: { type: "string", pattern: "^(a+)+$" } } },
          execute: () => 1,
        },
      ]).validate?.("t", { x: `${text}!` }),
    ),
  ],
  ...formats.flatMap((format) =>
    probes.map((probe): Row => [
      `the format ${format} on ${JSON.stringify(probe)}`,
      20_000,
      onText(probe, (text) => ofFormat(format)["~standard"].validate(text)),
    ]),
  ),
];

const mode = createDeliberateMode({ triggers: { t: "/(a|aa)+b/i" } });

const mcp: readonly Row[] = [
  [
    "names of a server's tools",
    2_000,
    (size) => {
      const names = Array.from({ length: size }, (_, index) => `a.${"./:!"[index % 4]}${"x".repeat(60)}${index}`);
      return () => toToolNames(names, "p_");
    },
  ],
  [
    "a server's answer in many texts",
    5_000,
    (size) => {
      const content = Array.from({ length: size }, (_, index) => ({ type: "text", text: `{"a":${index}}` }));
      return () => toToolResult({ content, structuredContent: { a: 1 } });
    },
  ],
  [
    "a server's answer of one text",
    200_000,
    onText('"', (text) => toToolResult({ content: [{ type: "text", text }], structuredContent: { text } })),
  ],
  [
    "a server's error",
    200_000,
    onText("-eyJ", (text) => toOutcome(toToolResult({ isError: true, content: [{ type: "text", text }] }))),
  ],
  [
    "a server's answer against its schema",
    20_000,
    onText("a", (text) => {
      const outputSchema = { type: "object", properties: { x: { type: "string", pattern: "^(a+)+$" } } };
      expect(() => checkAnswer({ name: "t", inputSchema: {}, outputSchema }, { structuredContent: { x: `${text}!` } })).toThrow(
        "does not match",
      );
    }),
  ],
  [
    "blocks of an imported tool",
    5_000,
    (size) => {
      const blocks = Array.from({ length: size }, () => ({ type: "text", text: "a" }));
      return () => toContentResult(blocks);
    },
  ],
];

const texts: readonly Row[] = [
  ["quote", 500_000, onText("\u009b", quote)],
  ["cutText", 500_000, onText("😀", (text) => cutText(text, 100))],
  ["describeValue", 500_000, onText("a", describeValue)],
  ["toPlainError", 500_000, onText("-eyJ", (text) => toPlainError(new Error(text)))],
  ["a failed tool", 500_000, onText("-eyJ", (text) => toOutcome(new Error(text)))],
  ["toProviderError", 500_000, onText("<title>", (text) => toProviderError(new Error(text)))],
  ["toProviderError of a body", 200_000, onText('{"error":', (text) => toProviderError(new Error(`429 ${text}`)))],
  ["redactJson", 500_000, onText("://a:", (text) => redactJson({ [text]: text, list: [text] }))],
  ["parseToolArguments of blanks", 500_000, onText(" ", parseToolArguments)],
  ["parseToolArguments of brackets", 50_000, onText("[", parseToolArguments)],
  [
    "stableJson and digest",
    20_000,
    (size) => {
      const value = Object.fromEntries(Array.from({ length: size }, (_, index) => [`k${index}`, [index, "\0"]]));
      return () => digest(stableJson(value));
    },
  ],
  [
    "toJson",
    20_000,
    (size) => {
      const value = Array.from({ length: size }, (_, index) => ({ index, text: "a" }));
      return () => toJson(value);
    },
  ],
  ["nearestName of a long name", 500_000, onText("ab_", (text) => nearestName(text, ["get_time", text]))],
  [
    "nearestName among many",
    2_000,
    (size) => {
      const names = Array.from({ length: size }, (_, index) => `${"abcdefghij".repeat(6)}${index}`);
      return () => nearestName(`${"jihgfedcba".repeat(6)}`, names);
    },
  ],
  ["truncateResults", 200_000, onText("é", (text) => truncateResults({ maxTokens: 1_000 })("t", text))],
  ["textMatches", 200_000, onText("a", (text) => textMatches("ab")({ response: { text } } as never))],
  [
    "a linear expression",
    5_000,
    onText("a", (text) => {
      const compiled = compileLinearRegExp("(a*)*(a|aa)*b", "u");
      if (compiled.kind === "compiled") compiled.regExp.find(text);
    }),
  ],
  ["a trigger of deliberate mode", 50_000, onText("a", (text) => mode.forTurn({ text }))],
  [
    "locateMedia of a data URL",
    200_000,
    onText(";a=b", (text) => locateMedia({ type: "file", mediaType: "text/plain", data: `data:${text}` })),
  ],
  [
    "readText of base64",
    200_000,
    (size) => {
      const media = locateMedia({ type: "file", mediaType: "text/plain", data: "QUFB".repeat(size / 4) });
      return () => ("kind" in media && media.kind !== "unreadable" ? readText(media as never) : undefined);
    },
  ],
  ["parseJsonPath of names", 100_000, onText(".a", (text) => parseJsonPath(`$${text}`))],
  ["parseJsonPath of brackets", 100_000, onText("[0]", (text) => parseJsonPath(`$${text}`))],
  [
    "readDecision",
    5_000,
    (size) => {
      const commands = Array.from({ length: size }, () => ({ tool_name: "t", tool_kwargs: {} }));
      return () => readDecision({ next_action: "execute", execution_commands: commands });
    },
  ],
  [
    "lines of a journal",
    2_000,
    (size) => {
      let before = "";
      let text = head;
      for (let index = 0; index < size; index += 1) {
        const line = toLine(JSON.stringify({ key: `i${index}/model`, kind: "model", answer: index }), before);
        before = line.sum;
        text += line.text;
      }
      const bytes = Buffer.from(text);
      const read = async (buffer: Buffer, offset: number, length: number, position: number) => {
        const bytesRead = bytes.copy(buffer, offset, position, position + length);
        return { buffer, bytesRead };
      };
      return async () => expect((await readLines({ read } as Pick<FileHandle, "read">, "x")).answers.size).toBe(size);
    },
  ],
  [
    "lines of a cassette",
    2_000,
    (size) => {
      const request = printRequest({ messages: [{ role: "user", content: "q" }], tools: [], iteration: 0 });
      const text = [toHead({ id: "p", model: "m" })];
      for (let stream = 0; stream < size; stream += 1)
        text.push(toCassetteLine({ type: "request", stream, request }), toCassetteLine({ type: "ended", stream, atMs: 0 }));
      const written = text.join("");
      return () => expect(readCassette(written, "x").recordings).toHaveLength(size);
    },
  ],
  [
    "partial arguments of one text",
    5_000,
    (size) => () => {
      const args = createPartialArguments();
      for (let at = 0; at < size; at += 1) args.add({ jsonPath: "$.a", stringValue: "x", willContinue: true });
      return args.toText();
    },
  ],
  [
    "partial arguments of a list",
    5_000,
    (size) => () => {
      const args = createPartialArguments();
      for (let at = 0; at < size; at += 1) args.add({ jsonPath: `$.a[${at}].b`, numberValue: at });
      return args.toText() + args.end();
    },
  ],
  [
    "partial arguments of many fields",
    5_000,
    (size) => () => {
      const args = createPartialArguments();
      for (let at = 0; at < size; at += 1) args.add({ jsonPath: `$.a${size - at}`, boolValue: true });
      return args.toText() + args.end();
    },
  ],
];

it.for<Row>([...texts, ...redaction, ...cached, ...plans, ...schemas, ...mcp])(
  "%s takes time in proportion to its input",
  async ([, size, prepare]) => {
    expect(await growthOf(prepare, size)).toBeLessThan(mostGrowth);
  },
);

it("sees quadratic time", async () => {
  const prepare: Prepare = (size) => () => {
    let text = "";
    for (let at = 0; at < size; at += 1) text = ` ${text}`.trimStart() + " ".repeat(1 + at).trimEnd();
  };
  expect(await growthOf(prepare, 1_000)).toBeGreaterThan(mostGrowth);
});
