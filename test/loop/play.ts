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
import type { ExecutableTool } from "turnwright/kit";
import type { Stage } from "./scenarios/stage.ts";

export interface Playing extends Stage {
  readonly provider: MockProvider;
  readonly recording: EventRecording;
  readonly options: LoopOptions;
  readonly result: Promise<LoopResult>;
  endedAt(): number | undefined;
}

export type More = Partial<LoopOptions> | ((stage: Stage) => Partial<LoopOptions>);

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

export function tool(
  name: string,
  execute: (args: unknown, context: ToolContext) => unknown,
  traits: Partial<Tool> = {},
): ExecutableTool {
  return defineTool({ name, description: name, inputSchema: { type: "object" }, ...traits, execute });
}

export const never: Promise<never> = new Promise(() => {});

export function answersOf({ messages }: Pick<LoopResult, "messages">): readonly ToolResultPart[] {
  return messages.flatMap((message) => (message.role === "tool" ? message.results : []));
}

export function outcomesOf(result: Pick<LoopResult, "messages">): readonly string[] {
  return answersOf(result).map(({ callId, outcome }) => `${callId}: ${outcome}`);
}
