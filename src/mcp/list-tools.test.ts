import { describe, expect, it } from "vitest";
import { listTools } from "./read-server.ts";
import type { McpClient, McpClientV1, McpToolPage } from "./mcp-client.ts";

type Page = (cursor: string | undefined, options: unknown) => McpToolPage;

const one = { name: "a", inputSchema: { type: "object" } };
const nothing = async (): Promise<object> => ({});

/** A client that can only list tools. */
function lister(page: Page, capabilities: { readonly tools?: object } | undefined = { tools: {} }): McpClientV1 {
  return {
    getServerCapabilities: () => capabilities,
    listTools: async (params, options) => page(params?.cursor, options),
    callTool: nothing,
    setNotificationHandler: () => {},
    removeNotificationHandler: () => {},
  };
}

describe("the tools of a server", () => {
  it.for<[what: string, capabilities: { readonly tools?: object } | undefined, count: number]>([
    ["that says that it has some", { tools: {} }, 1],
    ["that says that it has other things", {}, 0],
    ["that has said nothing", undefined, 1],
  ])("%s", async ([, capabilities, count]) => {
    const client: McpClient = { ...lister(() => ({ tools: [one] })), getServerCapabilities: () => capabilities };
    expect(await listTools(client)).toHaveLength(count);
  });

  it("are asked for by cursors as they come, an empty one too", async () => {
    const asked: unknown[] = [];
    const cursors = ["1", "", undefined];
    await listTools(
      lister((cursor) => {
        asked.push(cursor);
        return { tools: [], nextCursor: cursors[asked.length - 1] };
      }),
    );
    expect(asked).toEqual([undefined, "1", ""]);
  });

  it("are asked for past the cache of a client that has one, and no other client hears of that", async () => {
    const seen: unknown[] = [];
    const first = lister((_cursor, options) => {
      seen.push(options);
      return { tools: [one] };
    });
    await listTools(first);
    await listTools({ ...first, listen: nothing });
    expect(seen).toEqual([undefined, { cacheMode: "refresh" }]);
  });

  it("have an end: a cursor that comes twice is refused", async () => {
    let pages = 0;
    const circle = lister(() => ({ tools: [one], nextCursor: String((pages += 1) % 3) }));
    await expect(listTools(circle)).rejects.toThrow("in a circle");
    expect(pages).toBe(4);
  });

  it("have an end: more than 1,000 pages are refused", async () => {
    let pages = 0;
    await expect(listTools(lister(() => ({ tools: [one], nextCursor: String((pages += 1)) })))).rejects.toThrow("1000 pages");
    expect(pages).toBe(1_000);
  });
});
