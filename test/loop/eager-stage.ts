import { expect } from "vitest";
import {
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  type SavedJournal,
  type ModelChunk,
  type Tool,
  eagerTools,
} from "turnwright";
import { chunk, createMockProvider, type MockPart, type MockMessage, type TestClock } from "turnwright/testing";
import { play, type Playing, tool } from "./play.ts";

export const said = (...chunks: readonly ModelChunk[]): readonly MockPart[] => chunks.map((one) => chunk(one));

export interface Stage {
  readonly ran: string[];
  readonly start: (script: readonly MockMessage[], more?: Partial<LoopOptions>) => Playing;
}

export function setUp(): Stage {
  const ran: string[] = [];
  const work = (clock: TestClock, name: string, traits: Partial<Tool>): Tool => {
    const execute = async (args: unknown, { idempotencyKey }: { idempotencyKey: string }): Promise<unknown> => {
      ran.push(`${idempotencyKey.replace(/^.*?\//, "")} ${JSON.stringify(args)}`);
      await new Promise((resolve) => void clock.setTimeout(() => resolve(0), 10));
      return args;
    };
    return tool(name, execute, traits);
  };
  const start: Stage["start"] = (script, more = {}) =>
    play(script, ({ clock }) => ({
      tools: [work(clock, "look", { eager: true }), work(clock, "act", {})],
      ...more,
      middleware: [eagerTools(), ...(more.middleware ?? [])],
    }));
  return { ran, start };
}

export async function finished(playing: Playing): Promise<LoopResult> {
  await playing.clock.advance(1_000);
  const result = await playing.result;
  expect([playing.clock.pending, playing.provider.active]).toEqual([0, 0]);
  return result;
}

export async function replayed({ options }: Playing, result: LoopResult): Promise<Playing> {
  const journal = memoryJournal(JSON.parse(JSON.stringify(result.journal)) as SavedJournal);
  const again = play([], { ...options, provider: createMockProvider([]), journal, events: undefined });
  const { messages, functionHistory, toolCallsExecuted, reason } = await again.result;
  expect([messages, functionHistory, toolCallsExecuted, reason]).toEqual([
    result.messages,
    result.functionHistory,
    result.toolCallsExecuted,
    result.reason,
  ]);
  return again;
}
