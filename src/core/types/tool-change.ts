import type { JsonSchema } from "./schema.ts";

/** One difference between a tool as a run knew it and the tool of that name now. */
export interface ToolChange {
  readonly toolName: string;
  readonly kind: ToolChangeKind;
  /** The argument that differs, such as `to.street` or `tags[]`; absent when the whole tool does. */
  readonly field?: string | undefined;
  /** Before and now, where a word says it: a type, a limit, a text. */
  readonly was?: string | undefined;
  readonly now?: string | undefined;
}

/**
 * What differs. The last three change what a person would decide, and never refuse a run: a description, a default value, and a trait
 * (`needsApproval` added, `idempotent` removed).
 */
export type ToolChangeKind =
  | "removed"
  /** The name now stands for another tool of its server. */
  | "source-changed"
  | "field-removed"
  | "required-field-added"
  | "type-changed"
  /** Another rule for a value, such as a lower `maximum` or fewer `enum` values. */
  | "constraint-changed"
  | "description-changed"
  | "default-changed"
  | "trait-changed";

/** A tool as it was shown. Journals keep it. */
export interface ShownTool {
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly origin?: string;
  /** "some" where a function says which calls need a decision. */
  readonly needsApproval?: true | "some";
  readonly idempotent?: true;
}
