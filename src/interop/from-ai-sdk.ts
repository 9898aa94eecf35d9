import { assertNever, isThenable, type UnknownRecord } from "../shared/guards.ts";
import { type AssistantPart, hasSucceeded, isRecord, listOf, recordOf, refuseTool, type ToolSchema } from "../core/kit.ts";
import type { StandardResult } from "../core/types/common.ts";
import { isStandardSchema } from "../shared/argument-schema.ts";
import {
  defer,
  type JsonSchema,
  type Message,
  type ToolContext,
  toolResult,
  type ToolResultPart,
  type UserMessage,
} from "../core/index.ts";
import type { NeedsApproval } from "../core/types/tool.ts";
import { promiseOrValue, whenReady } from "../shared/promises.ts";
import { textOrNone } from "../shared/plain-error.ts";
import {
  type ForeignSchema,
  type ForeignTool,
  isCallable,
  methodOf,
  toContentResult,
  toIssues,
  toStandardSchema,
} from "./foreign-tool.ts";

type ModelMessage = { readonly role: string; readonly content: unknown };

/**
 * Converts the messages before a tool call. Omits the assistant message that contains the call, as the AI SDK does.
 *
 * @see https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message
 */
function toModelMessages(messages: readonly Message[], callId: string): readonly ModelMessage[] {
  const asking = messages.map((message) => asksFor(message, callId)).lastIndexOf(true);
  return (asking === -1 ? messages : messages.slice(0, asking)).map(toModelMessage);
}

function asksFor(message: Message, callId: string): boolean {
  return message.role === "assistant" && message.content.some((part) => part.type === "tool-call" && part.callId === callId);
}

function toModelMessage(message: Message): ModelMessage {
  switch (message.role) {
    case "user":
      return { role: "user", content: toUserContent(message) };
    case "assistant":
      return { role: "assistant", content: message.content.map(toAssistantPart) };
    case "tool":
      return { role: "tool", content: message.results.map(toModelResult) };
    default:
      return assertNever(message);
  }
}

function toUserContent({ content }: UserMessage): unknown {
  if (typeof content === "string") return content;
  return content.map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    return part.type === "image"
      ? { type: "image", image: part.data, mediaType: part.mediaType }
      : { type: "file", data: part.data, mediaType: part.mediaType, filename: part.filename };
  });
}

function toAssistantPart(part: AssistantPart): unknown {
  if (part.type !== "tool-call") return { type: part.type, text: part.text };
  return { type: "tool-call", toolCallId: part.callId, toolName: part.name, input: part.args };
}

function toModelResult(part: ToolResultPart): unknown {
  const { callId, name, result } = part;
  const kind = typeof result === "string" ? "text" : "json";
  const output = { type: hasSucceeded(part) ? kind : `error-${kind}`, value: result };
  return { type: "tool-result", toolCallId: callId, toolName: name, output };
}

/**
 * Converts `tool({ description, inputSchema, execute })` from the `ai` package, versions 5, 6 and 7. If the tool has no
 * `execute`, its calls wait for an outside result, which `outputSchema` validates.
 *
 * @see https://ai-sdk.dev/docs/reference/ai-sdk-core/tool
 */
export function fromAiSdk(tool: UnknownRecord, name: unknown): ForeignTool {
  const { description, inputSchema, outputSchema, needsApproval, toModelOutput } = tool;
  if (isCallable(description)) throw refuseTool(name, 'has a function as its "description": replace the function with a string');
  const facts = {
    name: tool["name"],
    description,
    schema: readAiSdkSchema(inputSchema, name),
    parses: false,
    needsApproval: () => readApproval(needsApproval),
  };
  if (tool["execute"] === undefined) {
    const checked = toChecked(outputSchema);
    return { ...facts, ...checked, replay: "safe", execute: () => defer({ fromPage: true }) };
  }
  const execute = methodOf(tool, "execute");
  return {
    ...facts,
    execute(args, context) {
      const answer = execute(args, toExecutionOptions(context, context.callId));
      if (!isCallable(toModelOutput)) return isAsyncIterable(answer) ? readSteps(answer, (last) => last) : answer;
      const convert = methodOf(tool, "toModelOutput");
      const conclude = (value: unknown): unknown =>
        whenReady(convert({ toolCallId: context.callId, input: args, output: value }), (said) => readModelOutput(said, value));
      return isAsyncIterable(answer) ? readSteps(answer, conclude) : whenReady(answer, conclude);
    },
  };
}

