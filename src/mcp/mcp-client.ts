// The required part of an MCP client, which both generations of the official SDK have.

/** Hints of a server about its tool. They may be wrong. */
export interface McpToolAnnotations {
  readonly title?: string | undefined;
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
}

/** A tool as its server lists it. */
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

/** One page of a server's tools. */
export interface McpToolPage {
  readonly tools: readonly McpTool[];
  readonly nextCursor?: string | undefined;
}

/** The options of a call. */
export interface McpCallParams {
  name: string;
  arguments: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

/** The options of a request. Times in milliseconds. */
export interface McpRequestOptions {
  signal?: AbortSignal;
  timeout?: number;
  resetTimeoutOnProgress?: boolean;
  onprogress?: (progress: McpProgress) => void;
}

/** The progress of a call. */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

interface McpClientBase {
  /** Undefined if the client is not connected. */
  readonly transport?: object | undefined;
  getServerCapabilities(): { readonly tools?: object | undefined } | undefined;
  removeNotificationHandler(method: string): void;
}

/** `Client` of `@modelcontextprotocol/sdk`. */
export interface McpClientV1 extends McpClientBase {
  listTools(params?: { cursor?: string }, options?: McpRequestOptions): Promise<McpToolPage>;
  callTool(params: McpCallParams, resultSchema: undefined, options: McpRequestOptions): Promise<object>;
  /** Takes a zod schema, which the type does not express. */
  setNotificationHandler(schema: object, handler: () => void): void;
}

/** `Client` of `@modelcontextprotocol/client`. */
export interface McpClientV2 extends McpClientBase {
  listTools(params?: { cursor?: string }, options?: McpRequestOptions & { cacheMode?: "refresh" }): Promise<McpToolPage>;
  callTool(params: McpCallParams, options: McpRequestOptions & { toolDefinition?: never }): Promise<object>;
  setNotificationHandler(method: typeof toolsChanged, handler: () => void): void;
  /** Only exists in this generation. */
  listen(filter: object): Promise<object>;
}

/** The caller's client: of `@modelcontextprotocol/sdk` (version 1) or `@modelcontextprotocol/client` (version 2). */
export type McpClient = McpClientV1 | McpClientV2;

/** Distinguishes the generations, whose methods have different parameters. */
function isSecondGeneration(client: McpClient): client is McpClientV2 {
  return "listen" in client && typeof client.listen === "function";
}

/** False for a client that is not connected. The second generation would report that its server has no tools. */
export function isConnected(client: McpClient): boolean {
  return !("transport" in client) || client.transport !== undefined;
}

/** The notification of a server that its tools have changed. */
const toolsChanged = "notifications/tools/list_changed";

/** The part of a zod schema that a client of the first generation uses. Accepts any value. */
const anySchema = {
  parse: (value: unknown): unknown => value,
  safeParse: (value: unknown): object => ({ success: true, data: value }),
};

const toolsChangedSchema = { shape: { method: { value: toolsChanged } }, ...anySchema };

/** Sends any request. The real type differs between versions of the SDK. */
interface HasRequest {
  request(request: object, resultSchema: object, options?: McpRequestOptions): Promise<unknown>;
}

/** A client of the caller's own class may not have it. */
function hasRequest(client: McpClientV1): client is McpClientV1 & HasRequest {
  return "request" in client && typeof client.request === "function";
}

/**
 * Sends a call. The client's own `callTool` would validate the result with the server's output schema, whose patterns can block
 * the process. The first generation therefore sends the bare request, and the second one gets a tool without an output schema.
 */
export function sendCall(
  { client, tool }: { readonly client: McpClient; readonly tool: McpTool },
  params: McpCallParams,
  options: McpRequestOptions,
): Promise<unknown> {
  if (isSecondGeneration(client)) return client.callTool(params, { ...options, toolDefinition: withoutOutput(tool) as never });
  return hasRequest(client)
    ? client.request({ method: "tools/call", params }, anySchema, options)
    : client.callTool(params, undefined, options);
}

function withoutOutput(tool: McpTool): McpTool {
  const { outputSchema: _, ...rest } = tool;
  return rest;
}

/**
 * Requests a page of tools. `listTools` of the first generation would compile every output schema, and reject all tools if one is
 * invalid.
 */
export function requestPage(client: McpClient, cursor: string | undefined): Promise<unknown> {
  const params = cursor === undefined ? undefined : { cursor };
  // The second generation may answer from its cache, and returns all pages as one without a cursor.
  if (isSecondGeneration(client)) return client.listTools(params, { cacheMode: "refresh" });
  if (!hasRequest(client)) return client.listTools(params);
  return client.request({ method: "tools/list", ...(params === undefined ? {} : { params }) }, anySchema);
}

/** A client has one handler per notification, which registries with the same client share. */
const listeners = new WeakMap<McpClient, Set<() => void>>();

/** Calls `listener` whenever the server reports that its tools have changed. Returns a function that stops this. */
export function onToolsChanged(client: McpClient, listener: () => void): () => void {
  const heard = listeners.get(client) ?? new Set();
  if (heard.size === 0) {
    listeners.set(client, heard);
    const tellAll = (): void => {
      for (const one of heard) one();
    };
    if (isSecondGeneration(client)) client.setNotificationHandler(toolsChanged, tellAll);
    else client.setNotificationHandler(toolsChangedSchema, tellAll);
  }
  heard.add(listener);
  return () => {
    if (heard.delete(listener) && heard.size === 0) client.removeNotificationHandler(toolsChanged);
  };
}
