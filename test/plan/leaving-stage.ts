import type { LoopOptions, LoopResult, ModelChunk, ModelRequest, Provider } from "turnwright";
import { withPlanner } from "turnwright/middleware";
import type { PlannerOptions } from "../../src/middleware/plan/with-planner.ts";
import { createMockProvider, type MockMessage, text } from "turnwright/testing";
import { expect } from "vitest";
import { countListeners } from "../loop/count-listeners.ts";
import { never, play, type Playing } from "../loop/play.ts";
import type { Stage } from "../loop/scenarios/stage.ts";
import { add, asksForPlan, look, respond } from "./plan-stage.ts";

/** Plays the messages in order. After the last message, every plan asks for an answer, and the answer is "More." */
export const playOn =
  (turns: readonly MockMessage[]) =>
  (request: ModelRequest, index: number): MockMessage =>
    turns[index] ?? (asksForPlan(request) ? respond : text("More."));

export interface Leaving {
  readonly turns: readonly MockMessage[];
  readonly options?: (stage: Stage) => Partial<LoopOptions>;
  readonly planning?: PlannerOptions;
  act(playing: Playing): unknown;
}

export interface Left {
  readonly playing: Playing;
  readonly result: LoopResult;
  readonly requests: number;
}

export async function leave({ turns, options, planning, act }: Leaving): Promise<Left> {
  const listeners = countListeners();
  try {
    const model = createMockProvider(playOn(turns));
    const playing = playOver(model, options, planning);
    await playing.clock.advance(50);
    act(playing);
    await playing.clock.runAll();
    const result = await playing.result;
    await playing.clock.flush();
    expect([playing.clock.pending, model.active, listeners.on(playing.abort.signal)]).toEqual([0, 0, 0]);
    return { playing, result, requests: model.calls };
  } finally {
    listeners.stop();
  }
}

export interface DeafModel extends Provider {
  readonly left: number;
  readonly calls: number;
}

/** Streams the chunks of each message. If the chunks have no finish, the stream stays open and ignores the abort signal. */
export function createDeafModel(turns: readonly (readonly ModelChunk[])[], onLeft: () => unknown = () => never): DeafModel {
  let left = 0;
  let calls = 0;
  return {
    id: "deaf",
    model: "deaf",
    get left() {
      return left;
    },
    get calls() {
      return calls;
    },
    stream() {
      const chunks = [...(turns[calls] ?? [])];
      calls += 1;
      let isOver = false;
      const next = (): Promise<IteratorResult<ModelChunk>> => {
        const value = chunks.shift();
        if (value !== undefined) {
          isOver = value.type === "finish";
          return Promise.resolve({ done: false, value });
        }
        return isOver ? Promise.resolve({ done: true, value }) : never;
      };
      const iterator = {
        next,
        return: () => {
          left += 1;
          return onLeft() as Promise<IteratorResult<ModelChunk>>;
        },
      };
      return { [Symbol.asyncIterator]: () => iterator };
    },
  };
}

export function playOver(
  provider: Provider,
  more: (stage: Stage) => Partial<LoopOptions> = () => ({}),
  planning: PlannerOptions = {},
): Playing {
  return play([], (stage) => ({ provider: withPlanner(provider, planning), tools: [add, look], ...more(stage) }));
}
