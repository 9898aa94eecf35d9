// Describes the Claude models' rules as data. Sources: platform.claude.com/docs/en/build-with-claude/thinking, .../preserved-thinking,
// .../mid-conversation-system-messages, .../models, and the model catalog of @ai-sdk/anthropic 4.0.105, as of November 2026.

/** The values of `thinking.type`. */
export type ClaudeThinking = "adaptive" | "enabled" | "disabled" | "between_tools";

/** The rules of one Claude model. */
export interface ClaudeFacts {
  /** The accepted values of `thinking.type`. */
  readonly thinking: readonly ClaudeThinking[];
  /**
   * Says when a call can be forced with `tool_choice`. "without-budget": only if `thinking.type` is not "enabled". "no": the service
   * answers `tool_choice: type "tool" and "any" are not supported for this model.`
   */
  readonly forcedChoice: "yes" | "without-budget" | "no";
  /**
   * True if efforts above "high" require full thinking, neither disabled nor limited to the time between tool calls:
   * "output_config.effort 'xhigh' is not supported when thinking is disabled on this model." (github.com/elgorro/aiquila/issues/410).
   */
  readonly capsEffort: boolean;
  /** Says when `temperature`, `top_p` and `top_k` are accepted with API version 2023-06-01. Later versions never accept them. */
  readonly sampling: "without-thinking" | "no";
  /** True if a thinking block is valid only after the same system text, tools and messages as when it was written ("preserved thinking"). */
  readonly checksPrefix: boolean;
  /** True if the final message of a request may be an assistant message that the model continues. */
  readonly prefill: boolean;
  /** True if messages with the role "system" are accepted after the first message. */
  readonly midSystem: boolean;
  /** True if the model's text between tool calls arrives as thinking blocks, which are empty unless `thinking.display` is set. */
  readonly hidesNotes: boolean;
  /** The highest accepted `max_tokens`. */
  readonly maxOutput: number;
}

type Family = "fable" | "mythos" | "opus" | "sonnet" | "haiku";

interface ClaudeRow extends Partial<Omit<ClaudeFacts, "thinking">> {
  readonly families: readonly Family[];
  /** The lowest model version that the row covers, as 100 times the major version plus the minor version. */
  readonly from: number;
  readonly thinking: readonly ClaudeThinking[];
}

/** The rules for the newest models, which most rows share. */
const newest = {
  forcedChoice: "no",
  sampling: "no",
  checksPrefix: true,
  prefill: false,
  midSystem: true,
  hidesNotes: false,
  capsEffort: false,
  maxOutput: 128_000,
} as const;

const unchecked = { forcedChoice: "yes", checksPrefix: false } as const;
const budgeted = {
  ...unchecked,
  thinking: ["enabled", "disabled"],
  forcedChoice: "without-budget",
  sampling: "without-thinking",
  midSystem: false,
} as const;

/** The rules for all models. The first row that matches a name applies. */
const rows: readonly ClaudeRow[] = [
  { families: ["fable", "mythos"], from: 501, thinking: ["adaptive"] },
  { families: ["fable", "mythos"], from: 500, thinking: ["adaptive"], ...unchecked },
  { families: ["opus"], from: 505, thinking: ["adaptive"], hidesNotes: true },
  { families: ["opus"], from: 500, thinking: ["adaptive", "disabled"], ...unchecked, capsEffort: true },
  { families: ["sonnet"], from: 505, thinking: ["adaptive", "between_tools"], hidesNotes: true, capsEffort: true },
  { families: ["sonnet"], from: 500, thinking: ["adaptive", "disabled"], ...unchecked, midSystem: false },
  { families: ["haiku"], from: 500, thinking: ["adaptive", "disabled"], forcedChoice: "yes", capsEffort: true },
  { families: ["opus"], from: 408, thinking: ["adaptive", "disabled"], ...unchecked },
  { families: ["opus"], from: 407, thinking: ["adaptive", "disabled"], ...unchecked, midSystem: false },
  { families: ["opus", "sonnet", "haiku"], from: 406, ...budgeted, thinking: ["adaptive", "enabled", "disabled"] },
  { families: ["opus", "sonnet", "haiku"], from: 405, ...budgeted, prefill: true, maxOutput: 64_000 },
  { families: ["opus"], from: 0, ...budgeted, prefill: true, maxOutput: 32_000 },
  { families: ["sonnet", "haiku"], from: 0, ...budgeted, prefill: true, maxOutput: 64_000 },
];

/** The preview model before Claude Fable 5. Its name has no version, and it accepts both kinds of thinking. */
const preview: ClaudeFacts = { ...newest, ...unchecked, thinking: ["adaptive", "enabled"] };
const unknown: ClaudeFacts = { ...newest, thinking: ["adaptive"] };

/**
 * Returns the facts of the Claude model with this name, or undefined if it is not the name of a Claude model. Understands the names
 * used by Bedrock, Vertex AI and OpenRouter, for example "us.anthropic.claude-opus-4-8-v1:0", "claude-opus-5-5@20261001" and
 * "anthropic/claude-opus-5.5". A Claude model that is not in the table gets the rules for the newest models, which are the strictest.
 */
export function findClaudeFacts(model: string): ClaudeFacts | undefined {
  const name = /claude[-.]?(.*)$/i.exec(model)?.[1]?.toLowerCase();
  if (name === undefined) return undefined;
  if (/^(?:instant|v?[12](?!\d))/.test(name)) return { ...newest, ...budgeted, prefill: true, maxOutput: 4_096 };
  const family = /fable|mythos|opus|sonnet|haiku/.exec(name)?.[0];
  if (family === undefined) return unknown;
  if (name.startsWith("mythos-preview")) return preview;
  const version = toVersion(name);
  const row = rows.find(({ families, from }) => version >= from && families.some((known) => known === family));
  return row === undefined ? unknown : { ...newest, ...row };
}

/** Reads the version from names such as "opus-4-8", "opus-4.8" and "3-5-sonnet". Ignores a date, as in "opus-4-20250514". */
function toVersion(name: string): number {
  const match = /(?<![\d.v])(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(name);
  return match === null ? Number.POSITIVE_INFINITY : Number(match[1]) * 100 + Number(match[2] ?? 0);
}
