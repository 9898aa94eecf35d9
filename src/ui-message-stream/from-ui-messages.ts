import { checkFields } from "../core/kit.ts";
import type { Message } from "../core/index.ts";
import {
  copyHistory,
  type HistoryProvider,
  historyProviderCheck,
  readEach,
  type ReadHistory,
} from "../shared/history/read-history.ts";
import { normalizePart, readUIMessages } from "./read-ui-messages.ts";
import { writeUIMessages } from "./to-ui-messages.ts";

/** The options for `fromUIMessages`. */
export interface FromUIOptions {
  /**
   * The `aiSdkModel` provider that continues the history. Metadata that services added to text, reasoning and calls is then kept as
   * provider metadata, and sent back to this provider and model. Default: this metadata is omitted, and listed in `lost`.
   */
  readonly provider?: HistoryProvider | undefined;
}

/**
 * Converts `useChat` messages to a transcript. Accepts the `UIMessage`s of AI SDK 5, 6 and 7. System messages at the beginning
 * become `system`, and all other system messages become pinned user messages. Each step of an assistant message becomes one message,
 * followed by the results of its calls. A call without a result gets a `not-run` result. The ids of messages and the states of text parts
 * are dropped, and `lost` does not list them.
 *
 * A web page can invent tool results. Use `readUIChatRequest` for requests from web pages, and this function for messages that the
 * server has stored.
 *
 * Throws LoopError "invalid-messages" if a field has the wrong type. The error message names the path of the field. Throws
 * "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const { messages, system, lost } = fromUIMessages(chat.messages);
 */
export function fromUIMessages(messages: readonly object[], options: FromUIOptions = {}): ReadHistory {
  checkFields("options", options, { provider: historyProviderCheck });
  const { draft, system } = readUIMessages(readEach(copyHistory(messages)), options.provider);
  return draft.finish(writeParts, system);
}

function writeParts(messages: readonly Message[]): ReturnType<typeof normalizePart>[] {
  const onError = ({ result }: { readonly result?: unknown }): string =>
    typeof result === "string" ? result : JSON.stringify(result);
  const written = writeUIMessages(messages, { onError: (failure) => onError(failure.kind === "tool" ? failure : {}) });
  const parts = written.flatMap(({ id, parts: all }) => all.map((part) => ({ id, part })));
  return parts.flatMap(({ id, part }) =>
    part.type === "step-start" ? [] : [normalizePart({ ...part }, { id, keepsMetadata: false })],
  );
}
