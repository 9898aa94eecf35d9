// Random programs, replayed from every prefix of their journals.

import { expect, test } from "vitest";
import type { Journal } from "turnwright";
import type { Message } from "../../src/core/types/message.ts";
import { recordSteps } from "../../src/core/loop/journals.ts";
import { createProgram, createRandom, type Delay } from "./random-program.ts";

const programs = Number(process.env["PROGRAMS"] ?? 8);
/** A long journal is cut at this many places, evenly. Set PREFIXES=Infinity to cut it after each record. */
const maxPrefixes = Number(process.env["PREFIXES"] ?? 25);
const firstSeed = Number(process.env["SEED"] ?? 1);

/** A journal that outlives the process: a call that was cut is told. */
function durable(records: Map<string, unknown>): Journal {
  return { ...recordSteps(records), durable: true };
}

function prefixOf(records: ReadonlyMap<string, unknown>, length: number): Journal {
  const kept = [...records].slice(0, length).map(([key, value]) => [key, structuredClone(value)] as const);
  return durable(new Map(kept));
}

/** The calls that began and have no outcome. */
function cutCalls(keys: readonly string[]): readonly string[] {
  return keys.filter((key) => key.endsWith("/begun") && !keys.includes(key.replace(/begun$/, "outcome")));
}

function shapeOf(message: Message): unknown {
  if (message.role === "tool") return message.results.map(({ callId, name }) => [callId, name]);
  if (message.role === "user") return message.content;
  return message.content.map((part) => (part.type === "tool-call" ? part.callId : part.type));
}

const randomDelay: Delay = () =>
  Math.random() < 0.3 ? new Promise((resolve) => void setTimeout(resolve, Math.random() * 2)) : undefined;

async function replayAll(seed: number, delay?: Delay): Promise<void> {
  const program = createProgram(seed, delay);
  const records = new Map<string, unknown>();
  const whole = await program.finish(durable(records), createRandom(seed + 1));
  const keys = [...records.keys()];
  expect(new Set(program.ran).size, "a plain tool ran twice").toBe(program.ran.length);
  const stride = Math.max(1, Math.ceil(keys.length / maxPrefixes));
  for (let length = keys.length; length >= 0; length -= stride) {
    const kept = keys.slice(0, length);
    const cut = cutCalls(kept);
    const done = new Set(kept.filter((key) => key.endsWith("/outcome")));
    program.ran.length = 0;
    const later = prefixOf(records, length);
    const result = await program.finish(later, createRandom(seed + length));
    for (const key of program.ran) expect(done.has(`${key.slice(2)}/outcome`), `${key} ran again`).toBe(false);
    for (const key of cut) expect(program.ran, "what may have run ran again").not.toContain(`r/${key.replace(/\/begun$/, "")}`);
    if (cut.length === 0) {
      expect(result.messages).toEqual(whole.messages);
      expect(result.usage).toEqual(whole.usage);
      expect(result.toolCallsExecuted).toBe(whole.toolCallsExecuted);
    } else expect(result.messages.map(shapeOf)).toEqual(whole.messages.map(shapeOf));
  }
}

const seeds = Array.from({ length: programs }, (_, index) => firstSeed + index);

test.each(seeds)(
  "program %i, resumed from any prefix of its journal, ends with the same messages and repeats nothing that had finished",
  (seed) => replayAll(seed),
);

test.each(seeds.slice(0, programs / 4))(
  "program %i with steps of random durations, resumed from any prefix of its journal, ends with the same messages",
  (seed) => replayAll(seed + 10_000, randomDelay),
);
