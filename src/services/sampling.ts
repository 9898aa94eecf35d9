import { type ModelSettings, providerError } from "../core/index.ts";
import { checkCount, type QuirkPorts } from "./plan-tools.ts";
import type { Quirks } from "./service.ts";

/** True if the model reasons in a request with this reasoning effort. */
function isReasoning({ reasons }: Quirks, effort: unknown): boolean {
  if (reasons === undefined || reasons === "always") return reasons === "always";
  return effort === undefined || effort === null ? reasons === "by-default" : effort !== "none";
}

/** Settings that a service refuses while the model reasons. With `fixedSampling`, it always refuses the first two. */
const sampling = ["temperature", "topP", "stopSequences"] as const;

/**
 * Returns the settings without those that the service refuses. Throws a ProviderError `bad-request` if the request has more stop
 * sequences than the service accepts.
 */
export function toAcceptedSettings(settings: ModelSettings, effort: unknown, { quirks, report }: QuirkPorts): ModelSettings {
  const refused = isReasoning(quirks, effort) ? sampling : quirks.fixedSampling === true ? sampling.slice(0, 2) : [];
  const unsent = refused.filter((field) => settings[field] !== undefined);
  for (const field of unsent) report({ by: "adapter", field, action: "removed", reason: "unsupported" });
  const accepted = { ...settings, ...Object.fromEntries(unsent.map((field) => [field, undefined])) };
  checkCount("stop sequences", accepted.stopSequences?.length ?? 0, quirks.maxStops);
  return accepted;
}

/** Throws a ProviderError `bad-request` if the service refuses function tools in Chat Completions for this model and effort. */
export function checkChatTools(quirks: Quirks, model: string, effort: unknown): void {
  if (quirks.toolsNeedResponses !== true || !isReasoning(quirks, effort)) return;
  const without = quirks.reasons === "always" ? "" : ' To use Chat Completions, set `reasoning_effort: "none"` in `extra`.';
  const problem = `The model ${model} accepts no function tools in Chat Completions while it reasons.`;
  throw providerError("bad-request", `${problem} Use \`openaiResponses\`.${without}`);
}
