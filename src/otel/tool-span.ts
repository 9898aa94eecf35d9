import { type Context, SpanKind } from "@opentelemetry/api";
import { isRecord, type Json, type LoopEvents, type ToolDefinition } from "../core/entry-kit.ts";
import { cleanName, countsAsError } from "../core/observe-kit.ts";
import { errorFacts, genAi, operations, own } from "./facts.ts";
import type { LiveSpan } from "./live-span.ts";
import type { TracePorts } from "./instruments.ts";

export interface ToolPlace {
  readonly ports: TracePorts;
  readonly parent: Context;
  readonly agentName: string | undefined;
  /** The called tool. Undefined if the model invented the tool name. */
  readonly definition: ToolDefinition | undefined;
}

/** `args` is undefined if content is not captured. */
export interface SpannedCall extends Omit<LoopEvents["tool-start"], "args"> {
  readonly args: Json | undefined;
}

export class ToolSpan {
  readonly #span: LiveSpan;
  readonly #place: ToolPlace;
  readonly #startedAt: number;
  /** False if the call was refused, or if it reused the result of the same call in a discarded attempt. */
  #hasRun = false;

  constructor({ callId, name, index, args, iteration }: SpannedCall, place: ToolPlace) {
    const { ports, parent, definition } = place;
    this.#place = place;
    this.#startedAt = ports.clock.now();
    const { content } = ports;
    const attributes = {
      [genAi.operationName]: operations.call,
      [genAi.toolName]: cleanName(name),
      [genAi.toolCallId]: cleanName(callId),
      [genAi.toolType]: "function",
      [genAi.toolDescription]: definition?.description,
      [genAi.conversationId]: ports.conversationId,
      [own.iteration]: iteration,
      [own.toolIndex]: index,
    };
    // Span names must come from a small set, so a tool name that the model invented is left out.
    const spanName = definition === undefined ? operations.call : `${operations.call} ${name}`;
    this.#span = ports.start(spanName, { kind: SpanKind.INTERNAL, attributes }, parent);
    if (args !== undefined)
      this.#span.set({ [genAi.toolCallArguments]: content.write(content.keep("tool-arguments", () => args)) });
  }

  /** The context in which the tool runs. Reading this property marks the call as executed. */
  get context(): Context {
    this.#hasRun = true;
    return this.#span.context;
  }

  end({ name, outcome, result }: LoopEvents["tool-end"]): void {
    const { ports, agentName } = this.#place;
    const { content } = ports;
    const error = errorFacts(countsAsError(outcome) ? outcome : undefined);
    const kept = content.keep("tool-result", () => result);
    this.#span.set({
      ...error,
      [own.toolOutcome]: outcome,
      [own.toolExecuted]: this.#hasRun,
      [genAi.toolCallResult]: content.write(kept),
    });
    if (countsAsError(outcome)) this.#span.fail(content.describe(reasonOf(kept)));
    this.#span.end();
    if (!this.#hasRun) return;
    const seconds = (ports.clock.now() - this.#startedAt) / 1_000;
    const dimensions = { [genAi.toolName]: name, [genAi.toolType]: "function", [genAi.agentName]: agentName };
    ports.instruments.toolDuration(seconds, { ...dimensions, ...error });
  }

  abandon(errorType: string): void {
    this.#span.set({ ...errorFacts(errorType), [own.toolExecuted]: this.#hasRun });
    this.#span.fail(undefined);
    this.#span.end();
  }
}

function reasonOf(kept: Json | undefined): Json | undefined {
  return isRecord(kept) ? kept["reason"] : undefined;
}
