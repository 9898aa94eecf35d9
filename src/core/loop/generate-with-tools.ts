// Runs the loop with tool descriptions and a single function that executes every tool.

import type { LoopOptions, OnIteration, Tool, ToolContext } from "../types/loop-options.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { Message } from "../types/message.ts";
import type { Provider } from "../types/provider.ts";
import type { ToolDefinition } from "../types/tool.ts";
import type { Pricing } from "../types/common.ts";
import { checkEither, checkFields, type Checks, is, isFunction } from "../../shared/errors/check-fields.ts";
import { invalidOption } from "../../shared/errors/loop-error.ts";
import { isRecord } from "../../shared/guards.ts";
import { onIteration as watchIterations } from "../middleware/iteration-hooks.ts";
import { beginRun } from "./run-tool-loop.ts";
import { unwrap } from "./unwrap.ts";

/** The request to the model: a conversation in `messages`, or one question in `prompt`. */
export type GenerateRequest = Pick<LoopOptions, "system" | "modelSettings" | "toolChoice"> &
  (
    | { /** The conversation so far. */ readonly messages: readonly Message[]; readonly prompt?: undefined }
    | { /** One question from a user. */ readonly prompt: string; readonly messages?: undefined }
  );

/** The tool descriptions, and the one function that runs all tools. */
export interface ToolExecutor {
  /** The tool descriptions that the model receives. */
  readonly definitions: readonly ToolDefinition[];
  /**
   * Runs one tool call, and returns the result or a promise for the result. If the function throws, the model receives a failed result. The
   * arguments are not validated.
   */
  execute(name: string, args: unknown, context: ToolContext): unknown;
}

/** Limits and callbacks for `generateWithTools`. */
export interface GenerateOptions {
  /**
   * The maximum number of iterations. Each iteration requests one message from the model. The tool calls in the final iteration
   * still run. Default 10.
   */
  readonly maxIterations?: number | undefined;
  /** The maximum cost in USD, as computed by `pricing`. Default: no limit. */
  readonly maxCostUSD?: number | undefined;
  /** Computes the cost of each stream in USD. Required if `maxCostUSD` is set. */
  readonly pricing?: Pricing | undefined;
  /**
   * Called after each iteration, with the number of finished iterations. Return `{ abort: true, reason }` to end the run. The run
   * also ends if the function throws.
   */
  readonly onIteration?: OnIteration | undefined;
  /** The run ends immediately when this signal is aborted. */
  readonly abortSignal?: AbortSignal | undefined;
}

const defaultIterations = 10;

const requestChecks: Checks<GenerateRequest> = {
  messages: ["an array of messages", Array.isArray],
  prompt: is.text,
  system: is.any,
  modelSettings: is.any,
  toolChoice: is.any,
};

const optionChecks: Checks<GenerateOptions> = {
  maxIterations: { min: 1 },
  maxCostUSD: ["a number greater than 0", (value) => typeof value === "number" && value > 0],
  pricing: is.fn,
  onIteration: is.fn,
  abortSignal: ["an AbortSignal", (value) => value instanceof AbortSignal],
};

/**
 * Sends the request to a model, runs the tools that the model calls, and repeats until there is an answer. Resolves to the result
 * of the completed run.
 *
 * Rejects with:
 *
 * - IterationLimitError if `maxIterations` is reached without an answer,
 * - CostLimitError if `maxCostUSD` is reached, or cannot be checked because a cost is unknown,
 * - AbortedError if `abortSignal` is aborted, or if `onIteration` returns `abort: true`,
 * - the error that `unwrap` throws for any other ending.
 *
 * Each of these errors has the partial result in `error.result`. If a tool throws, the promise does not reject: the model receives a failed
 * result. If an argument is invalid, the promise rejects with a LoopError before any request.
 *
 * @example
 * const { text } = await generateWithTools(
 *   openaiChat({ client: new OpenAI(), model: "gpt-5" }),
 *   { prompt: "Do I need a coat in Oslo?" },
 *   { definitions, execute: (name, args) => dispatch(name, args) },
 *   { maxIterations: 5 },
 * );
 */
export async function generateWithTools(
  provider: Provider,
  request: GenerateRequest,
  toolExecutor: ToolExecutor,
  options: GenerateOptions = {},
): Promise<LoopResult> {
  checkFields("options", options, optionChecks);
  const { maxIterations = defaultIterations, maxCostUSD, pricing, onIteration, abortSignal } = options;
  if (maxCostUSD !== undefined && pricing === undefined) {
    throw invalidOption("pricing", 'a function if "maxCostUSD" is set', pricing);
  }
  const run = beginRun({
    provider,
    ...toConversation(request),
    tools: toTools(toolExecutor),
    limits: { maxIterations, ...(maxCostUSD === undefined ? {} : { maxCostUSD }) },
    pricing,
    middleware: [onIteration && watchIterations(onIteration)],
    signal: abortSignal,
  });
  return unwrap(await run.result);
}

function toConversation(request: GenerateRequest): Pick<LoopOptions, "messages" | "system" | "modelSettings" | "toolChoice"> {
  checkFields("request", request, requestChecks);
  const { messages, prompt, system, modelSettings, toolChoice } = request;
  const settings = { system, modelSettings, toolChoice };
  checkEither("request", request, ["messages", "prompt"]);
  return { messages: messages ?? [{ role: "user", content: prompt ?? "" }], ...settings };
}

/** Creates one tool for each definition, so that the definitions are checked like any other tools. */
function toTools(executor: ToolExecutor): readonly Tool[] {
  if (!isRecord(executor) || !Array.isArray(executor.definitions)) {
    throw invalidOption("toolExecutor", 'an object with a "definitions" array and an "execute" function', executor);
  }
  if (!isFunction(executor.execute)) throw invalidOption("toolExecutor.execute", "a function", executor.execute);
  const definitions: readonly ToolDefinition[] = executor.definitions;
  return definitions.map((definition) => ({
    ...definition,
    execute: (args: unknown, context: ToolContext): unknown => executor.execute(definition.name, args, context),
  }));
}
