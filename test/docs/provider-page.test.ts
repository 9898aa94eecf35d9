// The page on providers is complete: every field of a request, every chunk with its fields, every finish reason.

import { expect, it } from "vitest";
import type { FinishReason, ModelChunk, ModelRequest } from "turnwright";
import { readNames, readPage, readRows, readSection } from "./read-page.ts";

type Fields<Type extends ModelChunk["type"]> = Record<Exclude<keyof Extract<ModelChunk, { type: Type }>, "type">, true>;

/** What each chunk carries. A field without a line does not compile, nor does one that is not there. */
const chunks: { readonly [Type in ModelChunk["type"]]: Fields<Type> } = {
  "text-delta": { text: true },
  "reasoning-delta": { text: true },
  "refusal-delta": { text: true },
  "call-start": { key: true, id: true, name: true },
  "call-args-delta": { key: true, text: true },
  "call-ready": { key: true, id: true, name: true, args: true, argsText: true, problem: true },
  usage: { usage: true, mode: true },
  native: { item: true },
  details: { text: true },
  "thought-log": { payload: true },
  "attempt-start": { attempt: true, provider: true, model: true, family: true },
  "attempt-discarded": { attempt: true, error: true },
  finish: { reason: true, raw: true, token: true },
  error: { error: true },
};

const requestFields = {
  messages: true,
  system: true,
  tools: true,
  toolChoice: true,
  settings: true,
  iteration: true,
  continuationToken: true,
} satisfies Record<keyof ModelRequest, true>;

const finishReasons = {
  stop: true,
  "tool-calls": true,
  length: true,
  "context-full": true,
  refusal: true,
  "content-filter": true,
  "malformed-call": true,
  paused: true,
  continue: true,
  error: true,
  unknown: true,
} satisfies Record<FinishReason, true>;

const page = readPage("docs/guides/writing-a-provider.md");
const firstNames = (section: string): readonly string[] =>
  readRows(readSection(page, section)).map(([cell = ""]) => readNames(cell)[0] ?? "");

it("lists every chunk once, with its fields", () => {
  const listed = readRows(readSection(page, "The chunks")).map(([type = "", fields = ""]) => [
    readNames(type)[0],
    readNames(fields),
  ]);
  expect(listed).toEqual(Object.entries(chunks).map(([type, fields]) => [type, Object.keys(fields)]));
});

it("lists every field of a request once", () => {
  expect(firstNames("The request")).toEqual(Object.keys(requestFields));
});

it("lists every finish reason once", () => {
  expect(firstNames("Finish reasons").toSorted()).toEqual(Object.keys(finishReasons).toSorted());
});
