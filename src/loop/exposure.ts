// Which tools the model is shown: what the registry has now, less what restarts have hidden, less what a hook left out.

import type { ToolDefinition } from "../contract/tool.ts";
import { LoopError } from "../errors/loop-error.ts";
import { describeValue } from "../kit/describe-value.ts";
import { findTimeoutProblem } from "../kit/number-rule.ts";
import type { Exposure, Run } from "./run.ts";

/** The tools of the coming pass; made anew only where something has changed. */
export function expose(run: Run, names?: readonly string[]): Exposure {
  const { hiddenTools } = run.state;
  const source = run.registry.definitions();
  if (names === undefined && run.exposure.source === source && run.exposure.hiddenCount === hiddenTools.size) return run.exposure;
  if (run.exposure.source !== source) checkDefinitions(source);
  const shown = names === undefined ? undefined : new Set(names);
  const tools = source.filter(({ name }) => !hiddenTools.has(name) && (shown === undefined || shown.has(name)));
  // One that a hook has narrowed is for its pass only.
  run.exposure = toExposure(tools, { source: shown === undefined ? source : [], hiddenCount: hiddenTools.size });
  return run.exposure;
}

/** The tools that a replayed pass was shown. Throws LoopError "tools-changed" where one is gone: its calls would be judged otherwise. */
export function exposeNames(run: Run, names: readonly string[]): Exposure {
  const shown = new Set(names);
  const tools = run.registry.definitions().filter(({ name }) => shown.has(name));
  if (tools.length < shown.size) {
    const found = new Set(tools.map(({ name }) => name));
    throw new LoopError("tools-changed", { changed: [...shown].filter((name) => !found.has(name)) });
  }
  return toExposure(tools, { source: [], hiddenCount: -1 });
}

function toExposure(tools: readonly ToolDefinition[], made: Pick<Exposure, "source" | "hiddenCount">): Exposure {
  return {
    tools,
    byName: new Map(tools.map((tool) => [tool.name, tool])),
    hasEager: tools.some(({ eager }) => eager === true),
    ...made,
  };
}

/** A registry of the caller's own may hold two tools of one name, of which only one could be called, or limits that no timer takes. */
export function checkDefinitions(definitions: readonly ToolDefinition[]): void {
  const seen = new Set<string>();
  for (const { name, timeoutMs, idleTimeoutMs } of definitions) {
    if (seen.has(name)) throw new LoopError("duplicate-tool", { toolName: name });
    seen.add(name);
    checkToolTimeout(name, "timeoutMs", timeoutMs);
    checkToolTimeout(name, "idleTimeoutMs", idleTimeoutMs);
  }
}

function checkToolTimeout(toolName: string, trait: string, value: unknown): void {
  const problem = value === undefined ? undefined : findTimeoutProblem(value);
  if (problem === undefined) return;
  throw new LoopError("invalid-tool", {
    toolName,
    problem: `must have as "${trait}" ${problem}, but has ${describeValue(value)}`,
  });
}
