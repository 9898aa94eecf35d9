// A service that answers with status 200 and no stream: an error as JSON, or a page of a proxy. The SDKs find no event in it and say nothing.

import { isRecord } from "../kit/is-record.ts";
import { providerError, toProviderError } from "./provider-error.ts";

/** What is used of a fetch response. */
interface AnswerBody {
  clone(): { text(): Promise<string>; readonly body?: { cancel(): Promise<void> } | null };
}

/**
 * Waits for the stream that an SDK promises. If the SDK also gives the response, as those of OpenAI and Anthropic do, the stream throws
 * what the service said in place of events.
 */
export async function openAnswer(pending: unknown): Promise<unknown> {
  if (!isRecord(pending) || typeof pending.withResponse !== "function") return pending;
  const answer: unknown = await Reflect.apply(pending.withResponse, pending, []);
  if (!isRecord(answer) || !("data" in answer)) return pending;
  return withAnswerBody(answer.data, answer.response);
}

/** Makes a stream without any event throw what stands in the body of its response. */
export function withAnswerBody(stream: unknown, response: unknown): unknown {
  const copy = isStream(stream) ? copyOf(response) : undefined;
  if (!isStream(stream) || copy === undefined) return stream;
  return {
    [Symbol.asyncIterator](): AsyncIterator<unknown> {
      const events = stream[Symbol.asyncIterator]();
      let isEmpty = true;
      const next = async (): Promise<IteratorResult<unknown>> => {
        const step = await events.next().catch(async (error: unknown) => {
          throw isEmpty ? ((await readError(copy)) ?? error) : error;
        });
        if (step.done !== true && isEmpty) {
          isEmpty = false;
          // Else all that follows would be kept for it.
          copy.body?.cancel().catch(() => undefined);
        }
        const error = step.done === true && isEmpty ? await readError(copy) : undefined;
        if (error !== undefined) throw error;
        return step;
      };
      return { next, return: async () => (await events.return?.()) ?? { done: true, value: undefined } };
    },
  };
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return isRecord(value) && typeof Reflect.get(value, Symbol.asyncIterator) === "function";
}

/** Undefined for a body that is read already, and for what is no response. */
function copyOf(response: unknown): ReturnType<AnswerBody["clone"]> | undefined {
  try {
    return isResponse(response) ? response.clone() : undefined;
  } catch {
    return undefined;
  }
}

function isResponse(value: unknown): value is AnswerBody {
  return isRecord(value) && typeof value.clone === "function";
}

async function readError(copy: ReturnType<AnswerBody["clone"]>): Promise<unknown> {
  // A connection that was lost is an error of its own.
  const text = await copy.text().catch(() => "");
  return errorInBody(text);
}

/** What a body says in place of a stream; undefined for one that is blank or holds events. */
function errorInBody(text: string): unknown {
  if (text.trim() === "" || /^(?:data|event|id|retry)?:/m.test(text)) return undefined;
  const error = toProviderError({ message: text });
  return error.message === text ? providerError("server", `The service answered without a stream: ${text}`, error) : error;
}
