import { checkFields, type Checks, is, isRecord } from "../core/kit.ts";
import type { ToolTraits } from "../core/types/tool.ts";
import { LoopError, type ToolContext } from "../core/index.ts";
import { toPlainError } from "../shared/plain-error.ts";

/** Hints from an MCP server about a tool. The hints may be wrong. */
export interface McpToolAnnotations {
  readonly title?: string | undefined;
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
}

/** A tool as listed by an MCP server. */
export interface McpTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly annotations?: McpToolAnnotations | undefined;
  readonly execution?: { readonly taskSupport?: string | undefined } | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** One page of the list of tools from an MCP server. */
export interface McpToolPage {
  readonly tools: readonly McpTool[];
  readonly nextCursor?: string | undefined;
}

/** The parameters of a `tools/call` request. */
export interface McpCallParams {
  name: string;
  arguments: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

/** The options for a request to an MCP server. Times are in milliseconds. */
export interface McpRequestOptions {
  signal?: AbortSignal;
  timeout?: number;
  resetTimeoutOnProgress?: boolean;
  onprogress?: (progress: McpProgress) => void;
}

/** Progress that an MCP server reports for a tool call. */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

interface McpClientBase {
  /** The connection to the MCP server. Undefined if the client is not connected. */
  readonly transport?: object | undefined;
  getServerCapabilities(): { readonly tools?: object | undefined } | undefined;
  removeNotificationHandler(method: string): void;
  /** Returns the server's name, which is shown with the server's questions to the user. */
  getServerVersion?(): { readonly name: string } | undefined;
  /** Needed only for the `elicitation` option. */
  removeRequestHandler?(method: string): void;
}

/** The `Client` class from version 1 of the MCP SDK, `@modelcontextprotocol/sdk`. */
export interface McpClientV1 extends McpClientBase {
  listTools(params?: { cursor?: string }, options?: McpRequestOptions): Promise<McpToolPage>;
  callTool(params: McpCallParams, resultSchema: undefined, options: McpRequestOptions): Promise<object>;
  /** Sets a handler for one type of notification. `schema` must be a zod schema, although its type is `object`. */
  setNotificationHandler(schema: object, handler: () => void): void;
}

/** The `Client` class from version 2 of the MCP SDK, `@modelcontextprotocol/client`. */
export interface McpClientV2 extends McpClientBase {
  listTools(params?: { cursor?: string }, options?: McpRequestOptions & { cacheMode?: "refresh" }): Promise<McpToolPage>;
  callTool(params: McpCallParams, options: McpRequestOptions & { toolDefinition?: never }): Promise<object>;
  setNotificationHandler(method: typeof toolsChanged, handler: () => void): void;
  /** Returns "modern" if the server has protocol revision 2026-07-28 or later. */
  getProtocolEra?(): string | undefined;
  /** Subscribes to notifications. Only version 2 clients have this method, so the registry uses it to detect the version. */
  listen(filter: object): Promise<object>;
}

/** An MCP SDK client, from `@modelcontextprotocol/sdk` (version 1) or `@modelcontextprotocol/client` (version 2). */
export type McpClient = McpClientV1 | McpClientV2;

function isVersion2(client: McpClient): client is McpClientV2 {
  return "listen" in client && typeof client.listen === "function";
}

/**
 * True if the client is connected. Callers check this first, because an unconnected version 2 client reports that the server has no tools.
 */
export function isConnected(client: Pick<McpClient, "transport">): boolean {
  return !("transport" in client) || client.transport !== undefined;
}

const toolsChanged = "notifications/tools/list_changed";

/** A schema that accepts any value. It has only the zod methods that version 1 of the SDK calls, and the one that version 2 calls. */
const anySchema = {
  parse: (value: unknown): unknown => value,
  safeParse: (value: unknown): object => ({ success: true, data: value }),
  "~standard": { version: 1, vendor: "turnwright", validate: (value: unknown): object => ({ value }) },
};

const toolsChangedSchema = { shape: { method: { value: toolsChanged } }, ...anySchema };

interface HasRequest {
  request(request: object, resultSchema: object, options?: McpRequestOptions): Promise<unknown>;
}

function hasRequest<Client extends McpClient>(client: Client): client is Client & HasRequest {
  return "request" in client && typeof client.request === "function";
}

/**
 * Sends a call in a way that keeps the SDK from validating the result, because a pattern in the output schema could block the process, and
 * because some servers write null for absent fields (github.com/Azure/data-api-builder/issues/3599). Uses `callTool` only for servers with
 * protocol revision 2026-07-28, for which version 2 of the SDK adds headers, and passes the tool without its output schema.
 */
export function sendCall(
  { client, tool }: { readonly client: McpClient; readonly tool: McpTool },
  params: McpCallParams,
  options: McpRequestOptions,
): Promise<unknown> {
  const isModern = isVersion2(client) && client.getProtocolEra?.() === "modern";
  if (!isModern && hasRequest(client)) return client.request({ method: "tools/call", params }, anySchema, options);
  return isVersion2(client)
    ? client.callTool(params, { ...options, toolDefinition: withoutOutput(tool) as never })
    : client.callTool(params, undefined, options);
}

function withoutOutput(tool: McpTool): McpTool {
  const { outputSchema: _, ...rest } = tool;
  return rest;
}

/**
 * Requests one page of the list of tools. Avoids `listTools` of SDK version 1, which would compile all output schemas, and reject all tools
 * if one is invalid. Version 2 rejects all tools if one has `properties: []` (github.com/craigk5n/webcalendar/pull/725), so the page is
 * requested again.
 */
export async function requestPage(client: McpClient, cursor: string | undefined): Promise<unknown> {
  const params = cursor === undefined ? undefined : { cursor };
  const request = { method: "tools/list", ...(params === undefined ? {} : { params }) };
  if (!isVersion2(client)) return hasRequest(client) ? client.request(request, anySchema) : client.listTools(params);
  try {
    // Without a cursor, version 2 of the SDK returns all pages at once, possibly from its cache. "refresh" bypasses that cache.
    return await client.listTools(params, { cacheMode: "refresh" });
  } catch (error) {
    if (!hasRequest(client) || !toPlainError(error).message.startsWith("Invalid result for tools/list")) throw error;
    return client.request(request, anySchema);
  }
}

type RequestHandler = (request: unknown) => Promise<object>;

interface HasRequestHandlers {
  setRequestHandler(method: unknown, handler: RequestHandler): void;
}

const elicitation = "elicitation/create";

export function onElicitation(client: McpClient, answer: RequestHandler): () => void {
  const schema = { shape: { method: { value: elicitation } }, ...anySchema };
  // Casts because `McpClient` does not declare `setRequestHandler`, whose parameters differ between the two SDK versions.
  (client as unknown as HasRequestHandlers).setRequestHandler(isVersion2(client) ? elicitation : schema, answer);
  return () => client.removeRequestHandler?.(elicitation);
}

/** The functions to call when a client's tools change. A client has only one handler for this, which all its registries share. */
const listeners = new WeakMap<McpClient, Set<() => void>>();

export function onToolsChanged(client: McpClient, listener: () => void): () => void {
  const heard = listeners.get(client) ?? new Set();
  if (heard.size === 0) {
    listeners.set(client, heard);
    const tellAll = (): void => {
      for (const one of heard) one();
    };
    if (isVersion2(client)) client.setNotificationHandler(toolsChanged, tellAll);
    else client.setNotificationHandler(toolsChangedSchema, tellAll);
  }
  heard.add(listener);
  return () => {
    if (heard.delete(listener) && heard.size === 0) client.removeNotificationHandler(toolsChanged);
  };
}

/**
 * Which of a tool's annotations to use: "stated" uses the annotations that the server sends, "assumed" also uses the specification's
 * defaults, and "ignored" uses no annotations.
 */
export type AnnotationRule = "stated" | "assumed" | "ignored";

/**
 * Converts annotations to traits. A read-only or idempotent tool may run again after a crash, an idempotent tool is retried once, and a
 * destructive tool always needs approval. With "assumed", a tool is destructive unless its annotations say that it is read-only or not
 * destructive.
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
    ...(isRepeatable ? { idempotent: true, replay: "safe" } : {}),
    ...(idempotentHint === true ? { retry: { maxAttempts: 2 } } : {}),
  };
}

function destroys({ readOnlyHint, destructiveHint }: McpToolAnnotations, rule: AnnotationRule): boolean {
  if (destructiveHint !== undefined) return destructiveHint;
  return rule === "assumed" && readOnlyHint !== true;
}

/**
 * Merges the caller's traits with those from the server. The caller's traits take precedence. Drops the server's `retry` if it conflicts
 * with one of them.
 */
export function mergeTraits(traits: ToolTraits, own: ToolTraits | undefined): ToolTraits {
  if (own === undefined) return traits;
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  const { retry, ...rest }: ToolTraits = { ...traits, ...given };
  const mayRetry = own.retry !== undefined || (retry !== undefined && rest.idempotent === true);
  return { ...rest, ...(mayRetry ? { retry } : {}) };
}

/** The options of `createMcpRegistry`. */
export interface McpRegistryOptions {
  /** A connected client. You remain responsible for its transport, for timeouts while connecting, and for closing the client. */
  readonly client: McpClient;
  /** Text to put in front of each tool name, for example "github_". 1 to 32 letters, digits, "_" or "-". Default: no prefix. */
  readonly prefix?: string | undefined;
  /**
   * Which of the tools' annotations to use. "stated": only hints that the server sends. "assumed": also the specification's defaults, so
   * each call to a tool without hints needs approval. "ignored": no annotations, for servers that you do not
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
   * Set to true to pass the server's questions to the user. The client must have the `elicitation` capability. The registry replaces the
   * client's handler for `elicitation/create`. The call in progress asks with `ask`, `wait: true` and `fromPage: true`, so the run needs a
   * `control`. An answer that reports a failure declines the question. Calls to the server then run one at a time, because a question does
   * not name its call. Default false.
   */
  readonly elicitation?: boolean | undefined;
  /**
   * Called with the error if the tools cannot be listed after a change. The registry then keeps the current tools. Also called for each
   * tool that is left out because its schema does not describe an object. Also called if a question from the server cannot be passed to the
   * user (the question is then canceled), and if the client's session is lost and `reconnect` is not set or fails. Default: errors are
   * ignored.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
  /**
   * Reconnects the client. Called when a call finds that its session is lost: the server has forgotten the session or no longer accepts the
   * access token, or the connection is closed. Concurrent calls share one reconnection, which waits up to five seconds for calls in
   * progress. The registry then lists the tools again. A call that the server refused or never received is sent once more. Default: the
   * call fails, and `onError` gets the error.
   */
  readonly reconnect?: ((client: McpClient, error: unknown) => void | PromiseLike<void>) | undefined;
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
  readonly reconnect: McpRegistryOptions["reconnect"];
}

const connected = "a connected MCP client";

const checks: Checks<McpRegistryOptions> = {
  client: [connected, isClient, undefined, true],
  prefix: [
    'a string of 1 to 32 letters, digits, "_" or "-"',
    (value) => typeof value === "string" && /^[\w-]{1,32}$/.test(value),
  ],
  annotations: ["stated", "assumed", "ignored"],
  traits: is.fn,
  meta: is.fn,
  listChanged: is.flag,
  elicitation: is.flag,
  onError: is.fn,
  reconnect: is.fn,
};

export function checkMcpOptions(options: McpRegistryOptions): McpSettings {
  if (isClient(options)) {
    const [expected, received] = ["an object with the client", "the client itself"];
    throw new LoopError("invalid-option", { option: "options", expected, received, instead: "createMcpRegistry({ client })" });
  }
  checkFields("options", options, checks);
  const { client, prefix = "", annotations = "stated", traits, meta, listChanged = true, elicitation = false } = options;
  const { onError, reconnect } = options;
  if (!isConnected(client)) {
    throw new LoopError("invalid-option", { option: "client", expected: connected, received: "a client without a connection" });
  }
  return { client, prefix, annotations, traits, meta, listChanged, elicitation, onError, reconnect };
}

function isClient(value: unknown): boolean {
  const methods = ["listTools", "callTool", "getServerCapabilities", "setNotificationHandler", "removeNotificationHandler"];
  return isRecord(value) && methods.every((method) => typeof value[method] === "function");
}
