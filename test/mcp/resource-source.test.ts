import type { Client as ClientV2 } from "@modelcontextprotocol/client";
import type { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  ListResourcesRequestSchema,
  type Resource,
  ReadResourceRequestSchema,
  type ServerResult,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { maskResults, mergeRegistries } from "turnwright";
import { createResultCache } from "turnwright/cache";
import { createMcpRegistry, resourceSource } from "turnwright/mcp";
import type { McpResourceClient, ResourceSourceOptions } from "../../src/mcp/resource-source.ts";
import { runTool, text, toolCall } from "turnwright/testing";
import { countListeners } from "../loop/count-listeners.ts";
import { answersOf, play } from "../loop/play.ts";
import { readPart } from "../cache/read-stage.ts";
import { closing, type Generation, generations } from "./connect.ts";
import { createToolServer } from "./tool-server.ts";

/** This list does not compile if the client of one SDK does not fit. */
export const accepted: readonly ((client: ClientV1 & ClientV2) => unknown)[] = [
  (client: ClientV1) => resourceSource(client),
  (client: ClientV2) => resourceSource(client),
];

interface Served {
  readonly server: McpServer;
  readonly reads: string[];
}

const guide = Array.from({ length: 5_000 }, (_, index) => `step ${index + 1}`).join("\n");
const listed: readonly Resource[] = [
  { uri: "docs://guide", name: "guide", title: "Guide", mimeType: "text/plain", description: "All\nsteps" },
  { uri: "docs://ships", name: "ships" },
  { uri: "docs://more", name: "more" },
];

function createServer(contents: { readonly [uri: string]: readonly unknown[] }): Served {
  const server = new McpServer({ name: "docs", version: "1.0.0" }, { capabilities: { resources: {} } });
  return { server, reads: serve(server, contents) };
}

function serve({ server }: McpServer, contents: { readonly [uri: string]: readonly unknown[] }): string[] {
  const reads: string[] = [];
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }) =>
    params?.cursor === undefined ? { resources: listed.slice(0, 2), nextCursor: "2" } : { resources: listed.slice(2) },
  );
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => {
    reads.push(params.uri);
    const found = contents[params.uri];
    if (found === undefined) throw new Error(`No resource ${params.uri}`);
    return { contents: found };
  });
  return reads;
}

const docs = {
  "docs://guide": [{ uri: "docs://guide", text: guide }],
  "docs://ships": [{ uri: "docs://ships", mimeType: "application/json", text: '[{"name":"Fram"},{"name":"Gjøa"}]' }],
  "docs://image": [{ uri: "docs://image", mimeType: "image/png", blob: "aW1n" }],
  "docs://folder": [
    { uri: "docs://a", text: "a" },
    { uri: "docs://b", mimeType: "image/png", blob: "aW1n" },
  ],
  "docs://empty": [],
};

async function connect(
  generation: Generation,
  options: ResourceSourceOptions = {},
  served: Served = createServer(docs),
): Promise<{ readonly read: (args: object) => Promise<string>; readonly reads: string[]; readonly client: McpResourceClient }> {
  const { client } = await closing(generation.connectTo(served.server));
  const cache = createResultCache({ sources: [resourceSource(client as unknown as McpResourceClient, options)] });
  return { read: (args) => readPart(cache, args), reads: served.reads, client: client as unknown as McpResourceClient };
}

