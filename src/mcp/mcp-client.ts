// The needed part of an MCP client: both generations of the official SDK have it.

/** Hints of a server about its tool: it may be wrong, or lie. */
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

/** How a request goes. Times in milliseconds. */
export interface McpRequestOptions {
  signal?: AbortSignal;
  timeout?: number;
  resetTimeoutOnProgress?: boolean;
  onprogress?: (progress: McpProgress) => void;
}

/** How far a call is. */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

interface McpClientBase {
  /** Undefined where the client is not connected. */
  readonly transport?: object | undefined;
  getServerCapabilities(): { readonly tools?: object | undefined } | undefined;
  removeNotificationHandler(method: string): void;
}

/** `Client` of `@modelcontextprotocol/sdk`. */
export interface McpClientV1 extends McpClientBase {
  listTools(params?: { cursor?: string }, options?: McpRequestOptions): Promise<McpToolPage>;
  callTool(params: McpCallParams, resultSchema: undefined, options: McpRequestOptions): Promise<object>;
  /** Takes a zod schema, of which the type says nothing. */
  setNotificationHandler(schema: object, handler: () => void): void;
}

/** `Client` of `@modelcontextprotocol/client`. */
export interface McpClientV2 extends McpClientBase {
  listTools(params?: { cursor?: string }, options?: McpRequestOptions & { cacheMode?: "refresh" }): Promise<McpToolPage>;
  callTool(params: McpCallParams, options: McpRequestOptions & { toolDefinition?: never }): Promise<object>;
  setNotificationHandler(method: typeof toolsChanged, handler: () => void): void;
  /** Only this generation has it. */
  listen(filter: object): Promise<object>;
}

/** The caller's own client: that of `@modelcontextprotocol/sdk` (version 1) or of `@modelcontextprotocol/client` (version 2). */
export type McpClient = McpClientV1 | McpClientV2;

/** Tells the generations apart, whose methods take their arguments at different places. */
function isSecondGeneration(client: McpClient): client is McpClientV2 {
  return "listen" in client && typeof client.listen === "function";
}

/** False for a client that is not connected. The second generation would say of its server that it has no tools. */
export function isConnected(client: McpClient): boolean {
  return !("transport" in client) || client.transport !== undefined;
}

/** The notice of a server that its tools have changed. */
const toolsChanged = "notifications/tools/list_changed";

/** As much of a zod schema as a client of the first generation looks at. Anything fits. */
const anySchema = {
  parse: (value: unknown): unknown => value,
  safeParse: (value: unknown): object => ({ success: true, data: value }),
};

const toolsChangedSchema = { shape: { method: { value: toolsChanged } }, ...anySchema };

/** Sends any request. Its own type would not be the same in two versions of the SDK. */
interface HasRequest {
  request(request: object, resultSchema: object, options?: McpRequestOptions): Promise<unknown>;
}

/** A client of the caller's own making may lack it. */
function hasRequest(client: McpClientV1): client is McpClientV1 & HasRequest {
  return "request" in client && typeof client.request === "function";
}

/**
 * Sends a call. The clients' own `callTool` would check the answer by the server's output schema, whose patterns can stop the process: the
 * first generation is asked for the bare request, and the second one is told of a tool without an output schema.
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

/** Asks for a page of tools. The first generation's `listTools` would compile every output schema, and refuse all tools for a bad one. */
export function requestPage(client: McpClient, cursor: string | undefined): Promise<unknown> {
  const params = cursor === undefined ? undefined : { cursor };
  // The second generation may answer from its cache, and gives all pages as one if no cursor is named.
  if (isSecondGeneration(client)) return client.listTools(params, { cacheMode: "refresh" });
  if (!hasRequest(client)) return client.listTools(params);
  return client.request({ method: "tools/list", ...(params === undefined ? {} : { params }) }, anySchema);
}

/** A client has one handler for each notification; registries over one client share it. */
const listeners = new WeakMap<McpClient, Set<() => void>>();

/** Calls `listener` whenever the server says that its tools have changed. Gives what ends that. */
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
