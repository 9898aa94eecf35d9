// What a server says of its tools, as what the loop may do with them.

import type { ToolTraits } from "../core/provider-kit.ts";
import type { McpTool, McpToolAnnotations } from "./mcp-client.ts";

/** Which of a server's annotations count. */
export type AnnotationRule = "stated" | "assumed" | "ignored";

/**
 * The traits that a tool's annotations stand for. A tool that only reads starts early; one that is idempotent is tried twice; one that
 * destroys asks first, whatever else it says. Who "assumes" takes silence for what the specification has it mean: a tool destroys unless
 * it says that it only reads, or that it does not destroy.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
 */
export function toTraits({ annotations = {} }: McpTool, rule: AnnotationRule): ToolTraits {
  if (rule === "ignored") return {};
  const { readOnlyHint, idempotentHint } = annotations;
  const isRepeatable = readOnlyHint === true || idempotentHint === true;
  const asks = destroys(annotations, rule);
  return {
    ...(asks ? { needsApproval: true } : {}),
    ...(readOnlyHint === true && !asks ? { eager: true } : {}),
    ...(isRepeatable ? { idempotent: true, replay: "safe" } : {}),
    ...(idempotentHint === true ? { retry: { maxAttempts: 2 } } : {}),
  };
}

function destroys({ readOnlyHint, destructiveHint }: McpToolAnnotations, rule: AnnotationRule): boolean {
  if (destructiveHint !== undefined) return destructiveHint;
  return rule === "assumed" && readOnlyHint !== true;
}

/** The caller's own word outranks the server's, and what cannot stand beside it goes: an early start, more attempts. */
export function mergeTraits(traits: ToolTraits, own: ToolTraits | undefined): ToolTraits {
  if (own === undefined) return traits;
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  const { eager, retry, ...rest }: ToolTraits = { ...traits, ...given };
  const mayBeEarly = own.eager !== undefined || (eager === true && !hasVeto(rest));
  const mayRetry = own.retry !== undefined || (retry !== undefined && rest.idempotent === true);
  return { ...rest, ...(mayBeEarly ? { eager } : {}), ...(mayRetry ? { retry } : {}) };
}

function hasVeto({ needsApproval = false, sequential, replay }: ToolTraits): boolean {
  return needsApproval !== false || sequential === true || replay === "never";
}
