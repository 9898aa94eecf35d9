// Compaction by the service: the request field that enables it, and the beta feature that it needs.

import type { Json, ModelRequest } from "../core/provider-kit.ts";

/** The beta feature of the field `context_management`, and of `compaction` blocks that are sent back. */
export const compactionBeta = "compact-2026-01-12";

/** The smallest trigger that the service accepts, in tokens. */
const smallestTrigger = 50_000;

/** The fields of the edit that are the same in each request. */
export interface CompactionEdit {
  readonly instructions?: string;
}

export function toCompactionEdit(
  compaction: boolean | { readonly instructions?: string | undefined } | undefined,
): CompactionEdit | undefined {
  if (compaction === undefined || compaction === false) return undefined;
  const instructions = compaction === true ? undefined : compaction.instructions;
  return instructions === undefined ? {} : { instructions };
}

export function toCompactionField(
  { compactAt }: ModelRequest,
  edit: CompactionEdit | undefined,
): { readonly context_management?: Json } {
  if (compactAt === undefined || edit === undefined) return {};
  const trigger = { type: "input_tokens", value: Math.max(smallestTrigger, compactAt) };
  return { context_management: { edits: [{ type: "compact_20260112", trigger, ...edit }] } };
}
