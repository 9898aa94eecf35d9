// Starts one run over scripted turns, with all that acts on it from outside at hand.

import {
  createLoopControl,
  defineTool,
  type LoopOptions,
  type LoopResult,
  runToolLoop,
  type Tool,
  type ToolContext,
  type ToolResultPart,
} from "turnwright";
import {
  createMockProvider,
  createTestClock,
  type EventRecording,
  type MockProvider,
  type MockScript,
  recordEvents,
} from "turnwright/testing";
import type { ExecutableTool } from "turnwright/parts";
import type { Stage } from "./scenarios/stage.ts";

/** A run under way. */
export interface Playing extends Stage {
  readonly provider: MockProvider;
  readonly recording: EventRecording;
  readonly options: LoopOptions;
  readonly result: Promise<LoopResult>;
  /** When the run ended, on its clock; undefined while it goes on. */
  endedAt(): number | undefined;
}

/** Options of a run, or what makes them of its stage. */
export type More = Partial<LoopOptions> | ((stage: Stage) => Partial<LoopOptions>);

/** Starts a run. `more` replaces any option. */
export function play(script: MockScript, more: More = {}): Playing {
  const stage: Stage = { clock: createTestClock(), control: createLoopControl(), abort: new AbortController() };
  const provider = createMockProvider(script);
  const recording = recordEvents();
  const { clock, control, abort } = stage;
  const given = typeof more === "function" ? more(stage) : more;
  const options: LoopOptions = {
    provider,
    messages: [{ role: "user", content: "Go." }],
    clock,
    control,
    signal: abort.signal,
    events: recording.emitter,
    ...(given.journal?.durable === false ? {} : { runId: `play-${(count += 1)}` }),
    ...given,
  };
  const result = runToolLoop(options);
  let endedAt: number | undefined;
  const end = (): void => {
    endedAt = options.clock?.now();
  };
  result.then(end, end);
  return { ...stage, provider, recording, options, result, endedAt: () => endedAt };
}

let count = 0;

/** A tool that takes any object. */
export function tool(
  name: string,
  execute: (args: unknown, context: ToolContext) => unknown,
  traits: Partial<Tool> = {},
): ExecutableTool {
  return defineTool({ name, description: name, inputSchema: { type: "object" }, ...traits, execute });
}

/** A promise that nothing settles. */
export const never: Promise<never> = new Promise(() => {});

/** Every answer in the transcript, in order. */
export function answersOf({ messages }: Pick<LoopResult, "messages">): readonly ToolResultPart[] {
  return messages.flatMap((message) => (message.role === "tool" ? message.results : []));
}

/** Returns the outcome of every call, as `id: outcome`. */
export function outcomesOf(result: Pick<LoopResult, "messages">): readonly string[] {
  return answersOf(result).map(({ callId, outcome }) => `${callId}: ${outcome}`);
}
