import type { FileHandle } from "node:fs/promises";
import { expect, it } from "vitest";
import { textMatches, truncateResults } from "turnwright";
import { createDeliberateMode } from "turnwright/middleware";
import { parseJsonPath, PartialArguments } from "../../src/google/partial-arguments.ts";
import { head, readLines, toLine } from "../../src/journal/journal-lines.ts";
import { cutText, describeValue, quote } from "../../src/shared/texts.ts";
import { compileLinearRegExp } from "../../src/shared/linear-regexp.ts";
import { locateMedia, readText } from "../../src/shared/media-source.ts";
import { nearestName } from "../../src/shared/nearest-name.ts";
import { parseToolArguments } from "../../src/shared/json.ts";
import { toPlainError } from "../../src/shared/plain-error.ts";
import { redactJson } from "../../src/shared/redact-secrets.ts";
import { digest, stableJson, toJson } from "../../src/shared/json.ts";
import { toProviderError } from "../../src/shared/errors/read-sdk-error.ts";
import { readDecision } from "../../src/middleware/plan/read-decision.ts";
import { printRequest } from "../../src/testing/cassettes/request-print.ts";
import { readCassette, toHead, toLine as toCassetteLine } from "../../src/testing/cassettes/cassette.ts";
import { toOutcome } from "../../src/shared/to-outcome.ts";
import { growthOf, maxGrowth, type Prepare } from "./measure.ts";
import { onText, type Row, textOf } from "./rows.ts";

const mode = createDeliberateMode({ triggers: { t: "/(a|aa)+b/i" } });

const texts: readonly Row[] = [
  ["quote: quoting a long string", 500_000, onText("\u009b", quote)],
  ["cutText: cutting a long string", 500_000, onText("😀", (text) => cutText(text, 100))],
  ["describeValue: describing a long string", 500_000, onText("a", describeValue)],
  ["toPlainError: converting an error with a long message", 500_000, onText("-eyJ", (text) => toPlainError(new Error(text)))],
  ["toOutcome: converting an error with a long message", 500_000, onText("-eyJ", (text) => toOutcome(new Error(text)))],
  [
    "toProviderError: converting an error with a long message",
    500_000,
    onText("<title>", (text) => toProviderError(new Error(text))),
  ],
  [
    "toProviderError: converting an error message with a JSON body",
    200_000,
    onText('{"error":', (text) => toProviderError(new Error(`429 ${text}`))),
  ],
  ["redactJson: redacting a long string", 200_000, onText("://a:", (text) => redactJson({ [text]: text, list: [text] }))],
  ["parseToolArguments: parsing many spaces", 500_000, onText(" ", parseToolArguments)],
  ["parseToolArguments: parsing many brackets", 5_000, onText("[", parseToolArguments)],
  [
    "digest: hashing the stableJson of many fields",
    5_000,
    (size) => {
      const value = Object.fromEntries(Array.from({ length: size }, (_, index) => [`k${index}`, [index, "\0"]]));
      return () => digest(stableJson(value));
    },
  ],
  [
    "stableJson: writing a deeply nested value",
    90,
    (size) => {
      let value: unknown = textOf("a", 20_000 * size);
      for (let level = 0; level < size; level += 1) value = [value, level];
      return () => stableJson(value);
    },
  ],
  [
    "toJson: copying many values",
    20_000,
    (size) => {
      const value = Array.from({ length: size }, (_, index) => ({ index, text: "a" }));
      return () => toJson(value);
    },
  ],
  ["nearestName: comparing a long name", 500_000, onText("ab_", (text) => nearestName(text, ["get_time", text]))],
  [
    "nearestName: searching many names",
    2_000,
    (size) => {
      const names = Array.from({ length: size }, (_, index) => `${"abcdefghij".repeat(6)}${index}`);
      return () => nearestName("jihgfedcba".repeat(6), names);
    },
  ],
  [
    "truncateResults: truncating a long result",
    200_000,
    onText("é", (text) => truncateResults({ maxTokens: 1_000 }).processor("t", text)),
  ],
  ["textMatches: searching a long string", 200_000, onText("a", (text) => textMatches("ab")({ response: { text } } as never))],
  [
    "compileLinearRegExp: searching a long string",
    5_000,
    onText("a", (text) => {
      compileLinearRegExp("(a|aa)+[bc]")?.find(text);
    }),
  ],
  ["createDeliberateMode: matching a trigger against a long string", 50_000, onText("a", (text) => mode.forTurn({ text }))],
  [
    "locateMedia: parsing a long data URL",
    200_000,
    onText(";a=b", (text) => locateMedia({ type: "file", mediaType: "text/plain", data: `data:${text}` })),
  ],
  [
    "readText: decoding a long base64 string",
    200_000,
    (size) => {
      const media = locateMedia({ type: "file", mediaType: "text/plain", data: "QUFB".repeat(size / 4) });
      return () => ("kind" in media && media.kind !== "unreadable" ? readText(media) : undefined);
    },
  ],
  ["parseJsonPath: parsing a path with many names", 100_000, onText(".a", (text) => parseJsonPath(`$${text}`))],
  ["parseJsonPath: parsing a path with many brackets", 100_000, onText("[0]", (text) => parseJsonPath(`$${text}`))],
  [
    "readDecision: reading a plan with many commands",
    5_000,
    (size) => {
      const commands = Array.from({ length: size }, () => ({ tool_name: "t", tool_kwargs: {} }));
      return () => readDecision({ next_action: "execute", execution_commands: commands });
    },
  ],
  [
    "readLines: reading a journal with many lines",
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
      const read = async (buffer: Buffer, ...[, length, position]: readonly [number, number, number]) => {
        const bytesRead = bytes.copy(buffer, 0, position, position + length);
        return { buffer, bytesRead };
      };
      return async () => expect((await readLines({ read } as Pick<FileHandle, "read">, "x")).answers.size).toBe(size);
    },
  ],
  [
    "readCassette: reading a cassette with many recordings",
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
    "PartialArguments: joining the fragments of one string",
    5_000,
    (size) => () => {
      const args = new PartialArguments();
      for (let at = 0; at < size; at += 1) args.add({ jsonPath: "$.a", stringValue: "x", willContinue: true });
      return args.toText();
    },
  ],
  [
    "PartialArguments: joining the items of a long list",
    5_000,
    (size) => () => {
      const args = new PartialArguments();
      for (let at = 0; at < size; at += 1) args.add({ jsonPath: `$.a[${at}].b`, numberValue: at });
      return args.toText();
    },
  ],
  [
    "PartialArguments: joining many fields",
    5_000,
    (size) => () => {
      const args = new PartialArguments();
      for (let at = 0; at < size; at += 1) args.add({ jsonPath: `$.a${size - at}`, boolValue: true });
      return args.toText();
    },
  ],
];

it.for<Row>(texts)("%s takes linear time", async ([, size, prepare]) => {
  expect(await growthOf(prepare, size)).toBeLessThan(maxGrowth);
});

it("growthOf: exceeds the limit of the growth tests for a function that takes quadratic time", async () => {
  const prepare: Prepare = (size) => () => {
    const seen: number[] = [];
    for (let at = 0; at < size; at += 1) if (!seen.includes(at)) seen.push(at);
  };
  expect(await growthOf(prepare, 5_000)).toBeGreaterThan(maxGrowth);
});
