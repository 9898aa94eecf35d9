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

/**
 * Which annotations of a tool to use: "stated" uses the annotations that the server sends, "assumed" also uses the defaults of the
 * specification, and "ignored" uses no annotations.
 */
export type AnnotationRule = "stated" | "assumed" | "ignored";

/**
 * Converts annotations to traits. A read-only tool starts early, an idempotent tool is tried twice, and a destructive tool always
 * needs approval. With "assumed", a tool is destructive unless its annotations say that it is read-only or not destructive.
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

/**
 * The caller's traits replace those from the server. Drops the server's `eager` and `retry` if they conflict with a caller's
 * trait.
 */
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

/** The options of `createMcpRegistry`. */
export interface McpRegistryOptions {
  /** A connected client. You remain responsible for its transport, for timeouts while connecting, and for closing the client. */
  readonly client: McpClient;
  /** Text to put in front of each tool name, for example "github_". 1 to 32 letters, digits, "_" or "-". Default: no prefix. */
  readonly prefix?: string | undefined;
  /**
   * Which annotations of the tools to use. "stated": only hints that the server sends. "assumed": also the defaults of the
   * specification, so each call to a tool without hints needs approval. "ignored": no annotations, for servers that you do not
   * trust. Default "stated".
   */
  readonly annotations?: AnnotationRule | undefined;
  /**
   * Returns traits for a tool, which override the traits from its annotations. Called when the tools are listed. Default: no
   * traits.
   */
  readonly traits?: ((tool: McpTool) => ToolTraits | undefined) | undefined;
  /**
   * Returns the `_meta` to send with a call. For example, return `context.idempotencyKey` under the name that the server expects.
   * Default: no `_meta`.
   */
  readonly meta?: ((tool: McpTool, context: ToolContext) => Readonly<Record<string, unknown>> | undefined) | undefined;
  /**
   * True to list the tools again when the server reports a change. The registry then sets the client's only handler for
   * `notifications/tools/list_changed`. Set to false to handle this notification yourself; then call `refresh` after each change.
   * Default true.
   */
  readonly listChanged?: boolean | undefined;
  /**
   * Set to true to pass questions of the server to the user. The client must have the capability `elicitation`. The registry
   * replaces the client's handler for `elicitation/create`. The call in progress asks with `context.ask({ wait: true, fromPage:
   * true })`, so the run needs a `control`. An answer that reports a failure declines the question. The calls of the server run
   * one at a time, because a question does not name its call. Default false.
   */
  readonly elicitation?: boolean | undefined;
  /**
   * Called with the error if the tools cannot be listed after a change. The registry then keeps the current tools. Also called if
   * a question of the server cannot be asked. The question is then cancelled. Default: errors are ignored.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface McpSettings {
  readonly client: McpClient;
  readonly prefix: string;
  readonly annotations: AnnotationRule;
  readonly traits: McpRegistryOptions["traits"];
  readonly meta: McpRegistryOptions["meta"];
  readonly listChanged: boolean;
  readonly elicitation: boolean;
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
  elicitation: is.flag,
  onError: is.fn,
};

export function checkMcpOptions(options: McpRegistryOptions): McpSettings {
  checkFields("options", options, checks);
  checkRequired(options, checks, ["client"]);
  const { client, prefix = "", annotations = "stated", traits, meta, listChanged = true, elicitation = false, onError } = options;
  if (!isConnected(client)) {
    throw new LoopError("invalid-option", { option: "client", expected: connected, received: "a client that is not connected" });
  }
  return { client, prefix, annotations, traits, meta, listChanged, elicitation, onError };
}

function isClient(value: unknown): boolean {
  const methods = ["listTools", "callTool", "getServerCapabilities", "setNotificationHandler", "removeNotificationHandler"];
  return isRecord(value) && methods.every((method) => typeof value[method] === "function");
}
