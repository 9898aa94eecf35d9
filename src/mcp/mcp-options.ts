// The options of `createMcpRegistry`, and the traits that a server claims for its tools.

import {
  checkFields,
  checkRequired,
  type Checks,
  is,
  isRecord,
  LoopError,
  oneOf,
  type ToolContext,
  type ToolTraits,
} from "../core/entry-kit.ts";
import { isConnected, type McpClient, type McpTool, type McpToolAnnotations } from "./mcp-client.ts";

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

/** Whose tools a registry has, and how the loop is to treat them. */
export interface McpRegistryOptions {
  /** The caller's own client, connected. It stays the caller's: its transport, its timeouts while connecting, and closing it. */
  readonly client: McpClient;
  /** Stands in front of each tool's name, such as "github_": 1 to 32 letters, digits, "_" or "-". Default none. */
  readonly prefix?: string | undefined;
  /**
   * The weight of the server's annotations. "stated": hints that it gives outright. "assumed": also those that the specification has a client assume of
   * a tool that says nothing, so that such a tool asks before each call. "ignored": nothing, for servers that are not to be trusted.
   * Default "stated".
   */
  readonly annotations?: AnnotationRule | undefined;
  /** Traits of one tool, over those of its annotations. Asked when the tools are listed. Default none. */
  readonly traits?: ((tool: McpTool) => ToolTraits | undefined) | undefined;
  /** The `_meta` that a call is sent with, such as `context.idempotencyKey` under the name that the server reads. Default none. */
  readonly meta?: ((tool: McpTool, context: ToolContext) => Readonly<Record<string, unknown>> | undefined) | undefined;
  /**
   * Whether the registry lists the tools anew when the server says that they have changed. It takes the client's one handler for that
   * notification; false leaves it to the caller, who calls `refresh` then. Default true.
   */
  readonly listChanged?: boolean | undefined;
  /** Told why tools could not be listed anew after such a notification; the tools stay those of before. Default: nobody is told. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The options with their defaults. */
export interface McpSettings {
  readonly client: McpClient;
  readonly prefix: string;
  readonly annotations: AnnotationRule;
  readonly traits: McpRegistryOptions["traits"];
  readonly meta: McpRegistryOptions["meta"];
  readonly listChanged: boolean;
  readonly onError: McpRegistryOptions["onError"];
}

const connected = "a connected MCP client";

const checks: Checks<McpRegistryOptions> = {
  client: [connected, isClient],
  prefix: ['1 to 32 letters, digits, "_" or "-"', (value) => typeof value === "string" && /^[\w-]{1,32}$/.test(value)],
  annotations: oneOf("stated", "assumed", "ignored"),
  traits: is.fn,
  meta: is.fn,
  listChanged: is.flag,
  onError: is.fn,
};

/** Fills in the defaults. Throws LoopError `invalid-option` or `unknown-option`. */
export function checkMcpOptions(options: McpRegistryOptions): McpSettings {
  checkFields("options", options, checks);
  checkRequired(options, checks, ["client"]);
  const { client, prefix = "", annotations = "stated", traits, meta, listChanged = true, onError } = options;
  if (!isConnected(client)) {
    throw new LoopError("invalid-option", { option: "client", expected: connected, received: "one that is not connected" });
  }
  return { client, prefix, annotations, traits, meta, listChanged, onError };
}

function isClient(value: unknown): boolean {
  const methods = ["listTools", "callTool", "getServerCapabilities", "setNotificationHandler", "removeNotificationHandler"];
  return isRecord(value) && methods.every((method) => typeof value[method] === "function");
}
