/** Hints from an MCP server about a tool. The hints may be wrong. */
export interface McpToolAnnotations {
  readonly title?: string | undefined;
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
}

/** A tool in the list of tools from an MCP server. */
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

/** The options of a request to an MCP server. Times are in milliseconds. */
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
  /** Returns the name of the server. Questions of the server to the user show this name. */
  getServerVersion?(): { readonly name: string } | undefined;
  /** Needed for the option `elicitation`. */
  removeRequestHandler?(method: string): void;
}

/** The class `Client` of version 1 of the MCP SDK, from `@modelcontextprotocol/sdk`. */
export interface McpClientV1 extends McpClientBase {
  listTools(params?: { cursor?: string }, options?: McpRequestOptions): Promise<McpToolPage>;
  callTool(params: McpCallParams, resultSchema: undefined, options: McpRequestOptions): Promise<object>;
  /** Sets a handler for one type of notification. `schema` must be a zod schema, although its type is `object`. */
  setNotificationHandler(schema: object, handler: () => void): void;
}

/** The class `Client` of version 2 of the MCP SDK, from `@modelcontextprotocol/client`. */
export interface McpClientV2 extends McpClientBase {
  listTools(params?: { cursor?: string }, options?: McpRequestOptions & { cacheMode?: "refresh" }): Promise<McpToolPage>;
  callTool(params: McpCallParams, options: McpRequestOptions & { toolDefinition?: never }): Promise<object>;
  setNotificationHandler(method: typeof toolsChanged, handler: () => void): void;
  /** Only clients of version 2 have this method, so the registry uses it to detect the version. */
  listen(filter: object): Promise<object>;
}

/** A client of the MCP SDK: from `@modelcontextprotocol/sdk` (version 1) or `@modelcontextprotocol/client` (version 2). */
export type McpClient = McpClientV1 | McpClientV2;

function isVersion2(client: McpClient): client is McpClientV2 {
  return "listen" in client && typeof client.listen === "function";
}

/** A client of version 2 without a connection reports that the server has no tools, so callers check the connection first. */
export function isConnected(client: Pick<McpClient, "transport">): boolean {
  return !("transport" in client) || client.transport !== undefined;
}

const toolsChanged = "notifications/tools/list_changed";

/** Accepts any value. Has only the methods of a zod schema that version 1 of the SDK calls. */
const anySchema = {
  parse: (value: unknown): unknown => value,
  safeParse: (value: unknown): object => ({ success: true, data: value }),
};

const toolsChangedSchema = { shape: { method: { value: toolsChanged } }, ...anySchema };

interface HasRequest {
  request(request: object, resultSchema: object, options?: McpRequestOptions): Promise<unknown>;
}

function hasRequest(client: McpClientV1): client is McpClientV1 & HasRequest {
  return "request" in client && typeof client.request === "function";
}

/**
 * Sends a call without validation of the result by the SDK, because a pattern in the output schema could block the process. A
 * client of version 1 sends the request without `callTool`. With version 2, `callTool` gets the tool without its output schema.
 */
export function sendCall(
  { client, tool }: { readonly client: McpClient; readonly tool: McpTool },
  params: McpCallParams,
  options: McpRequestOptions,
): Promise<unknown> {
  if (isVersion2(client)) return client.callTool(params, { ...options, toolDefinition: withoutOutput(tool) as never });
  return hasRequest(client)
    ? client.request({ method: "tools/call", params }, anySchema, options)
    : client.callTool(params, undefined, options);
}

function withoutOutput(tool: McpTool): McpTool {
  const { outputSchema: _, ...rest } = tool;
  return rest;
}

/**
 * Avoids `listTools` of version 1 of the SDK, which would compile all output schemas, and reject all tools if one schema is
 * invalid.
 */
export function requestPage(client: McpClient, cursor: string | undefined): Promise<unknown> {
  const params = cursor === undefined ? undefined : { cursor };
  // "refresh" bypasses the cache of version 2 of the SDK. Without a cursor, version 2 returns all pages as one.
  if (isVersion2(client)) return client.listTools(params, { cacheMode: "refresh" });
  if (!hasRequest(client)) return client.listTools(params);
  return client.request({ method: "tools/list", ...(params === undefined ? {} : { params }) }, anySchema);
}

type RequestHandler = (request: unknown) => Promise<object>;

interface HasRequestHandlers {
  setRequestHandler(method: unknown, handler: RequestHandler): void;
}

const elicitation = "elicitation/create";

export function onElicitation(client: McpClient, answer: RequestHandler): () => void {
  const schema = { shape: { method: { value: elicitation } }, ...anySchema };
  // `setRequestHandler` is not part of the type `McpClient`, because the two versions declare incompatible parameters.
  (client as unknown as HasRequestHandlers).setRequestHandler(isVersion2(client) ? elicitation : schema, answer);
  return () => client.removeRequestHandler?.(elicitation);
}

/** A client has only one handler for each notification, so all registries with this client share the handler. */
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
