import { isRecord, refuseTool } from "../core/kit.ts";
import type { JsonSchema } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { withoutNulls } from "../shared/adapters/object-schema.ts";
import { whenReady } from "../shared/promises.ts";
import {
  type Callable,
  type ForeignSchema,
  type ForeignTool,
  isCallable,
  methodOf,
  toContentResult,
  toIssues,
  toStandardSchema,
} from "./foreign-tool.ts";

/**
 * Converts an Anthropic SDK tool made by `betaZodTool`, `betaTool` or `betaStandardSchemaTool` from
 * `@anthropic-ai/sdk/helpers/beta`. A tool that Anthropic defines, such as the memory tool, has no schema.
 *
 * @see https://github.com/anthropics/anthropic-sdk-typescript/blob/main/helpers.md
 */
export function fromAnthropic(tool: UnknownRecord, name: unknown): ForeignTool {
  const run = methodOf(tool, "run");
  return {
    name: tool["name"],
    description: tool["description"],
    schema: readAnthropicSchema(tool, name),
    parses: false,
    execute(args, context) {
      const toolUse = { type: "tool_use", id: context.callId, name: tool["name"], input: args };
      const answer = run(args, {
        toolUse,
        toolUseBlock: toolUse,
        get signal() {
          return context.signal;
        },
      });
      return whenReady(answer, (output) => (Array.isArray(output) ? toContentResult(output) : output));
    },
  };
}

function readAnthropicSchema(tool: UnknownRecord, name: unknown): ForeignSchema | undefined {
  const { input_schema: given, parse } = tool;
  if (given === undefined) return undefined;
  if (!isRecord(given))
    throw refuseTool(name, 'has an "input_schema" that is not a JSON Schema: use an object with the JSON Schema');
  const json = withoutNulls(given) as JsonSchema;
  const parseArgs = methodOf(tool, "parse");
  if (!isCallable(parse) || givesBack(parseArgs)) return { inputSchema: json };
  return {
    inputSchema: toStandardSchema("anthropic", json, (args) => {
      try {
        return { value: parseArgs(args) };
      } catch (error) {
        return toIssues(error);
      }
    }),
  };
}

/** True if `parse` returns any input without validation. The test input is a symbol, which every object schema rejects. */
function givesBack(parse: Callable): boolean {
  const probe = Symbol("probe");
  try {
    return parse(probe) === probe;
  } catch {
    return false;
  }
}
