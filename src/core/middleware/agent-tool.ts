// A tool whose calls are nested runs.

import type { Agent, Tool, ToolContext } from "../types/loop-options.ts";
import type { LoopEmitter } from "../types/loop-event.ts";
import type { LoopResult } from "../types/loop-result.ts";
import { emitText, tapEvents } from "../loop/tool-call/emit-text.ts";
import type { DurableTool } from "../run/run.ts";
import type { NestedOptions } from "../run/seam.ts";
import type { ToolCallContext } from "../run/tool-context.ts";
import { isRecord } from "../utils/guards.ts";

/** Makes the durable tool of an agent: its code runs again on a resume, over the records of its nested run. */
export function toAgentTool({ agent, ...tool }: Tool & { readonly agent: Agent }): DurableTool {
  const parts = agent as unknown as AgentParts;
  const execute = (args: unknown, context: ToolCallContext): Promise<unknown> => runAgent(parts, args, context);
  return { ...tool, durable: true, execute } as unknown as DurableTool;
}

interface AgentParts {
  readonly createTap?: unknown;
  prepare(args: unknown, context: ToolContext): unknown;
  toResult(result: LoopResult): unknown;
}

async function runAgent(agent: AgentParts, args: unknown, context: ToolCallContext): Promise<unknown> {
  const prepared = await context.callback(() => agent.prepare(args, context as unknown as ToolContext));
  if (!isRecord(prepared))
    throw new TypeError("prepare() of an agent tool must return the options of the nested run, as an object.");
  // The nested run is part of this run, so it has its id and its journal.
  const { runId: _runId, journal: _journal, resume: _resume, ...options } = prepared;
  const { events, forget } = agent.createTap === undefined ? noTap : tap(context, options["events"] as LoopEmitter | undefined);
  const nested = { ...options, ...(events !== undefined && { events }) };
  const result = await context.run(nested as unknown as NestedOptions);
  forget();
  return context.callback(() => agent.toResult(result));
}

interface Tap {
  readonly events?: LoopEmitter;
  readonly forget: () => void;
}

const noTap: Tap = { forget: () => {} };

/** Passes the text of the nested run on to the stream of the user. */
function tap(context: ToolCallContext, given: LoopEmitter | undefined): Tap {
  if (given === undefined) return { events: emitText(context), forget: () => {} };
  return { forget: tapEvents(given, (part) => context.emit(part)) };
}
