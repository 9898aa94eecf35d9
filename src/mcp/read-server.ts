// Reads tools and results from the JSON that a server sends, and checks their types.

import { isConnected, type McpClient, type McpTool, type McpToolPage, requestPage } from "./mcp-client.ts";
import { isRecord, listOf, recordOf, textOrNone, type UnknownRecord } from "../core/entry-kit.ts";

/** The maximum number of pages. It stops listing a server that never ends its pages. */
const mostPages = 1_000;

/** Lists all tools from all pages. If several have the same name, the first is used. Empty if the server declares no tools. */
export async function listTools(client: McpClient): Promise<readonly McpTool[]> {
  if (!isConnected(client)) throw new Error("Not connected");
  const capabilities = client.getServerCapabilities();
  if (capabilities !== undefined && capabilities.tools === undefined) return [];
  const byName = new Map<string, McpTool>();
  const asked = new Set<string | undefined>();
  for (let cursor: string | undefined; asked.size < mostPages;) {
    if (asked.has(cursor))
      throw new Error("Listing the tools of the MCP server would never end: it returned the same page cursor twice.");
    asked.add(cursor);
    const page: McpToolPage = readPage(await requestPage(client, cursor));
    for (const tool of page.tools) if (!byName.has(tool.name)) byName.set(tool.name, tool);
    cursor = page.nextCursor;
    if (cursor === undefined) return [...byName.values()];
  }
  throw new Error(`The MCP server has more than ${mostPages} pages of tools, which is the maximum.`);
}

/** The result of a tool call, with checked types. */
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

/** Reads one page of tools. Throws if the value is not a page of tools. */
function readPage(page: unknown): McpToolPage {
  const { tools, nextCursor } = recordOf(page);
  if (!Array.isArray(tools) || !tools.every(isTool) || !(isAbsent(nextCursor) || typeof nextCursor === "string")) {
    throw new Error("The MCP server sent an invalid list of tools.");
  }
  return { tools: tools.map(readTool), nextCursor: textOrNone(nextCursor) };
}

function isTool(tool: unknown): tool is McpTool {
  return isRecord(tool) && typeof tool.name === "string" && isRecord(tool.inputSchema);
}

/** Reads a tool. Fields with a wrong type are ignored, so that an invalid hint never grants anything. */
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

/** Reads the result of a call. It is a success only if `isError` is absent or false. Throws if the value is not a result. */
export function readAnswer(answer: unknown): McpAnswer {
  if (!isRecord(answer) || !(isAbsent(answer.content) || Array.isArray(answer.content)))
    throw new Error("the response is not the result of a tool call");
  const { content, structuredContent, isError, task, _meta } = answer;
  return {
    content: listOf(content),
    structuredContent,
    isError: !isAbsent(isError) && isError !== false,
    task: isRecord(task) ? task : undefined,
    meta: isRecord(_meta) ? _meta : undefined,
  };
}

/** True for an absent field. Some serializers write null for absent fields. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
