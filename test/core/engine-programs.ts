// Random programs on a durable engine. Each program is killed at some of its steps, and its answers come from outside.

import { deepEqual, equal, ok } from "node:assert/strict";
import type { LoopResult } from "../../src/core/types/loop-result.ts";
import type { Message } from "../../src/core/types/message.ts";
import type { Json } from "../../src/core/types/common.ts";
import type { WorkflowPorts } from "../../src/host/durable/run-in-engine.ts";
import { recordSteps } from "../../src/core/loop/journals.ts";
import type { Journal } from "turnwright";
import type { Wait } from "../../src/core/types/middleware.ts";
import { createProgram, createRandom, type Delay, type Program, type Random } from "./random-program.ts";
import { waitsOf } from "../../src/core/loop/durability/waiting-calls.ts";

/** The error of an execution that was killed by the test. */
export class Killed extends Error {}

type Ports = Pick<WorkflowPorts, "answers" | "now" | "runId" | "signal" | "journal">;

export interface EngineProgram {
  readonly seed: number;
  /** Executes the program. Rejects with `Killed` at some of its steps, at most `kills` times. */
  execute(ports: Ports): Promise<LoopResult>;
  answer(wait: Wait): Json;
  /** Checks the messages that the engine has returned. */
  check(messages: readonly Message[]): Promise<void>;
}

const delay: Delay = () =>
  Math.random() < 0.2 ? new Promise((resolve) => void setTimeout(resolve, Math.random() * 2)) : undefined;

export function createEngineProgram(seed: number, kills: number): EngineProgram {
  const program = createProgram(seed, delay);
  const random = createRandom(seed + 1);
  let left = kills;
  let killed = 0;
  return {
    seed,
    async execute(ports) {
      // The first kill comes early, because a program may be short.
      const life = random.below(killed === 0 ? 4 : 12) + 1;
      const isLast = left === 0;
      try {
        return await program.run({
          ...ports,
          journal: isLast ? ports.journal : killAt(ports.journal, life, random),
        });
      } catch (error) {
        if (error instanceof Killed) {
          left -= 1;
          killed += 1;
        }
        throw error;
      }
    },
    answer: program.answer,
    async check(messages) {
      ok(killed > 0 || kills === 0, `program ${seed} was not killed`);
      equal(new Set(program.ran).size, program.ran.length, `program ${seed}: a tool ran twice`);
      await compareWithMemory(messages, seed);
    },
  };
}

/** Kills an execution at its n-th new step, before or after the work of the step is done. The step is not recorded. */
function killAt(journal: Journal, count: number, random: Random): Journal {
  let left = count;
  const isBefore = random.maybe(0.5);
  return {
    ...journal,
    step: (key, body) =>
      journal.step(key, async () => {
        left -= 1;
        const isNow = left === 0;
        if (isNow && isBefore) throw new Killed(`before ${key}`);
        const value = await body();
        if (isNow) throw new Killed(`after ${key}`);
        return value;
      }),
  };
}

/** Checks that a run on an engine has ended like a run in memory. A call that was cut is told as interrupted. */
export async function compareWithMemory(messages: readonly Message[], seed: number): Promise<void> {
  const expected = await inMemory(createProgram(seed), `memory-${seed}`);
  const isCut = JSON.stringify(messages).includes('"interrupted"');
  if (isCut) deepEqual(messages.map(shapeOf), expected.map(shapeOf));
  else deepEqual(JSON.parse(JSON.stringify(messages)), JSON.parse(JSON.stringify(expected)));
}

async function inMemory(program: Program, runId: string): Promise<readonly Message[]> {
  const journal = recordSteps();
  let answers: { readonly [id: string]: Json } = {};
  for (;;) {
    const { status, reason, messages } = await program.run({ journal, answers, runId });
    if (status !== "suspended") return messages;
    answers = Object.fromEntries(waitsOf({ reason }).map((wait) => [wait.id, program.answer(wait)]));
  }
}

function shapeOf(message: Message): unknown {
  if (message.role === "tool") return message.results.map(({ callId, name }) => [callId, name]);
  if (message.role === "user") return message.content;
  return message.content.map((part) => (part.type === "tool-call" ? part.callId : part.type));
}

export interface EngineDoor {
  waits(id: string): Promise<readonly (Wait & { readonly attempt: number })[]>;
  answer(id: string, wait: string, value: Json): Promise<unknown>;
}

/** Answers the waits of a workflow until it has ended. */
export async function answerUntil<T>(
  door: EngineDoor,
  id: string,
  { end, program }: { readonly end: Promise<T>; readonly program: Pick<EngineProgram, "answer"> },
): Promise<T> {
  const sent = new Set<string>();
  const over = end.then(() => true);
  // The caller gets the rejection.
  over.catch(() => {});
  const pause = (): Promise<false> => new Promise((resolve) => setTimeout(() => resolve(false), 20));
  do {
    for (const wait of await door.waits(id)) {
      const key = `${wait.id} ${wait.attempt}`;
      if (sent.has(key)) continue;
      // A wait may have been answered, or the workflow may have ended, since the waits were read.
      await door.answer(id, wait.id, program.answer(wait)).then(
        () => sent.add(key),
        () => {},
      );
    }
  } while (!(await Promise.race([over, pause()])));
  return end;
}
