import { expect } from "vitest";
import type { LoopOptions, LoopResult } from "turnwright";
import { tracing } from "turnwright/observe";
import type { TracingOptions } from "../../src/observe/tracing/tracing-options.ts";
import { createMockProvider, type MockScript } from "turnwright/testing";
import { play, type Playing } from "../loop/play.ts";
import { setUpTracing, type TracingStage } from "./stage.ts";
import { addWatchers } from "../add-watchers.ts";

export const question: LoopOptions["messages"] = [{ role: "user", content: "Well?" }];

export interface Scene {
  readonly stage: TracingStage;
  readonly playing: Playing;
}

export function trace(script: MockScript, more: Partial<LoopOptions> = {}, how: TracingOptions = {}): Scene {
  const stage = setUpTracing({ agentName: "bot", ...how });
  const playing = play(script, ({ clock, control, abort }) => {
    const provider = createMockProvider(script);
    const options = { provider, messages: question, clock, control, signal: abort.signal, ...more };
    return addWatchers(options, tracing(stage.options));
  });
  return { stage, playing };
}

export async function settle({ stage, playing }: Scene): Promise<LoopResult> {
  await playing.clock.runAll();
  const result = await playing.result;
  expect(stage.spans(), "each span has ended").toHaveLength(stage.started());
  return result;
}

export const endings: readonly string[] = [
  "turnwright.run.status",
  "turnwright.run.reason",
  "turnwright.iteration.status",
  "turnwright.tool.outcome",
];

export async function treeOf(scene: Scene, attributes: readonly string[] = endings): Promise<string> {
  await settle(scene);
  return `\n${scene.stage.tree(attributes)}\n`;
}
