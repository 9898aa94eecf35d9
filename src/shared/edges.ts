// Functions needed only when something is wrong, such as error messages and advice. The main entry point and all adapters install them in
// `edges`. Programs that import neither do not bundle them, and get shorter messages.

import type { Issue, Json, JsonSchema, ProviderError, ProviderErrorCode, StandardSchema } from "../core/types/common.ts";
import type { Middleware } from "../core/types/middleware.ts";
import type { Provider } from "../core/types/provider.ts";
import type { EndReason } from "../core/types/termination.ts";
import type { ToolDefinition } from "../core/types/tool.ts";
import type { ShownTool, ToolChange } from "../core/types/tool-outcome.ts";

export interface Edges {
  /** Removes credentials, and cuts the text to at most `longest` UTF-16 code units. Appends `ending` if the text was cut. */
  redactText(text: string, longest: number, ending?: string): string;
  /** Copies data without credentials, for display. */
  redactJson(value: Json): Json;
  /** Converts an SDK error to a provider error. */
  readError?(thrown: unknown): ProviderError;
  /** Writes a LoopError's message. */
  describeError?(code: string, details: object): string;
  /** Returns how a tool differs from an earlier version. Without this function, each difference is a "constraint-changed". */
  findToolChanges?(was: ShownTool, now: ShownTool): readonly SchemaChange[];
  /** Throws LoopError "journal-damaged" if a journal record lacks fields that the loop needs. */
  checkRecord?(key: string, record: unknown): void;
  /** Returns the name that is most similar to `name`. */
  nearestName?(name: string, candidates: Iterable<string>): string | undefined;
  /** Describes the allowed range of a number. */
  describeRule?(rule: object): string;
  /** Describes a value without its content. Without this function, messages name only its type. */
  describeValue?(value: unknown): string;
  /** Explains why a run ended. */
  describeReason?(reason: EndReason): string | undefined;
  /** Explains why an object cannot be a tool's schema: it is not a JSON Schema, or it never accepts an object. Returns "" for a valid schema. */
  findSchemaProblem?(schema: JsonSchema): string;
  /** Explains why a Standard Schema cannot be converted to JSON Schema. */
  describeFailure?(schema: StandardSchema, cause: unknown): string;
  /** Describes a value that a `switch` does not expect. */
  describeUnexpected?(value: unknown): string;
  /** Returns the issue if an answer does not match its question's schema. The tool checks the answer again. */
  findAnswerIssue?(schema: unknown, answer: unknown): Issue | undefined;
  /** Explains why a tool must not defer its result, and what to do. */
  describeDeferral?(cause: DeferralCause, toolName: string): string;
  /** Throws a clear error when an AI SDK stop condition reads `steps`. */
  refuseSteps?(context: object): void;
  /**
   * Throws if a run option is invalid. Without this function, a run checks only that option names are known and that limits are numbers.
   */
  checkOptions?(options: unknown): void;
  /** Throws if the hooks that a middleware's `begin` returned are invalid. */
  checkHooks?(name: string, hooks: unknown): void;
  /** Throws if a tool has a trait that has no effect with this middleware. */
  checkTraits?(tools: readonly ToolDefinition[], middleware: readonly Middleware[], provider: Provider): void;
  /** Throws if a tool or a middleware passes an invalid argument to a method of its context. */
  checkGiven?(method: CheckedMethod, given: unknown): void;
  /** Throws if a field of a tool is invalid. Without this function, only its name and its description are checked. */
  checkTool?(tool: unknown): void;
  /** Throws if a registry's definition of a tool is invalid. */
  checkDefinition?(definition: ToolDefinition): void;
  /**
   * Returns advice for an unknown field name: the name that this library uses, the group that the field belongs to, or the most similar
   * name. `fields` contains the known names, and the fields of groups.
   */
  adviseName?(name: string, fields: object): Replacement | undefined;
  /** Returns advice on another library's content part: a sentence without the final period. */
  advisePart?(part: object): string | undefined;
  /** Explains why an answer with this finish reason is an error. `raw` is the reason as the service sent it. */
  describeFinish?(code: ProviderErrorCode, finish: string | undefined, raw: string | undefined): string;
  /** Explains what is wrong with a message, with advice. */
  describeMessage?(problem: MessageProblem, message?: unknown): string;
  /** Explains what is wrong with a message's fields. `given` is the caller's message, which may contain binary data. */
  findMessageProblem?(message: { readonly [field: string]: unknown }, given: unknown): string | undefined;
  /** Says what to do with a tool's result that JSON would reduce to nothing. */
  adviseLossy?(kind: string): string | undefined;
  /** Returns advice on an invalid value for an option. */
  adviseOption?(option: AdvisedOption, value: unknown): Advice | undefined;
}

/** The methods of a tool's context or a recorder whose arguments are checked. */
export type CheckedMethod = "emit" | "wait";

/** The reason why a tool must not defer its result. */
export type DeferralCause = "eager" | "nested";

export type SchemaChange = Omit<ToolChange, "toolName">;

/** A known name, and code to write instead of the unknown name. */
export interface Replacement {
  readonly nearest: string;
  readonly instead?: string | undefined;
}

/** A problem with a message, or with its place in the conversation. */
export type MessageProblem =
  | "not-an-object"
  | "nothing-to-send"
  | "reused-call-id"
  | "unknown-result"
  | "missing-result"
  | "missing-results"
  | "role"
  | "id"
  | "user-content"
  | "assistant-content"
  | "results"
  | "metadata";

/** The options with advice for invalid values. */
export type AdvisedOption =
  | "provider"
  | "messages"
  | "tools"
  | "signal"
  | "journal"
  | "pricing"
  | "handoffs"
  | "clock"
  | "events"
  | "stash"
  | "extra"
  | "decision";

/** The kind of value in words, the code to write instead, and a hint to append to the expected value. */
export interface Advice {
  readonly received?: string | undefined;
  readonly instead?: string | undefined;
  readonly hint?: string | undefined;
}

export const redacted = "[redacted]";

/** Matches everything after a word that announces a secret. */
const announced = /((?:key|token|secret|pass|pwd|auth|bearer|basic|cookie|session|credential|header)\w{0,24})\W[^]*/i;
const longWord = /[^\s"'`,;(){}<>[\]]{6,}/g;

/** Hides credentials. Recognizes them only by the words before them and by their characters, so other text may be hidden too. */
function hideText(text: string, longest: number, ending = "…"): string {
  const hide = (word: string): string => (/\d|[^\w.-]|.{25}/.test(word) ? redacted : word);
  const start = text.slice(0, longest).replace(announced, `$1 ${redacted}`).replace(longWord, hide);
  return text.length > longest ? start + ending : start;
}

/** The functions that a bundle contains if its program uses neither `explainErrors` nor an adapter. */
export const bareEdges: Edges = { redactText: hideText, redactJson: () => redacted };

export const edges: Edges = { ...bareEdges };

/** Adds functions to `edges`, the table of optional functions. A second call with the same functions changes nothing. */
export function addEdges(more: Partial<Edges>): void {
  Object.assign(edges, more);
}
