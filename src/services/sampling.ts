import { type ModelSettings, providerError } from "../core/provider-kit.ts";
import { checkCount, type QuirkPorts } from "./plan-tools.ts";
import type { Quirks } from "./service.ts";

/** True if the model reasons in a request with this reasoning effort. */
export function isReasoning({ reasons }: Quirks, effort: unknown): boolean {
  if (reasons === undefined || reasons === "always") return reasons === "always";
  return effort === undefined || effort === null ? reasons === "by-default" : effort !== "none";
}

const sampling = ["temperature", "topP", "stopSequences"] as const;

/**
 * Returns the settings without those that the service refuses while the model reasons. Throws a ProviderError `bad-request` if the
 * request has more stop sequences than the service accepts.
 */
export function toAcceptedSettings(settings: ModelSettings, effort: unknown, { quirks, report }: QuirkPorts): ModelSettings {
  if (isReasoning(quirks, effort)) {
    const { temperature: _temperature, topP: _topP, stopSequences: _stops, ...accepted } = settings;
    for (const field of sampling) {
      if (settings[field] !== undefined) report({ by: "adapter", field, action: "removed", reason: "unsupported" });
    }
    return accepted;
  }
  checkCount("stop sequences", settings.stopSequences?.length ?? 0, quirks.maxStops);
  return settings;
}

/** Throws a ProviderError `bad-request` if the service refuses function tools in Chat Completions for this model and effort. */
export function checkChatTools(quirks: Quirks, model: string, effort: unknown): void {
  if (quirks.toolsNeedResponses !== true || !isReasoning(quirks, effort)) return;
  const without = quirks.reasons === "always" ? "" : ' To use Chat Completions, set `reasoning_effort: "none"` in `extra`.';
  const problem = `The model ${model} accepts no function tools in Chat Completions while it reasons.`;
  throw providerError("bad-request", `${problem} Use \`openaiResponses\`.${without}`);
}
