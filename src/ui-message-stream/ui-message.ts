// The messages of a page. They are declared here, because each major version of `ai` has different types.

import type { Json } from "../core/entry-kit.ts";
import type { UIUserPart, UIVersion } from "./ui-message-chunk.ts";

/** A message of `useChat`, made from a transcript. The type can be assigned to the `UIMessage` of each `Version` of `ai`. */
export interface UIMessage<Version extends UIVersion = UIVersion> {
  readonly id: string;
  readonly role: "user" | "assistant";
  parts: UIMessagePart<Version>[];
}

/** A part of a message. */
export type UIMessagePart<Version extends UIVersion = UIVersion> =
  | UIUserPart
  | { type: "text" | "reasoning"; text: string; state: "done" }
  | { type: "step-start" }
  | UIToolPart
  | (Version extends 6 | 7 ? UIDeniedPart : never);

/** A call. `providerExecuted` marks calls of the server, so that the page does not send their results back. */
export type UIToolPart = UICalled &
  ({ state: "input-available" } | { state: "output-available"; output: Json } | { state: "output-error"; errorText: string });

/** A call that was denied. Version 5 has `output-error` instead. */
export type UIDeniedPart = UICalled & { state: "output-denied"; approval: { id: string; approved: false } };

/** The fields of each call. */
export interface UICalled {
  type: `tool-${string}`;
  toolCallId: string;
  input: Json;
  providerExecuted: true;
}
