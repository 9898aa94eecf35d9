// Random programs on an engine that refuses steps in a different order than the first time.

import { expect, test } from "vitest";
import { type AskedStep, inLockstep, type OrderedEngine } from "../../src/core/loop/replay/lockstep.ts";
import type { Json } from "../../src/core/types/common.ts";
import type { LoopResult } from "../../src/core/types/loop-result.ts";
import { createProgram, createRandom, type Delay } from "./random-program.ts";
import { waitsOf } from "../../src/core/loop/durability/waiting-calls.ts";

interface LoggedStep {
  readonly key: string;
  value?: unknown;
  isDone: boolean;
}

/** Steps may run at the same time, but must be submitted in the same order in each execution. */
function createEngine(log: LoggedStep[], delay: Delay): OrderedEngine {
  let place = 0;
  const run = async ({ key, body }: AskedStep): Promise<unknown> => {
    const index = place;
    place += 1;
    const known = log[index];
    if (known !== undefined && known.key !== key) throw new Error(`another order: ${known.key}, ${key}`);
    if (known?.isDone === true) return structuredClone(known.value);
    const entry = known ?? { key, isDone: false };
    log[index] = entry;
    await delay();
    entry.value = await body();
    entry.isDone = true;
    await delay();
    return structuredClone(entry.value);
  };
  return { all: (wave) => Promise.all(wave.map(run)) };
}

const delay: Delay = () =>
  Math.random() < 0.5 ? new Promise((resolve) => void setTimeout(resolve, Math.floor(Math.random() * 3))) : undefined;

const programs = Number(process.env["PROGRAMS"] ?? 10);

test.each(Array.from({ length: programs }, (_, index) => index + 1))(
  "inLockstep: program %i submits the same groups of steps in each execution",
  async (seed) => {
    const program = createProgram(seed + 50_000, delay);
    const log: LoggedStep[] = [];
    const handle = async (): Promise<{ readonly result: LoopResult; readonly waves: readonly string[] }> => {
      const waves: string[] = [];
      const journal = inLockstep(createEngine(log, delay), (keys) => waves.push(keys.join(" ")));
      const answers: { [id: string]: Json } = {};
      for (let times = 0; times < 40; times += 1) {
        const result = await program.run({ journal, answers: { ...answers } });
        if (result.status !== "suspended") return { result, waves };
        for (const wait of waitsOf(result)) answers[wait.id] = program.answer(wait);
      }
      throw new Error("The program never ends.");
    };
    const first = await handle();
    const ran = program.ran.length;
    for (let again = 0; again < 2; again += 1) {
      const next = await handle();
      expect(next.waves).toEqual(first.waves);
      expect(next.result.messages).toEqual(first.result.messages);
    }
    expect(program.ran.length, "a replay runs nothing").toBe(ran);
    expect(createRandom(seed).below(1)).toBe(0);
  },
);
