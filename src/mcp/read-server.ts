import { isRecord, listOf, recordOf, textOf } from "../core/kit.ts";
import { isText } from "../shared/errors/check-fields.ts";
import { type JsonSchema, LoopError } from "../core/index.ts";
import { textOrNone } from "../shared/plain-error.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { compileForeignSchema } from "../json-schema/from-json-schema.ts";
import { isConnected, type McpClient, type McpTool, type McpToolPage, requestPage } from "./mcp-client.ts";

/** The maximum number of pages of tools. Without it, a faulty server could keep returning pages forever. */
const maxPages = 1_000;

/**
 * Requests all pages of tools. Leaves out and reports each tool whose input schema does not describe an object, so that one invalid tool
 * does not make the others unavailable (github.com/anthropics/claude-code/issues/88049).
 */
export async function listTools(client: McpClient, report: (error: unknown) => void = () => {}): Promise<readonly McpTool[]> {
  if (!isConnected(client)) throw new Error("Not connected");
  const capabilities = client.getServerCapabilities();
  if (capabilities !== undefined && capabilities.tools === undefined) return [];
  const byName = new Map<string, McpTool>();
  const asked = new Set<string | undefined>();
  for (let cursor: string | undefined; asked.size < maxPages;) {
    // Stops at a repeated cursor, because some servers send one with their last page (github.com/DeusData/codebase-memory-mcp/issues/1247).
    if (asked.has(cursor)) return [...byName.values()];
    asked.add(cursor);
    const page: McpToolPage = readPage(await requestPage(client, cursor), report);
    for (const tool of page.tools) if (!byName.has(tool.name)) byName.set(tool.name, tool);
    cursor = page.nextCursor;
    if (cursor === undefined) return [...byName.values()];
  }
  throw new Error(`The MCP server has more than ${maxPages} pages of tools, which is the maximum.`);
}

export interface McpAnswer {
  readonly content: readonly unknown[];
  readonly structuredContent: unknown;
  readonly isError: boolean;
  readonly task: UnknownRecord | undefined;
  readonly meta: UnknownRecord | undefined;
}

type FieldChecks = { readonly [field: string]: (value: unknown) => boolean };

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

function readPage(page: unknown, report: (error: unknown) => void): McpToolPage {
  const { tools, nextCursor } = recordOf(page);
  if (!Array.isArray(tools) || !(isAbsent(nextCursor) || typeof nextCursor === "string")) {
    throw new Error("The MCP server sent an invalid list of tools.");
  }
  const valid = tools.filter((tool: unknown): tool is McpTool => {
    if (isTool(tool)) return true;
    const toolName = textOf(recordOf(tool).name);
    report(new LoopError("invalid-schema", { toolName, problem: "does not describe an object" }));
    return false;
  });
  return { tools: valid.map(readTool), nextCursor: textOrNone(nextCursor) };
}

function isTool(tool: unknown): tool is McpTool {
  if (!isRecord(tool) || typeof tool.name !== "string" || !isRecord(tool.inputSchema)) return false;
  const { type = "object" } = tool.inputSchema;
  return type === "object";
}

/** Removes fields of the wrong type, so that an invalid hint has no effect. */
function readTool(tool: McpTool): McpTool {
  const { annotations, execution, ...rest } = withFields(tool, toolFields);
  return {
    ...rest,
    ...(annotations === undefined ? {} : { annotations: withFields(annotations, annotationFields) }),
    ...(execution === undefined ? {} : { execution: withFields(execution, executionFields) }),
  };
}

function withFields<Fields extends object>(fields: Fields, checks: FieldChecks): Fields {
  const kept = Object.entries(fields).filter(
    ([field, value]) => !Object.hasOwn(checks, field) || checks[field]?.(value) === true,
  );
  return Object.fromEntries(kept) as Fields;
}

/** Reads a tool call's result. It is a success only if `isError` is absent or false. Throws if `answer` is not a valid result. */
export function readAnswer(answer: unknown): McpAnswer {
  if (!isRecord(answer) || !(isAbsent(answer.content) || Array.isArray(answer.content)))
    throw new Error("the response is not the result of a tool call");
  const { content, structuredContent, isError, task, _meta } = answer;
  return {
    content: listOf(content),
    structuredContent: structuredContent ?? undefined,
    isError: !isAbsent(isError) && isError !== false,
    task: isRecord(task) ? task : undefined,
    meta: isRecord(_meta) ? _meta : undefined,
  };
}

/** True for undefined, and for null, which some serializers write for absent fields. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/**
 * Throws if the structured content is missing or does not match the output schema. Accepts every error result, because an error
 * result needs no structured content. Also accepts every result if the schema is invalid, or if the result is too large to check.
 */
export function checkAnswer({ name, outputSchema }: McpTool, { structuredContent, isError, task }: McpAnswer): void {
  if (outputSchema === undefined || isError || task !== undefined) return;
  if (structuredContent === undefined)
    throw new Error(`The tool "${name}" has an output schema, but did not return structured content.`);
  const made = compileForeignSchema(outputSchema as JsonSchema);
  const judged = "judge" in made ? made.judge(structuredContent) : { unchecked: made.problem };
  if (!("issues" in judged) || judged.issues.length === 0) return;
  const found = judged.issues.map(({ message, path = [] }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`));
  throw new Error(`Structured content does not match the tool's output schema: ${found.join("; ")}`);
}
