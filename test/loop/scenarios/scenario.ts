import {
  contextRestarts,
  createLoopControl,
  type LoopOptions,
  type LoopStatus,
  type EndReason,
  type Middleware,
  preToolText,
} from "turnwright";
import { createMockProvider, createTestClock, type MockProvider, type MockScript, text, toolCall } from "turnwright/testing";
import { createTools, type Stage } from "./stage.ts";

export interface Scenario {
  readonly title: string;
  readonly status: LoopStatus;
  readonly reason: EndReason["kind"];
  readonly script: MockScript;
  readonly options?: (stage: Stage) => Partial<LoopOptions>;
  readonly meanwhile?: (stage: Stage) => Promise<void> | void;
  readonly text: string;
  /** The text of the resumed run, if that run sends no request. */
  readonly goesOnTo?: string;
  /** True if the provider ignores its abort signal, so that its stream stays open. */
  readonly deafProvider?: true;
}

export const always =
  (name: string, args = {}): MockScript =>
  () => [text("Again. "), toolCall(name, args)];

export interface Staged {
  readonly stage: Stage;
  readonly provider: MockProvider;
  readonly options: LoopOptions;
}

export function setUp(scenario: Scenario): Staged {
  const stage: Stage = { clock: createTestClock(), control: createLoopControl(), abort: new AbortController() };
  const provider = createMockProvider(scenario.script);
  const { clock, control, abort } = stage;
  const own = scenario.options?.(stage);
  const given: readonly (Middleware | false | undefined)[] = own?.middleware ?? [];
  const isUsed = (name: string): boolean => given.some((one) => one && one.name === name);
  const options: LoopOptions = {
    provider,
    tools: createTools(stage),
    messages: [{ role: "user", content: "Go." }],
    runId: "r",
    clock,
    control,
    signal: abort.signal,
    ...own,
    // The tools of the stage need both.
    middleware: [...given, !isUsed("context-restarts") && contextRestarts(), !isUsed("pre-tool-text") && preToolText()],
  };
  return { stage, provider, options };
}
