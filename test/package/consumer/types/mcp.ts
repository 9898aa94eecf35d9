// Clients of both SDK generations are accepted without a cast.

import { Client } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { createMcpRegistry, type McpRegistry } from "turnwright/mcp";

export async function connect(): Promise<readonly McpRegistry[]> {
  const about = { name: "app", version: "1" };
  return [
    await createMcpRegistry({ client: new Client(about) }),
    await createMcpRegistry({ client: new ClientV1(about), prefix: "old_", onError: (error) => console.error(error) }),
  ];
}
