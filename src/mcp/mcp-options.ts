// The options of `createMcpRegistry`, checked before anything is asked.

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
} from "../core/provider-kit.ts";
import { isConnected, type McpClient, type McpTool } from "./mcp-client.ts";
import type { AnnotationRule } from "./tool-traits.ts";

/** Whose tools a registry has, and how the loop is to treat them. */
export interface McpRegistryOptions {
  /** The caller's own client, connected. It stays the caller's: its transport, its timeouts while connecting, and closing it. */
  readonly client: McpClient;
  /** Stands in front of each tool's name, such as "github_": 1 to 32 letters, digits, "_" or "-". Default none. */
  readonly prefix?: string | undefined;
  /**
   * What the server's annotations count for. "stated": what it says outright. "assumed": also what the specification has a client assume of
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
