import type { EventTail } from "../shared/adapters/event-filter.ts";
import { isRecord, keepAlive, listOf, recordOf, textOf } from "../core/kit.ts";
import { type ModelCall, type ModelChunk, providerError, toProviderError } from "../core/index.ts";
import { type ConnectionHints, describeBaseURL, explainConnection } from "../shared/adapters/connection-hints.ts";
import { openAnswer } from "../shared/adapters/open-answer.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { toUsage } from "./chat-usage.ts";
import { isTerminal } from "./responses-events.ts";

/** A request that an SDK sends, with everything needed to read its answer as a stream. */
interface SentRequest {
  readonly body: { readonly stream: boolean };
  readonly call: ModelCall;
  /** Converts a non-streamed answer to a single event, as if it had been streamed. */
  toEvent(answer: UnknownRecord): UnknownRecord;
  /** Watches the stream's bytes, so that `explainLoss` can find the data that the SDK drops. */
  readonly tail: EventTail;
}

/**
 * Waits for an SDK's stream. With `stream: false` the answer arrives all at once and is returned as a stream of one event. If the service
 * does not support streaming for this model, the error says how to request a non-streamed answer.
 */
export async function openEvents(send: () => unknown, { body, call, toEvent, tail }: SentRequest): Promise<unknown> {
  const release = body.stream ? undefined : keepAlive(call);
  try {
    const toEvents = (whole: unknown): readonly UnknownRecord[] | undefined => (isAnswer(whole) ? [toEvent(whole)] : undefined);
    const answer = await openAnswer(send(), { clock: call.clock, watch: tail.watch, toEvents });
    return !body.stream && isRecord(answer) ? oneEvent(toEvent(answer)) : answer;
  } catch (error) {
    throw body.stream ? explain(error) : error;
  } finally {
    release?.();
  }
}

/** True for a completion or a response, but not for an error. */
function isAnswer(body: unknown): body is UnknownRecord {
  const { data, choices = recordOf(data).choices, output } = recordOf(body);
  return listOf(output ?? choices).length > 0;
}

/**
 * Explains an error that the SDK throws while it reads a stream. The SDK drops the text of an event that is not JSON, and the token
 * counts of an event that reports an error (observed with OpenRouter).
 */
export function explainLoss(tail: EventTail, out: ModelChunk[], hints: ConnectionHints): (error: unknown) => unknown {
  return (error) => {
    const usage = toUsage(tail.failure?.usage);
    if (usage !== undefined) out.push({ type: "usage", usage, mode: "snapshot" });
    const text = error instanceof SyntaxError ? tail.plainText : undefined;
    if (text === undefined) return explainConnection(error, hints);
    const said = toProviderError({ message: text });
    const retryable = said.retryable || said.code === "server";
    return providerError(said.code, `The service sent an event that is not JSON: ${said.message}`, { ...said, retryable });
  };
}

/** Describes how to fix the address and the key of an OpenAI client. */
export function describeClient(client: object, address: string): ConnectionHints {
  const key = "The OpenAI client takes its key from `apiKey`, or else from the environment variable OPENAI_API_KEY.";
  return { address: describeBaseURL(client, address), key };
}

async function* oneEvent(event: UnknownRecord): AsyncGenerator<UnknownRecord, void, undefined> {
  yield event;
}

/**
 * Messages from services that refuse to stream (github.com/lobehub/lobe-chat/issues/9385, github.com/danny-avila/LibreChat/issues/8877).
 */
const noStreaming = /must be verified to stream|unsupported for streaming|does(?: not|n't) support streaming/i;

function explain(error: unknown): unknown {
  const { code, message } = toProviderError(error);
  if (!noStreaming.test(message)) return error;
  return providerError(code, `${message} To request whole answers, set \`stream: false\` in \`extra\` of the model settings.`);
}

/**
 * Creates a Chat Completions chunk from a whole completion. A body without choices may be an error, and is returned unchanged. Cline puts
 * the completion into the `data` field (github.com/cline/cline/issues/13348).
 */
export function toChatChunk(answer: UnknownRecord): UnknownRecord {
  const { choices, ...rest } = Array.isArray(recordOf(answer.data).choices) ? recordOf(answer.data) : answer;
  if (choices === undefined) return answer;
  return {
    ...rest,
    choices: listOf(choices).map((choice) => {
      const { message, ...fields } = recordOf(choice);
      const { tool_calls: calls, ...delta } = recordOf(message);
      return { ...fields, delta: { ...delta, tool_calls: listOf(calls).map((call, index) => ({ ...recordOf(call), index })) } };
    }),
  };
}

/** Creates a stream's last event from a whole response. A body that is not a response becomes an error event. */
export function toResponseEvent(response: UnknownRecord): UnknownRecord {
  const status = textOf(response.status);
  const type = `response.${status === "" ? "completed" : status}`;
  const isResponse = response.output !== undefined || (status !== "" && isTerminal(type));
  return isResponse ? { type, response } : { type: "error", error: response };
}
