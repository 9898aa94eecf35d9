// How a service itself said that its answer is finished. Most packages say so only when the connection closes, which may be never.

import { countOf, isRecord, listOf, recordOf, textOf, type UnknownRecord, type Usage } from "../core/provider-kit.ts";
import { readFinish, type SaidFinish } from "./model-finish.ts";

/** The services' words for the ends that the specification has words for. */
const words: ReadonlyMap<string, string> = new Map([
  ["eos", "stop"],
  ["function_call", "tool-calls"],
  ["tool_calls", "tool-calls"],
  ["content_filter", "content-filter"],
  ["MAX_TOKENS", "length"],
  ["max_output_tokens", "length"],
  ["STOP", "stop"],
  ["completed", "stop"],
]);

/** Reads the events of Chat Completions, Responses and Gemini as packages hand them on. */
export class RawEnding {
  #usage: Usage | undefined;
  #word: string | undefined;
  /** Whether the answer may go on after its finish reason, as Gemini's does. */
  mayGoOn = false;
  /** Whether the last event was the one that said so. A package that cannot read it has lost what else it held. */
  isLast = false;

  /** Why the model stopped, as far as the service has said so. */
  get finish(): SaidFinish | undefined {
    const raw = this.#word;
    return raw === undefined ? undefined : readFinish({ unified: words.get(raw) ?? raw, raw });
  }

  /** The last counts, which do not tell cached tokens and reasoning apart. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  read(event: unknown): void {
    this.isLast = false;
    if (!isRecord(event)) return;
    const response = recordOf(event.response);
    const counts = event.usage ?? event.usageMetadata ?? response.usage;
    if (isRecord(counts)) this.#usage = toUsage(counts);
    if (event.type === "response.completed") this.#note("completed");
    if (event.type === "response.incomplete") this.#note(recordOf(response.incomplete_details).reason);
    for (const choice of listOf(event.choices)) this.#note(recordOf(choice).finish_reason);
    for (const candidate of listOf(event.candidates)) this.#readCandidate(recordOf(candidate));
  }

  /** A finish reason beside code that the service runs ends nothing, and code takes back one that came before. */
  #readCandidate({ content, finishReason }: UnknownRecord): void {
    this.mayGoOn = true;
    const code = listOf(recordOf(content).parts)
      .map(recordOf)
      .filter((part) => isRecord(part.executableCode) || isRecord(part.codeExecutionResult));
    if (code.length > 0) this.#word = undefined;
    if (!isRecord(code.at(-1)?.executableCode)) this.#note(finishReason);
  }

  #note(word: unknown): void {
    if (textOf(word) === "") return;
    this.#word = textOf(word);
    this.isLast = true;
  }
}

function toUsage(counts: UnknownRecord): Usage | undefined {
  const thoughts = countOf(counts.thoughtsTokenCount) ?? 0;
  const input = countOf(counts.prompt_tokens ?? counts.input_tokens ?? counts.promptTokenCount);
  const output = countOf(counts.completion_tokens ?? counts.output_tokens ?? counts.candidatesTokenCount);
  if (input === undefined && output === undefined) return undefined;
  const outputTokens = (output ?? 0) + thoughts;
  return { inputTokens: input ?? 0, outputTokens, totalTokens: (input ?? 0) + outputTokens };
}