describe.for(generations)("resourceSource over $name", (generation) => {
  it("reads a resource in parts, by its URI", async () => {
    const { read } = await connect(generation);
    const id = "docs://guide";
    expect(await read({ id, action: "read", start_line: 4_999 })).toBe("Lines 4999 to 5000 of 5000.\nstep 4999\nstep 5000");
    expect(await read({ id, action: "tail", lines: 1 })).toBe("Lines 5000 to 5000 of 5000.\nstep 5000");
    expect(await read({ id, action: "grep", pattern: "p 40{3}$" })).toBe(
      "1 matching line in lines 1 to 5000 of 5000.\n4000: step 4000",
    );
    expect(await read({ id, action: "stats" })).toMatch(/^Lines: 5000\./);
    expect(await read({ id: "docs://ships", action: "json", path: "$[?@.name > 'G'].name" })).toBe(
      'Matches 1 to 1 of 1.\n$[1].name: "Gjøa"',
    );
  });

  it("lists the resources from all result pages, one per line", async () => {
    const { read } = await connect(generation, { name: "docs" });
    expect(await read({ id: "docs", action: "read" })).toBe(
      'Lines 1 to 3 of 3.\nResource "Guide" (text/plain) at docs://guide: All steps\nResource "ships" at docs://ships\nResource "more" at docs://more',
    );
  });

  it("rejects binary resources", async () => {
    const { read } = await connect(generation);
    expect(await read({ id: "docs://image", action: "read" })).toBe(
      "failed: This resource has no text but binary content (image/png), so it cannot be read here.",
    );
    expect(await read({ id: "docs://empty", action: "read" })).toBe(
      "failed: This resource has no text, so it cannot be read here.",
    );
    expect(await read({ id: "docs://folder", action: "read" })).toBe(
      "Lines 1 to 4 of 4.\nResource docs://a:\na\nResource docs://b:\n(image/png, which cannot be shown)",
    );
  });

  it("reports a server error to the model", async () => {
    const { read } = await connect(generation);
    expect(await read({ id: "docs://nothing", action: "read" })).toMatch(
      /^failed: The MCP server did not return the resource: .*No resource docs:\/\/nothing/,
    );
  });

  it("requests only URIs that `accepts` allows", async () => {
    const { read, reads } = await connect(generation, { maxBytes: 100, accepts: (uri) => uri.startsWith("docs:") });
    for (const id of ["file:///etc/passwd", "guide", "", "//docs", `docs://${"x".repeat(2_000)}`]) {
      expect(await read({ id, action: "read" })).toMatch(/^failed: There is no stored result with this id/);
    }
    expect(reads).toEqual([]);
    expect(await read({ id: "docs://guide", action: "read" })).toBe(
      "failed: The resource has 48892 bytes. Only resources of at most 100 bytes can be read.",
    );
    expect(reads).toEqual(["docs://guide"]);
  });

  it("cancels the request on the server if the call is aborted", async () => {
    const server = new McpServer({ name: "docs", version: "1.0.0" }, { capabilities: { resources: {} } });
    const abort = new AbortController();
    const cancelled = new Promise<void>((resolve) => {
      server.server.setRequestHandler(ReadResourceRequestSchema, async (_, { signal }) => {
        signal.addEventListener("abort", () => resolve());
        abort.abort();
        return new Promise<ServerResult>(() => {});
      });
    });
    const { client } = await closing(generation.connectTo(server));
    const { tool } = createResultCache({ sources: [resourceSource(client as unknown as McpResourceClient)] });
    expect(await runTool(tool, { id: "docs://guide", action: "read" }, { signal: abort.signal })).toMatchObject({
      kind: "interrupted",
    });
    await cancelled;
  });

  it("tells the model that a closed server is not connected", async () => {
    const served = createServer(docs);
    const { client } = await generation.connectTo(served.server);
    const cache = createResultCache({ sources: [resourceSource(client as unknown as McpResourceClient)] });
    await (client as unknown as { close(): Promise<void> }).close();
    expect(await readPart(cache, { id: "docs://guide", action: "read" })).toBe(
      "failed: The MCP server is not connected. Continue without this text.",
    );
  });

  it("reads the resource that a tool result links to", async () => {
    const link = { type: "resource_link" as const, uri: "docs://guide", name: "guide" };
    const tools = createToolServer([{ name: "find" }], () => ({ content: [link] }));
    tools.server.server.registerCapabilities({ resources: {} });
    serve(tools.server, docs);
    const { client } = await closing(generation.connectTo(tools.server));
    const cache = createResultCache({ sources: [resourceSource(client as unknown as McpResourceClient)] });
    const registry = mergeRegistries(await createMcpRegistry({ client }), [cache.tool]);
    const playing = play(
      ({ messages }, index) => {
        const uri = /at (docs:[^"\s]+)/.exec(JSON.stringify(messages))?.[1];
        return [toolCall("find"), toolCall("read_part", { id: uri ?? "", action: "head", lines: 1 }), text("Done.")][index];
      },
      { tools: registry, middleware: [maskResults({ keepIterations: Number.POSITIVE_INFINITY })] },
    );
    expect(answersOf(await playing.result).map(({ result }) => result)).toEqual([
      'Resource "guide" at docs://guide',
      "Lines 1 to 1 of 5000.\nstep 1",
    ]);
  });
});

it.for<[option: string, client: unknown, options: ResourceSourceOptions]>([
  ["client", {}, {}],
  ["client", null, {}],
  ["name", { listResources() {}, readResource() {} }, { name: "a/b" }],
  ["maxBytes", { listResources() {}, readResource() {} }, { maxBytes: 0 }],
])('resourceSource: rejects an invalid option "%s"', ([option, client, options]) => {
  expect(() => resourceSource(client as never, options)).toThrow(
    expect.objectContaining({ code: "invalid-option", details: expect.objectContaining({ option }) }),
  );
});

describe("resourceSource with a hostile server", () => {
  const clientOf = (listing: object): McpResourceClient => ({
    listResources: async () => listing,
    readResource: async () => ({ contents: [null, 7, { text: 7 }] }),
  });
  const read = (client: McpResourceClient, args: object): Promise<string> =>
    readPart(createResultCache({ sources: [resourceSource(client)] }), args);

  it("lists at most 1,000 resources, even if each page names a next page", async () => {
    const resources = Array.from({ length: 700 }, (_, index) => ({ uri: `x:${index}`, name: "a\nb" }));
    expect(await read(clientOf({ resources, nextCursor: "again" }), { id: "resources", action: "tail", lines: 2 })).toBe(
      'Lines 1000 to 1001 of 1001.\nResource "a b" at x:299\n(The server has more than 1000 resources.)',
    );
    expect(await read(clientOf({ resources: [], nextCursor: "again" }), { id: "resources", action: "read" })).toContain(
      "(The server lists no resources.)",
    );
  });

  it("accepts contents and lists of any shape", async () => {
    expect(await read(clientOf({}), { id: "x:1", action: "read" })).toBe(
      "failed: This resource has no text but binary content, so it cannot be read here.",
    );
    expect(await read(clientOf({ resources: [null, 7, {}] }), { id: "resources", action: "read" })).toContain('Resource "" at');
  });

  it("leaves no listener on a call's signal", async () => {
    const { signal } = new AbortController();
    const listeners = countListeners();
    onTestFinished(() => listeners.stop());
    await resourceSource(clientOf({ resources: [] })).open("resources", signal);
    expect(listeners.on(signal)).toBe(0);
  });
});
