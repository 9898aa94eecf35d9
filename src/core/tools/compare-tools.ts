// What has changed of a tool since a call of it was recorded, or since somebody was asked about one.

import type { ShownTool, ToolChange } from "../types/tool-change.ts";
import { stableJson } from "../utils/stable-json.ts";
import { findSchemaChanges, type SchemaChange } from "./compare-schemas.ts";

/** Everything that differs in a way that matters to somebody; undefined for a tool that is gone. */
export function findToolChanges(toolName: string, was: ShownTool, now: ShownTool | undefined): readonly ToolChange[] {
  if (now === undefined) return [{ toolName, kind: "removed" }];
  if (was === now || stableJson(was) === stableJson(now)) return [];
  return [...findChanges(was, now)].map((change) => ({ toolName, ...change }));
}

function* findChanges(was: ShownTool, now: ShownTool): Generator<SchemaChange> {
  if (was.origin !== now.origin) yield { kind: "source-changed", was: was.origin, now: now.origin };
  yield* findSchemaChanges(was.inputSchema, now.inputSchema);
  if (was.description !== now.description) yield { kind: "description-changed" };
  // Only what asks for more care: a tool that became harmless is still the one that was approved.
  if (caution(now) > caution(was)) yield { kind: "trait-changed", field: "needsApproval" };
  if (was.idempotent === true && now.idempotent !== true) yield { kind: "trait-changed", field: "idempotent" };
}

function caution({ needsApproval }: ShownTool): number {
  if (needsApproval === undefined) return 0;
  return needsApproval === true ? 2 : 1;
}
