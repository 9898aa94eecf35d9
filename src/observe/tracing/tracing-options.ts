// Converts messages to span attributes, which are JSON arrays. Used only if `captureContent` is true. Format:
// github.com/open-telemetry/semantic-conventions-genai.

import { assertNever } from "../../shared/guards.ts";
import { type AssistantPart, checkFields, type Checks, is, isRecord } from "../../core/kit.ts";
import type { UserPart } from "../../core/types/common.ts";
import { dropPromise } from "../../shared/promises.ts";
import type { Json, Message, ModelChunk } from "../../core/index.ts";
import { redactSecrets } from "../../shared/redact-secrets.ts";
import type { Meter, MeterProvider, Tracer, TracerProvider } from "@opentelemetry/api";

/**
 * The kind of content passed to `redact`: text from models and users, tool arguments and results, and error messages from streams
 * and runs. "error" content is a string. A failed tool call's error is part of its "tool-result".
 */
export type ContentKind = "system" | "input-messages" | "output-messages" | "tool-arguments" | "tool-result" | "error";

/** The options for `tracing`. */
export interface TracingOptions {
  /**
   * Creates the spans. Default: a tracer from `tracerProvider`. Without `tracerProvider`, a tracer from the provider that is
   * global when the run begins.
   */
  readonly tracer?: Tracer | undefined;
  readonly tracerProvider?: TracerProvider | undefined;
  /**
   * Creates the metrics. Default: a meter from `meterProvider`. Without `meterProvider`, a meter from the provider that is global
   * when the run begins.
   */
  readonly meter?: Meter | undefined;
  readonly meterProvider?: MeterProvider | undefined;
  /** The name of the agent. Used in span names and as a metric attribute, so use only a few different names. Default: no name. */
  readonly agentName?: string | undefined;
  /** True to record messages, system prompts, arguments, results and error messages. Default false. */
  readonly captureContent?: boolean | undefined;
  /**
   * Receives a copy of the content, and returns the content to record instead. If `redact` returns undefined or throws, the content
   * is omitted. Credentials are always removed from the returned content. Default: content is not changed.
   */
  readonly redact?: ((content: Json, kind: ContentKind) => Json | undefined) | undefined;
}

const has =
  (method: string) =>
  (value: unknown): boolean =>
    isRecord(value) && typeof value[method] === "function";

const checks: Checks<TracingOptions> = {
  tracer: ["a tracer of @opentelemetry/api", has("startSpan")],
  tracerProvider: ["a tracer provider of @opentelemetry/api", has("getTracer")],
  meter: ["a meter of @opentelemetry/api", has("createHistogram")],
  meterProvider: ["a meter provider of @opentelemetry/api", has("getMeter")],
  agentName: ["a non-empty string", (value) => typeof value === "string" && value !== ""],
  captureContent: is.flag,
  redact: is.fn,
};

export function checkTracingOptions(options: TracingOptions): TracingOptions {
  checkFields("tracing", options, checks);
  return { ...options };
}

/**
 * Redacts content and writes it as JSON. If the redaction or the conversion to JSON fails, the content is omitted because
 * tracing must not affect the run.
 */
export class ContentWriter {
  readonly isOn: boolean;
  readonly #redact: TracingOptions["redact"];

  constructor({ captureContent = false, redact }: TracingOptions) {
    this.isOn = captureContent;
    this.#redact = redact;
  }

  keep(kind: ContentKind, content: () => Json): Json | undefined {
    if (!this.isOn) return undefined;
    try {
      // Passes a copy, because `redact` may change its argument and the run still uses the original.
      const kept = this.#redact === undefined ? content() : this.#redact(structuredClone(content()), kind);
      dropPromise(kept);
      return kept;
    } catch {
      return undefined;
    }
  }

  write(kept: Json | undefined): string | undefined {
    try {
      return kept === undefined ? undefined : JSON.stringify(kept, cleanText);
    } catch {
      return undefined;
    }
  }

  describe(kept: Json | undefined): string | undefined {
    return typeof kept === "string" ? redactSecrets(kept) : undefined;
  }
}

/** Redacts one string at a time, because a replacement in the whole JSON text could make the JSON invalid. */
function cleanText(_key: string, value: unknown): unknown {
  return typeof value === "string" ? redactSecrets(value) : value;
}

export function toInstructions(system: string): Json {
  return [{ type: "text", content: system }];
}

export function toInputMessages(messages: readonly Message[]): Json {
  return messages.map(toMessage);
}

function toMessage(message: Message): Json {
  switch (message.role) {
    case "user":
      return { role: "user", parts: toUserParts(message.content) };
    case "assistant":
      return { role: "assistant", parts: message.content.map(toAssistantPart) };
    case "tool":
      return {
        role: "tool",
        parts: message.results.map(({ callId, result }) => ({ type: "tool_call_response", id: callId, response: result })),
      };
    default:
      return assertNever(message);
  }
}

function toUserParts(content: string | readonly UserPart[]): readonly Json[] {
  return typeof content === "string" ? [{ type: "text", content }] : content.map(toUserPart);
}

const isAddress = /^(?!data:)[a-z][a-z\d+.-]*:/i;

function toUserPart(part: UserPart): Json {
  if (part.type === "text") return { type: "text", content: part.text };
  const modality = part.type === "image" ? "image" : modalityOf(part.mediaType);
  const facts = { mime_type: part.mediaType, modality };
  const uri = String(part.data);
  return isAddress.test(uri) ? { type: "uri", ...facts, uri } : { type: part.type, ...facts };
}

function modalityOf(mediaType: string): string {
  return /^(?:image|video|audio)(?=\/)/.exec(mediaType)?.[0] ?? "document";
}

function toAssistantPart(part: AssistantPart): Json {
  if (part.type === "tool-call") return { type: "tool_call", id: part.callId, name: part.name, arguments: part.args };
  return { type: part.type, content: part.text };
}

export class SaidContent {
  #text = "";
  #reasoning = "";
  #calls: Json[] = [];

  take(chunk: ModelChunk): void {
    if (chunk.type === "text-delta" || chunk.type === "refusal-delta") this.#text += chunk.text;
    else if (chunk.type === "reasoning-delta") this.#reasoning += chunk.text;
    else if (chunk.type === "call-ready") this.#calls.push(toCall(chunk));
    else if (chunk.type === "attempt-discarded") [this.#text, this.#reasoning, this.#calls] = ["", "", []];
  }

  toMessages(): Json {
    const parts: readonly Json[] = [
      ...(this.#reasoning === "" ? [] : [{ type: "reasoning", content: this.#reasoning }]),
      ...(this.#text === "" ? [] : [{ type: "text", content: this.#text }]),
      ...this.#calls,
    ];
    return [{ role: "assistant", parts }];
  }
}

function toCall({ id, name, args, argsText }: Extract<ModelChunk, { type: "call-ready" }>): Json {
  const known = isRecord(args) ? (args as Json) : (argsText ?? null);
  return { type: "tool_call", ...(id === undefined ? {} : { id }), name, arguments: known };
}
