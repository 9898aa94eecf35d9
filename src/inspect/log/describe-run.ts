import { isRecord, type Json, type ToolDefinition } from "../../core/entry-kit.ts";
import type { ObservedRun } from "../../core/observe-kit.ts";
import type { Cleaner } from "./clean-values.ts";
import type { LogFields } from "./log-lines.ts";
import type { Writable } from "./shared-values.ts";

/** Returns the fields of a run-start line. Does not read functions, keys or the user id of the session. */
export function describeRun({ options, provider }: ObservedRun, cleaner: Cleaner): LogFields {
  const { limits, timeouts, policies, hooks, session, version } = options;
  const { conversationId, locale, responseTarget } = session ?? {};
  return {
    provider: provider.id,
    model: provider.model,
    version: version === undefined ? undefined : cleaner.text(version, "session"),
    limits: numbersOf(limits),
    timeouts: numbersOf(timeouts),
    policies: namesOf(policies),
    hooks: namesOf(hooks),
    session: session === undefined ? undefined : cleaner.fields({ conversationId, locale, responseTarget }, "session"),
  };
}

/** Writes `Infinity`, which JSON does not have, as a text. */
function numbersOf(values: object | undefined): Json | undefined {
  if (!isRecord(values)) return undefined;
  const numbers = Object.entries(values).flatMap(([name, value]): [string, Json][] => {
    if (typeof value === "string") return [[name, value]];
    return typeof value === "number" ? [[name, Number.isFinite(value) ? value : String(value)]] : [];
  });
  return Object.fromEntries(numbers);
}

function namesOf(parts: object | undefined): Json | undefined {
  return isRecord(parts) ? Object.keys(parts).filter((name) => parts[name] !== undefined) : undefined;
}

/** Copies the definitions of tools. A `needsApproval` function is written as "some", as in a journal. */
export function describeTools(tools: readonly ToolDefinition[], cleaner: Cleaner): Writable {
  return tools.map((tool) => {
    const { needsApproval, masking, ...definition } = tool;
    const asks = typeof needsApproval === "function" ? "some" : needsApproval;
    const copied = cleaner.fields(definition, "tools");
    return {
      ...(isRecord(copied) ? copied : { name: tool.name }),
      ...(asks !== undefined && { needsApproval: asks }),
      ...(masking !== undefined && { releasesResults: true }),
    };
  });
}
