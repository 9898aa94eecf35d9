// The clients of AI SDK 5, 6 and 7. They validate chunks and build messages from streams.

import * as ai6 from "ai";
import * as ai5 from "ai-v5";
import * as ai7 from "ai-v7";
import type { UIMessageChunk } from "turnwright/ui-message-stream";
import type { UIVersion } from "../../src/ui-message-stream/ui-message-chunk.ts";

export interface PageMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly PagePart[];
  readonly metadata?: unknown;
}

export interface PagePart {
  readonly type: string;
  readonly text?: string;
  readonly state?: string;
  readonly toolCallId?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly errorText?: string;
  readonly preliminary?: boolean;
  readonly approval?: { readonly id: string; readonly approved?: boolean };
  readonly data?: unknown;
}

interface Validator {
  validate(value: unknown): Promise<{ readonly success: boolean; readonly error?: unknown }>;
}

interface Reading {
  readonly stream: ReadableStream<UIMessageChunk>;
  readonly message?: PageMessage | undefined;
  readonly terminateOnError: boolean;
  readonly onError: (error: unknown) => void;
}

export interface Vendor {
  readonly version: UIVersion;
  readonly validator: Validator;
  readonly read: (reading: Reading) => AsyncIterable<PageMessage>;
}

const toVendor = (
  version: UIVersion,
  { uiMessageChunkSchema, readUIMessageStream }: typeof ai5 | typeof ai6 | typeof ai7,
): Vendor => ({
  version,
  validator: (uiMessageChunkSchema as unknown as () => Validator)(),
  read: readUIMessageStream as unknown as Vendor["read"],
});

export const vendors: readonly Vendor[] = [toVendor(5, ai5), toVendor(6, ai6), toVendor(7, ai7)];

export async function findProblems({ validator }: Vendor, chunks: readonly UIMessageChunk[]): Promise<readonly string[]> {
  // A page gets chunks as JSON, so fields that are undefined must be removed.
  const sent = chunks.map((chunk) => JSON.parse(JSON.stringify(chunk)) as UIMessageChunk);
  const checked = await Promise.all(sent.map((chunk) => validator.validate(chunk)));
  return checked.flatMap(({ success }, index) => (success ? [] : [JSON.stringify(sent[index])]));
}

/**
 * Builds a message from chunks, as a page does. `message` is the message that the page shows already. Throws if the client reports
 * an error. Ignores `error` chunks.
 */
export async function readMessage(
  vendor: Vendor,
  chunks: readonly UIMessageChunk[],
  message?: PageMessage,
): Promise<PageMessage | undefined> {
  const errors: unknown[] = [];
  const stream = new ReadableStream<UIMessageChunk>({
    start: (controller) => {
      for (const chunk of chunks) if (chunk.type !== "error") controller.enqueue(structuredClone(chunk));
      controller.close();
    },
  });
  let last = message;
  const onError = (error: unknown): void => void errors.push(error);
  for await (const next of vendor.read({ stream, message: structuredClone(message), terminateOnError: false, onError }))
    last = next;
  if (errors.length > 0) throw errors[0];
  return last === undefined ? undefined : (JSON.parse(JSON.stringify(last)) as PageMessage);
}

export const textOf = (message: PageMessage | undefined): string =>
  (message?.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join("");
