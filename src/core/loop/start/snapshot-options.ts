// Copies the options, so that nobody can change them in mid-run.

import type { LoopOptions, ToolRegistry } from "../../types/loop-options.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import { invalidOption } from "../../errors/check-fields.ts";
import { dropPromise } from "../../utils/promises.ts";
import { isRecord } from "../../utils/guards.ts";
import { findAgent } from "../../tools/registry.ts";
import type { DeliberateGate, LoopPolicies, RestartPolicy } from "../../types/policies.ts";
import type { Provider } from "../../types/provider.ts";
import type { Session } from "../../types/common.ts";
import { freezeDeep, toJson } from "../../utils/json.ts";

/** A registry that gives tools and agents only. `definitions` throws LoopError "invalid-option" for anything else. */
export function readRegistry(registry: ToolRegistry): ToolRegistry {
  let checked: unknown;
  const definitions = (): readonly ToolDefinition[] => {
    const given: unknown = registry.definitions();
    // The same array means that nothing has changed.
    if ((checked === undefined || given !== checked) && !isTools(given)) {
      dropPromise(given);
      throw invalidOption("tools.definitions()", "an array of tools, and no promise", given);
    }
    checked = given;
    return given as readonly ToolDefinition[];
  };
  return {
    definitions,
    executeTool: (name, args, context) => registry.executeTool(name, args, context),
    ...(registry.validate === undefined ? {} : { validate: registry.validate.bind(registry) }),
    ...(registry.agentOf === undefined ? {} : { agentOf: (name) => findAgent(registry, name) }),
  };
}

function isTools(value: unknown): boolean {
  try {
    return Array.isArray(value) && value.every((tool) => isRecord(tool) && typeof tool["name"] === "string");
  } catch {
    return false;
  }
}

/** The options at their top level, before they are checked: each is read once. */
export function readOptions(given: LoopOptions): LoopOptions {
  if (!isRecord(given)) return given;
  const options = { ...given };
  for (const group of ["limits", "timeouts", "policies", "hooks"] as const) {
    const fields = options[group];
    if (isRecord(fields)) Object.assign(options, { [group]: { ...fields } });
  }
  return options;
}

/** Copies the data of checked options. */
export function snapshotOptions(options: LoopOptions): LoopOptions {
  const { provider, modelSettings, toolChoice, decisions, policies } = options;
  return Object.assign(options, {
    provider: readProvider(provider),
    modelSettings: copyData(modelSettings),
    toolChoice: typeof toolChoice === "object" ? Object.freeze({ name: toolChoice.name }) : toolChoice,
    decisions: copyData(decisions),
    policies: policies === undefined ? undefined : snapshotPolicies(policies),
  });
}

/** A provider whose getters have been asked. What they throw later would lose what was paid for. */
export function readProvider(provider: Provider): Provider {
  const { id, model, family } = provider;
  return { id, model, family, stream: (request, call) => provider.stream(request, call) };
}

/** The fields of a session that the loop itself reads. Tools and approvals get the caller's own object. */
export function readSession({ surfaceUserErrors, detailsLabel, responseTarget }: Session = {}): Session {
  const { kind, name } = responseTarget ?? {};
  return { surfaceUserErrors, detailsLabel, responseTarget: kind === undefined ? undefined : { kind, name } };
}

function copyData<T>(data: T | undefined): T | undefined {
  return data === undefined ? undefined : (freezeDeep(toJson(data)) as T);
}

function snapshotPolicies(policies: LoopPolicies): LoopPolicies {
  const { gate, restarts, stopWhen } = policies;
  return {
    ...policies,
    gate: gate === undefined ? undefined : snapshotGate(gate),
    restarts: restarts === undefined ? undefined : snapshotRestarts(restarts),
    stopWhen: Array.isArray(stopWhen) ? [...stopWhen] : stopWhen,
  };
}

/** `allowedNames` is read when the run starts. */
function snapshotGate(gate: DeliberateGate): DeliberateGate {
  const { active, allowedNames, triggerMatchByToolName: triggers, retain } = gate;
  return {
    active,
    allowedNames,
    triggerMatchByToolName: triggers instanceof Map ? new Map(triggers) : triggers,
    ...(retain === undefined ? {} : { retain: retain.bind(gate) }),
  };
}

function snapshotRestarts({ effects, stash }: RestartPolicy): RestartPolicy {
  return { effects: copyData(effects), stash };
}
