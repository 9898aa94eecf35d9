// Whole runs, one for each way in which a run can end.

import { createLoopControl, type LoopOptions, type LoopStatus, type EndReason } from "turnwright";
import { createMockProvider, createTestClock, type MockProvider, type MockScript, text, toolCall } from "turnwright/testing";
import { createTools, type Stage } from "./stage.ts";

/** One way in which a run ends. */
export interface Scenario {
  readonly title: string;
  readonly status: LoopStatus;
  readonly reason: EndReason["kind"];
  readonly script: MockScript;
  readonly options?: (stage: Stage) => Partial<LoopOptions>;
  /** Acts from outside while the run goes on. */
  readonly meanwhile?: (stage: Stage) => Promise<void> | void;
  /** The expected `result.text`. */
  readonly text: string;
  /** The final text of the continued run, if it makes no further model request. */
  readonly goesOnTo?: string;
  /** The provider never notices that it was left. */
  readonly deafProvider?: true;
}

/** A model that calls the same tool for ever. */
export const always =
  (name: string, args = {}): MockScript =>
  () => [text("Again. "), toolCall(name, args)];

/** A scenario ready to run. */
export interface Staged {
  readonly stage: Stage;
  readonly provider: MockProvider;
  readonly options: LoopOptions;
}

/** Sets a scenario up anew. */
export function setUp(scenario: Scenario): Staged {
  const stage: Stage = { clock: createTestClock(), control: createLoopControl(), abort: new AbortController() };
  const provider = createMockProvider(scenario.script);
  const { clock, control, abort } = stage;
  const options: LoopOptions = {
    provider,
    tools: createTools(stage),
    messages: [{ role: "user", content: "Go." }],
    runId: "r",
    clock,
    control,
    signal: abort.signal,
    ...scenario.options?.(stage),
  };
  return { stage, provider, options };
}
