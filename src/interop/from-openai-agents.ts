import { isRecord, refuseTool } from "../core/kit.ts";
import { type JsonSchema, type ToolContext, toolResult } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { whenReady } from "../shared/promises.ts";
import { type ForeignTool, isCallable, methodOf, toContentResult } from "./foreign-tool.ts";

/**
 * Converts `tool({ name, description, parameters, execute })` from `@openai/agents-core`. The tool parses its arguments itself,
 * so a call with invalid arguments fails.
 *
 * @see https://openai.github.io/openai-agents-js/guides/tools/
 */
export function fromOpenAiAgents(tool: UnknownRecord, name: unknown): ForeignTool {
  const { parameters, needsApproval, isEnabled, timeoutMs } = tool;
  for (const field of ["inputGuardrails", "outputGuardrails"]) {
    const guardrails = tool[field];
    if (!Array.isArray(guardrails) || guardrails.length === 0) continue;
    throw refuseTool(
      name,
      `has "${field}", which only OpenAI Agents' runner applies: pass { ...tool, ${field}: [] } to use the tool without guardrails`,
    );
  }
  const invoke = methodOf(tool, "invoke");
  const asks = methodOf(tool, "needsApproval");
  const enabled = methodOf(tool, "isEnabled");
  const call = async (args: unknown, context: ToolContext): Promise<unknown> => {
    const runContext = toRunContext(context.context);
    if (isCallable(isEnabled) && (await enabled(runContext, { name: "" })) === false) {
      return toolResult({ success: false, error: "The tool is disabled." });
    }
    const output = await invoke(runContext, JSON.stringify(args), toDetails(tool, args, context));
    return readOutput(output, tool);
  };
  return {
    name: tool["name"],
    description: tool["description"],
    schema: { inputSchema: parameters as JsonSchema },
    parses: true,
    ...(typeof timeoutMs === "number" ? { timeoutMs } : {}),
    needsApproval: (parse) => {
      if (!isCallable(needsApproval)) return needsApproval === true;
      return (args, { callId, context }) =>
        whenReady(parse(args), (parsed) => {
          if (parsed === undefined) return true;
          return whenReady(asks(toRunContext(context), parsed.value, callId), (needs) => needs !== false);
        });
    },
    execute: call,
  };
}

/** Creates a RunContext for a tool. OpenAI Agents does not run here, so the usage is 0 and every tool counts as approved. */
function toRunContext(context: unknown): UnknownRecord {
  const usage = { requests: 0, inputTokens: 0, outputTokens: 0, totalTokens: 0, inputTokensDetails: [], outputTokensDetails: [] };
  return {
    context,
    usage,
    isToolApproved: () => true,
    approveTool: () => {},
    rejectTool: () => {},
    toJSON: () => ({ context, usage, approvals: {} }),
  };
}

function toDetails({ name }: UnknownRecord, args: unknown, context: ToolContext): UnknownRecord {
  const { callId } = context;
  return {
    toolCall: { type: "function_call", callId, name, arguments: JSON.stringify(args), status: "completed" },
    get signal() {
      return context.signal;
    },
  };
}

/** The text that `tool()` returns if `execute` throws and no `errorFunction` is set. Older versions append the error to it. */
const failed = "An error occurred while running the tool. Please try again.";

function readOutput(output: unknown, { name, timeoutMs }: UnknownRecord): unknown {
  if (typeof output === "string") {
    const isFailure = output.startsWith(failed) || output === `Tool '${String(name)}' timed out after ${String(timeoutMs)}ms.`;
    return isFailure ? toolResult({ success: false, error: output }) : output;
  }
  const blocks = Array.isArray(output) ? output : [output];
  return blocks.length > 0 && blocks.every(isStructuredOutput) ? toContentResult(blocks) : output;
}

function isStructuredOutput(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { type, text, image, imageUrl, file, fileData, fileUrl, fileId, data } = value;
  if (type === "text") return typeof text === "string";
  if (type === "image") return [image, imageUrl, fileId, data].some((held) => held !== undefined);
  return type === "file" && [file, fileData, fileUrl, fileId].some((held) => held !== undefined);
}
