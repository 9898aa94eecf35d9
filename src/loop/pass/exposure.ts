// Which tools the model is shown: what the registry has now, less what restarts have hidden, less what a hook left out.

import type { ToolDefinition } from "../../contract/tool.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { checkDefinitions } from "../options/check-definitions.ts";
import type { Exposure, Run } from "../run/run.ts";

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
    // Hooks and providers are shown it.
    tools: Object.freeze(tools),
    byName: new Map(tools.map((tool) => [tool.name, tool])),
    hasEager: tools.some(({ eager }) => eager === true),
    hasApproval: tools.some(({ needsApproval = false }) => needsApproval !== false),
    ...made,
  };
}
