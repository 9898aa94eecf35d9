import { deferTools, type LoopOptions, type LoopResult, type Tool } from "turnwright";
import { type MockMessage, type MockScript, toolCall } from "turnwright/testing";
import { withToolSearch } from "turnwright/middleware";
import { answersOf, play, tool } from "../loop/play.ts";
import { deferredTool, toolNames } from "./catalog.ts";

export const clock: Tool = tool("clock", () => "noon");
export const pair: readonly Tool[] = [clock, deferredTool("alpha"), deferredTool("beta")];

export function find(query: string): MockMessage {
  return toolCall("find_tools", { query }, { id: "find" });
}

export interface Ended {
  readonly result: LoopResult;
  readonly outcomes: readonly string[];
  readonly lists: readonly (readonly string[])[];
}

export async function run(script: MockScript, more: Partial<LoopOptions> = {}): Promise<Ended> {
  const { middleware = [], ...others } = more;
  const { provider, result } = play(script, {
    tools: withToolSearch(pair),
    ...others,
    middleware: [...middleware, deferTools()],
  });
  const ended = await result;
  const outcomes = answersOf(ended).map(({ name, outcome }) => `${name}: ${outcome}`);
  return { result: ended, outcomes, lists: provider.requests.map(toolNames) };
}
