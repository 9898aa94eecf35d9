// An MCP server in this process. Each test sets its tools and its responses.

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { type ListToolsResult, type ServerResult } from "@modelcontextprotocol/sdk/types.js";

/** The default of the input schema is `{ type: "object" }`. */
export type ServedTool = Partial<ListToolsResult["tools"][number]> & { readonly name: string };

interface ServedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>> | undefined;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  readonly signal: AbortSignal;
  progress(progress: { readonly progress: number; readonly total?: number; readonly message?: string }): Promise<void>;
}

export type Answer = (call: ServedCall) => ServerResult | Promise<ServerResult>;

export interface ToolServer {
  readonly server: McpServer;
  readonly listings: number;
  readonly calls: readonly ServedCall[];
  setTools(tools: readonly ServedTool[], options?: { readonly silent?: boolean }): Promise<void>;
  /** Makes every tool listing fail with `message`. With undefined, listings succeed again. */
  failListings(message: string | undefined): void;
  onListing(act: () => Promise<void>): void;
  holdListings(): () => void;
}

export function says(text: string): ServerResult {
  return { content: [{ type: "text", text }] };
}

export function createToolServer(
  tools: readonly ServedTool[],
  answer: Answer = ({ name }) => says(`${name} is done.`),
  pageSize = 1_000,
): ToolServer {
  const mcp = new McpServer({ name: "test", version: "1.0.0" }, { capabilities: { tools: { listChanged: true } } });
  const { server } = mcp;
  const calls: ServedCall[] = [];
  let current = tools;
  let failure: string | undefined;
  let inListing: (() => Promise<void>) | undefined;
  let listings = 0;
  server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => {
    listings += 1;
    await inListing?.();
    if (failure !== undefined) throw new Error(failure);
    const start = Number(params?.cursor ?? 0);
    const page = current.slice(start, start + pageSize).map((tool) => ({ inputSchema: { type: "object" as const }, ...tool }));
    return { tools: page, ...(start + pageSize < current.length ? { nextCursor: String(start + pageSize) } : {}) };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, _meta, sendNotification }) => {
    const call: ServedCall = {
      name: params.name,
      args: params.arguments,
      meta: _meta,
      signal,
      progress: (progress) => {
        const progressToken = _meta?.progressToken ?? "none";
        return sendNotification({ method: "notifications/progress", params: { progressToken, ...progress } });
      },
    };
    calls.push(call);
    return answer(call);
  });
  return {
    server: mcp,
    calls,
    get listings() {
      return listings;
    },
    async setTools(next, { silent = false } = {}) {
      current = next;
      if (!silent) await server.sendToolListChanged();
    },
    failListings(message) {
      failure = message;
    },
    holdListings() {
      let letGo: () => void = () => {};
      const held = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      inListing = () => held;
      return letGo;
    },
    onListing(act) {
      inListing = act;
    },
  };
}
