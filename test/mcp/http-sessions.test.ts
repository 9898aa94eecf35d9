// Clients of both SDK generations, connected over HTTP to a server that forgets sessions and tokens.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo } from "node:net";
import { randomUUID } from "node:crypto";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMcpRegistry, type McpClient } from "turnwright/mcp";
import { text, toolCall } from "turnwright/testing";
import { answersOf, play } from "../loop/play.ts";
import { createToolServer } from "./tool-server.ts";

type Connect = (url: URL, token: string) => Promise<McpClient & { close(): Promise<void> }>;

const info = { name: "test", version: "1.0.0" };
const withToken = (token: string): { requestInit: RequestInit } => ({
  requestInit: { headers: { authorization: `Bearer ${token}` } },
});
const generations: readonly { readonly name: string; readonly connect: Connect; readonly again: typeof reconnectV1 }[] = [
  {
    name: "@modelcontextprotocol/sdk",
    connect: async (url, token) => {
      const client = new ClientV1(info);
      await client.connect(new HttpV1(url, withToken(token)));
      return client;
    },
    again: reconnectV1,
  },
  {
    name: "@modelcontextprotocol/client",
    connect: async (url, token) => {
      const client = new ClientV2(info);
      await client.connect(new HttpV2(url, withToken(token)));
      return client;
    },
    again: async (client, url, token) => {
      if (!(client instanceof ClientV2)) throw new TypeError("A client of the other generation.");
      await client.close();
      await client.connect(new HttpV2(url, withToken(token)));
    },
  },
];

async function reconnectV1(client: McpClient, url: URL, token: string): Promise<void> {
  if (!(client instanceof ClientV1)) throw new TypeError("A client of the other generation.");
  await client.close();
  await client.connect(new HttpV1(url, withToken(token)));
}

interface HttpServer {
  readonly url: URL;
  /** The only token that the server accepts. */
  token: string;
  /** Forgets all sessions. Requests that name one of them then get this response. */
  forget(status: number, body: string): void;
}

async function serve(): Promise<HttpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  let refusal: readonly [status: number, body: string] = [404, "Session not found"];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.headers.authorization !== `Bearer ${facts.token}`) return void response.writeHead(401).end("expired");
    const id = request.headers["mcp-session-id"];
    const known = sessions.get(String(id));
    if (known !== undefined) return known.handleRequest(request, response);
    if (id !== undefined) return void response.writeHead(refusal[0]).end(refusal[1]);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (created) => void sessions.set(created, transport),
    });
    const { server } = createToolServer([{ name: "now" }]);
    await server.connect(transport);
    await transport.handleRequest(request, response);
  };
  const http = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const facts: HttpServer = {
    url: new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`),
    token: "first",
    forget: (...response) => {
      sessions.clear();
      refusal = response;
    },
  };
  return facts;
}

describe.for(generations)("createMcpRegistry with an HTTP client of $name", ({ connect, again }) => {
  async function play3(change: (server: HttpServer) => void): Promise<{ outcomes: string[]; reconnected: number }> {
    const server = await serve();
    const client = await connect(server.url, server.token);
    onTestFinished(() => client.close());
    let reconnected = 0;
    const reconnect = async (): Promise<void> => {
      reconnected += 1;
      await again(client, server.url, server.token);
    };
    const tools = await createMcpRegistry({ client, reconnect, listChanged: false });
    change(server);
    const batch = Array.from({ length: 3 }, () => toolCall("now", { n: 1 }));
    const result = await play([batch, text("Done.")], { tools }).result;
    return { outcomes: answersOf(result).map(({ outcome }) => outcome), reconnected };
  }

  it.for(["", "Not Found", '{"error":"not_found"}', "<html>404</html>"])(
    "reconnects once and repeats its calls if the server answers 404 for its session: %j",
    async (body) => {
      const { outcomes, reconnected } = await play3((server) => server.forget(404, body));
      expect([outcomes, reconnected]).toEqual([["completed", "completed", "completed"], 1]);
    },
  );

  it("reconnects once and repeats its calls if the server no longer accepts the token", async () => {
    const { outcomes, reconnected } = await play3((server) => void (server.token = "second"));
    expect([outcomes, reconnected]).toEqual([["completed", "completed", "completed"], 1]);
  });

  it("does not reconnect if the server is overloaded", async () => {
    const { outcomes, reconnected } = await play3((server) => server.forget(503, "Overloaded"));
    expect([outcomes, reconnected]).toEqual([["failed", "failed", "failed"], 0]);
  });
});
