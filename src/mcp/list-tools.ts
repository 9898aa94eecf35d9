// Asks a server for all of its tools.

import { isConnected, type McpClient, type McpTool, type McpToolPage, requestPage } from "./mcp-client.ts";
import { readPage } from "./read-server.ts";

/** A server that goes on for ever is none to wait for. */
const mostPages = 1_000;

/** All tools, page after page; of several with one name the first. None where the server says that it has no tools. */
export async function listTools(client: McpClient): Promise<readonly McpTool[]> {
  if (!isConnected(client)) throw new Error("Not connected");
  const capabilities = client.getServerCapabilities();
  if (capabilities !== undefined && capabilities.tools === undefined) return [];
  const byName = new Map<string, McpTool>();
  const asked = new Set<string | undefined>();
  for (let cursor: string | undefined; asked.size < mostPages;) {
    if (asked.has(cursor)) throw new Error("The MCP server lists its tools in a circle: it named one page twice.");
    asked.add(cursor);
    const page: McpToolPage = readPage(await requestPage(client, cursor));
    for (const tool of page.tools) if (!byName.has(tool.name)) byName.set(tool.name, tool);
    cursor = page.nextCursor;
    if (cursor === undefined) return [...byName.values()];
  }
  throw new Error(`The MCP server lists its tools on more than ${mostPages} pages.`);
}