function toChecked(schema: unknown): Pick<ForeignTool, "outputSchema"> {
  const output = schema as ToolSchema;
  return isStandardSchema(output) ? { outputSchema: output } : {};
}

type View = Pick<ToolContext, "messages" | "signal" | "context">;

/**
 * Creates the options for `execute`. Uses getters for the signal and the transcript, because both are expensive to create and most tools
 * read neither.
 */
function toExecutionOptions(view: View, toolCallId: string): UnknownRecord {
  return {
    toolCallId,
    get messages() {
      return toModelMessages(view.messages, toolCallId);
    },
    get abortSignal() {
      return view.signal;
    },
    experimental_context: view.context,
    context: view.context,
  };
}

/**
 * Reads an `inputSchema`: any library's schema, a function that returns one, or the result of the AI SDK's `jsonSchema()` or `zodSchema()`.
 */
function readAiSdkSchema(given: unknown, name: unknown): ForeignSchema {
  const schema: unknown = isCallable(given) && !("~standard" in given) ? given() : given;
  if (!isRecord(schema) || isStandardSchema(schema) || !("jsonSchema" in schema)) return { inputSchema: schema as ToolSchema };
  const json: unknown = schema["jsonSchema"];
  if (isThenable(json))
    throw refuseTool(
      name,
      'has a promise as the "jsonSchema" of its "inputSchema": await the promise, and set its value as "jsonSchema"',
    );
  if (!isRecord(json))
    throw refuseTool(
      name,
      'has an "inputSchema" without a JSON Schema: make the schema with jsonSchema() or zodSchema() from the AI SDK',
    );
  const plain = json as JsonSchema;
  if (!isCallable(schema["validate"])) return { inputSchema: plain };
  const validate = methodOf(schema, "validate");
  return {
    inputSchema: toStandardSchema("ai-sdk", plain, (args) => {
      const answer = promiseOrValue(validate(args));
      return answer instanceof Promise ? answer.then(toResult) : toResult(answer);
    }),
  };
}

function toResult(answer: unknown): StandardResult<unknown> {
  if (!isRecord(answer)) return { issues: [{ message: "The validation returned no result." }] };
  return answer["success"] === true ? { value: answer["value"] } : toIssues(answer["error"]);
}

function readApproval(needs: unknown): boolean | NeedsApproval<unknown> {
  if (!isCallable(needs)) return needs === true;
  return (args, view) => whenReady(needs(args, toExecutionOptions(view, view.callId)), (answer) => answer !== false);
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Yields the results of a generator. As in the AI SDK, the last yielded value is the result. The return value is ignored. */
async function* readSteps(results: AsyncIterable<unknown>, conclude: (last: unknown) => unknown): AsyncGenerator {
  let last: unknown;
  for await (const result of results) {
    last = result;
    yield result;
  }
  return conclude(last);
}

function readModelOutput(said: unknown, output: unknown): unknown {
  const { type, value, reason } = recordOf(said);
  switch (type) {
    case "text":
    case "json":
      return toolResult({ data: value, metadata: output });
    case "content":
      return toContentResult(listOf(value), { metadata: output });
    case "error-text":
    case "error-json":
      return toolResult({ success: false, error: textOrNone(value) ?? JSON.stringify(value), metadata: output });
    case "execution-denied":
      return toolResult({ success: false, error: textOrNone(reason) ?? "The execution was denied.", metadata: output });
    default:
      throw new TypeError("toModelOutput() returned a value that is not an AI SDK ToolResultOutput.");
  }
}
