// Checks what a test writes into a script, where it is written: in a run it would look like a failure of the provider.

import { checkFields, describeValue, is, isRecord } from "../core/entry-kit.ts";
import type { MockPart, MockTurn } from "./mock-parts.ts";

const kinds: { readonly [Kind in MockPart["kind"]]: true } = {
  chunks: true,
  call: true,
  wait: true,
  stall: true,
  heartbeat: true,
  fail: true,
  "end-early": true,
};

const optionChecks = { id: is.text, model: is.text, family: is.text, usage: is.flag, record: is.flag };

const makers = 'Make parts with text("..."), toolCall(name, args) and the other makers of "turnwright/testing"';

/** Throws a TypeError for a script that cannot be played, and LoopError "unknown-option" or "invalid-option" for its options. */
export function checkScript(script: unknown, options: object): void {
  checkFields("options", options, optionChecks);
  if (typeof script === "function") return;
  if (!Array.isArray(script)) {
    const got = isPart(script) ? "a lone part" : describeValue(script);
    const write = isPart(script) ? "createMockProvider([part])" : 'createMockProvider([text("Hello.")])';
    throw new TypeError(
      `createMockProvider() takes an array of turns, or a function (request, index) => turn, but got ${got}. Write ${write}.`,
    );
  }
  for (const [index, turn] of script.entries()) checkTurn(turn, index);
}

/** Throws a TypeError for a turn that is neither a part nor an array of parts. */
export function checkTurn(turn: unknown, index: number): asserts turn is MockTurn {
  const parts: readonly unknown[] = Array.isArray(turn) ? turn : [turn];
  for (const [place, part] of parts.entries()) {
    if (isPart(part)) continue;
    const where = Array.isArray(turn) ? `Part ${place} of turn ${index}` : `Turn ${index}`;
    throw new TypeError(`${where} of the mock's script ${describeMisuse(part)}.`);
  }
}

function isPart(value: unknown): boolean {
  return isRecord(value) && typeof value["kind"] === "string" && Object.hasOwn(kinds, value["kind"]);
}

function describeMisuse(part: unknown): string {
  if (typeof part === "string") return 'is a string. Write text("...") for what the model says';
  if (isRecord(part) && "role" in part) {
    return 'is a message. Write text("...") for what the model says, and toolCall(name, args) for a call';
  }
  if (isRecord(part) && typeof part["type"] === "string")
    return "is a chunk or a content part. Write chunk(...) around a chunk, or use text()";
  if (Array.isArray(part)) return "is an array inside a turn. A turn is a part, or one array of parts";
  return `is ${describeValue(part)}, but must be a part or an array of parts. ${makers}`;
}
