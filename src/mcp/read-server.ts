// Reads tools and results from the JSON of a server, whose types are unchecked.

import { isConnected, type McpClient, type McpTool, type McpToolPage, requestPage } from "./mcp-client.ts";
import { isRecord, listOf, recordOf, textOrNone, type UnknownRecord } from "../core/entry-kit.ts";

/** Most pages, so that a server with endless pages is not listed forever. */
const mostPages = 1_000;

/** Lists all tools, page after page. Of several with the same name, the first counts. Empty if the server reports that it has no tools. */
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

/** The result of a call, with checked types. */
export interface McpAnswer {
  readonly content: readonly unknown[];
  readonly structuredContent: unknown;
  readonly isError: boolean;
  readonly task: UnknownRecord | undefined;
  readonly meta: UnknownRecord | undefined;
}

type FieldChecks = { readonly [field: string]: (value: unknown) => boolean };

const isText = (value: unknown): boolean => typeof value === "string";
const isFlag = (value: unknown): boolean => typeof value === "boolean";

const toolFields: FieldChecks = {
  title: isText,
  description: isText,
  outputSchema: isRecord,
  annotations: isRecord,
  execution: isRecord,
  _meta: isRecord,
};
const annotationFields: FieldChecks = {
  title: isText,
  readOnlyHint: isFlag,
  destructiveHint: isFlag,
  idempotentHint: isFlag,
  openWorldHint: isFlag,
};
const executionFields: FieldChecks = { taskSupport: isText };

/** Reads one page of tools. Throws for anything else. */
function readPage(page: unknown): McpToolPage {
  const { tools, nextCursor } = recordOf(page);
  if (!Array.isArray(tools) || !tools.every(isTool) || !(isAbsent(nextCursor) || typeof nextCursor === "string")) {
    throw new Error("The MCP server gave no list of tools.");
  }
  return { tools: tools.map(readTool), nextCursor: textOrNone(nextCursor) };
}

function isTool(tool: unknown): tool is McpTool {
  return isRecord(tool) && typeof tool.name === "string" && isRecord(tool.inputSchema);
}

/** Reads a tool. A field of a wrong type counts as absent: a hint of a wrong type must never grant anything. */
function readTool(tool: McpTool): McpTool {
  const { annotations, execution, ...rest } = withFields(tool, toolFields);
  return {
    ...rest,
    ...(annotations === undefined ? {} : { annotations: withFields(annotations, annotationFields) }),
    ...(execution === undefined ? {} : { execution: withFields(execution, executionFields) }),
  };
}

/** Returns a copy without the fields that fail their check. */
function withFields<Fields extends object>(fields: Fields, checks: FieldChecks): Fields {
  const kept = Object.entries(fields).filter(
    ([field, value]) => !Object.hasOwn(checks, field) || checks[field]?.(value) === true,
  );
  return Object.fromEntries(kept) as Fields;
}

/** Reads the result of a call. Only an absent or false `isError` means success. Throws if it is not a result. */
export function readAnswer(answer: unknown): McpAnswer {
  if (!isRecord(answer) || !(isAbsent(answer.content) || Array.isArray(answer.content)))
    throw new Error("The answer is not the result of a call.");
  const { content, structuredContent, isError, task, _meta } = answer;
  return {
    content: listOf(content),
    structuredContent,
    isError: !isAbsent(isError) && isError !== false,
    task: isRecord(task) ? task : undefined,
    meta: isRecord(_meta) ? _meta : undefined,
  };
}

/** Some serializers write null for absent fields. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
