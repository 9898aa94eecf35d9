import { isRecord, recordOf, type ToolSchema } from "../core/kit.ts";
import { textOrNone } from "../shared/plain-error.ts";
import { type ToolContext, toolResult } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { type ForeignSchema, type ForeignTool, methodOf, toContentResult } from "./foreign-tool.ts";

/**
 * Converts `tool(func, { name, description, schema })` or a StructuredTool instance from `@langchain/core/tools`. Invokes the
 * tool with the whole call, as LangChain's agents do. The tool then returns a ToolMessage, which may have an artifact.
 *
 * @see https://docs.langchain.com/oss/javascript/langchain/tools
 */
export function fromLangChain(tool: UnknownRecord): ForeignTool {
  const invoke = methodOf(tool, "invoke");
  const call = async (args: unknown, context: ToolContext): Promise<unknown> => {
    const message = await invoke({ type: "tool_call", id: context.callId, name: tool["name"], args }, toConfig(context));
    return readAnswer(message, tool["returnDirect"] === true);
  };
  return {
    name: tool["name"],
    description: tool["description"],
    schema: readLangChainSchema(tool["schema"]),
    parses: true,
    execute: call,
  };
}

function toConfig({ signal, context, progress }: ToolContext): UnknownRecord {
  return {
    signal,
    ...(context === undefined ? {} : { context }),
    // LangChain passes a generator tool's progress to this callback.
    callbacks: [{ handleToolEvent: (chunk: unknown) => progress(chunk) }],
  };
}

function readLangChainSchema(schema: unknown): ForeignSchema {
  const inputSchema = schema as ToolSchema;
  return takesText(schema) ? { inputSchema, jsonSchema: textSchema } : { inputSchema };
}

const textSchema = { type: "object", properties: { input: { type: "string" } } } as const;

/** True if the tool takes plain text. For a tool without a schema, LangChain sets a zod 3 transform of `{ input }`. */
function takesText(schema: unknown): boolean {
  const { typeName, schema: inner } = recordOf(recordOf(schema)["_def"]);
  if (typeName !== "ZodEffects" || !isRecord(inner) || !isRecord(inner["shape"])) return false;
  const names = Object.keys(inner["shape"]);
  return names.length === 1 && names[0] === "input";
}

function readAnswer(message: unknown, endTurn: boolean): unknown {
  if (!isToolMessage(message)) return endTurn ? toolResult({ data: message, endTurn }) : message;
  const { content, artifact, status } = message;
  const more = { ...(artifact === undefined ? {} : { metadata: artifact }), ...(endTurn ? { endTurn } : {}) };
  const answer = Array.isArray(content) ? toContentResult(content, more) : toolResult({ data: content, ...more });
  if (status !== "error") return answer;
  return toolResult({ success: false, error: textOrNone(answer.data), content: answer.content, metadata: artifact });
}

function isToolMessage(value: unknown): value is UnknownRecord {
  return isRecord(value) && value["type"] === "tool" && typeof value["tool_call_id"] === "string" && "content" in value;
}
