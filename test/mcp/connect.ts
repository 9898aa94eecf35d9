// Connects clients of both SDK generations. The server is in this process, or it is the reference server in a separate process.

import { Client as ClientV2, InMemoryTransport as InMemoryTransportV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { type StdioServerParameters, StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { InMemoryTransport as InMemoryTransportV1 } from "@modelcontextprotocol/sdk/inMemory.js";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { onTestFinished } from "vitest";
import type { McpClient } from "turnwright/mcp";

const info = { name: "test", version: "1.0.0" };
const script = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
/** The server must not get the environment variables of this process. */
const stdio: StdioServerParameters = { command: process.execPath, args: [script, "stdio"], env: { PATH: "" }, stderr: "ignore" };

export interface Connection {
  readonly client: McpClient;
  /** The process id of the server. Undefined for a server in this process. */
  readonly pid: number | undefined;
  close(): Promise<void>;
}

export interface Generation {
  readonly name: string;
  connectEverything(): Promise<Connection>;
  connectTo(
    server: McpServer,
    capabilities?: { readonly elicitation: { readonly form: Record<string, never> } },
  ): Promise<Connection>;
  /** The first connection must be closed. */
  reconnect(client: McpClient, server: McpServer): Promise<void>;
}

const v1: Generation = {
  name: "@modelcontextprotocol/sdk",
  async connectEverything() {
    const client = new ClientV1(info);
    const transport = new StdioV1(stdio);
    await client.connect(transport);
    return { client, pid: transport.pid ?? undefined, close: () => client.close() };
  },
  async connectTo(server, capabilities) {
    const client = new ClientV1(info, capabilities && { capabilities });
    await this.reconnect(client, server);
    return { client, pid: undefined, close: () => client.close() };
  },
  async reconnect(client, server) {
    if (!(client instanceof ClientV1)) throw new TypeError("A client of the other generation.");
    const [ours, theirs] = InMemoryTransportV1.createLinkedPair();
    await server.connect(theirs);
    await client.connect(ours);
  },
};

const v2: Generation = {
  name: "@modelcontextprotocol/client",
  async connectEverything() {
    const client = new ClientV2(info);
    const transport = new StdioV2(stdio);
    await client.connect(transport);
    return { client, pid: transport.pid ?? undefined, close: () => client.close() };
  },
  async connectTo(server, capabilities) {
    const client = new ClientV2(info, capabilities && { capabilities });
    await this.reconnect(client, server);
    return { client, pid: undefined, close: () => client.close() };
  },
  async reconnect(client, server) {
    if (!(client instanceof ClientV2)) throw new TypeError("A client of the other generation.");
    const [ours, theirs] = InMemoryTransportV2.createLinkedPair();
    await server.connect(theirs);
    await client.connect(ours);
  },
};

export const generations: readonly Generation[] = [v1, v2];

export async function closing(opening: Promise<Connection>): Promise<Connection> {
  const connection = await opening;
  onTestFinished(() => connection.close());
  return connection;
}
