import { describe, expect, it } from "vitest";
import { listTools } from "./read-server.ts";
import type { McpClient, McpClientV1, McpToolPage } from "./mcp-client.ts";

type Page = (cursor: string | undefined, options: unknown) => McpToolPage;

const one = { name: "a", inputSchema: { type: "object" } };
const nothing = async (): Promise<object> => ({});

function lister(page: Page, capabilities: { readonly tools?: object } | undefined = { tools: {} }): McpClientV1 {
  return {
    getServerCapabilities: () => capabilities,
    listTools: async (params, options) => page(params?.cursor, options),
    callTool: nothing,
    setNotificationHandler: () => {},
    removeNotificationHandler: () => {},
  };
}

describe("listTools (MCP)", () => {
  it.for<[what: string, capabilities: { readonly tools?: object } | undefined, count: number]>([
    ["lists the tools of a server with the tools capability", { tools: {} }, 1],
    ["returns no tools for a server without the tools capability", {}, 0],
    ["lists the tools of a server whose capabilities are unknown", undefined, 1],
  ])("%s", async ([, capabilities, count]) => {
    const client: McpClient = { ...lister(() => ({ tools: [one] })), getServerCapabilities: () => capabilities };
    expect(await listTools(client)).toHaveLength(count);
  });

  it("requests the next page for every cursor, even for an empty string", async () => {
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

  it('passes cacheMode "refresh" only to a client from version 2 of the SDK', async () => {
    const seen: unknown[] = [];
    const first = lister((_cursor, options) => {
      seen.push(options);
      return { tools: [one] };
    });
    await listTools(first);
    await listTools({ ...first, listen: nothing });
    expect(seen).toEqual([undefined, { cacheMode: "refresh" }]);
  });

  it("stops when the server returns the same cursor a second time", async () => {
    let pages = 0;
    const circle = lister(() => ({ tools: [{ ...one, name: `t${pages % 4}` }], nextCursor: String((pages += 1) % 3) }));
    expect((await listTools(circle)).map(({ name }) => name)).toEqual(["t0", "t1", "t2", "t3"]);
    expect(pages).toBe(4);
  });

  it("lists each tool once if the only page has a cursor that leads to the same page", async () => {
    const stuck = lister(() => ({ tools: [one], nextCursor: "8" }));
    expect(await listTools(stuck)).toEqual([one]);
  });

  it("rejects if the server has more than 1,000 pages", async () => {
    let pages = 0;
    await expect(listTools(lister(() => ({ tools: [one], nextCursor: String((pages += 1)) })))).rejects.toThrow("1000 pages");
    expect(pages).toBe(1_000);
  });
});
