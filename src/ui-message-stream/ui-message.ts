// The messages of `useChat`. The types are declared here because they differ between versions of `ai`.

import type { Json } from "../core/entry-kit.ts";
import type { UIUserPart, UIVersion } from "./ui-message-chunk.ts";

/**
 * A message of `useChat`, made from a transcript. `Version` is the major version of the `ai` package that the page uses. The type
 * can be assigned to the `UIMessage` of that version.
 */
export interface UIMessage<Version extends UIVersion = UIVersion> {
  readonly id: string;
  readonly role: "user" | "assistant";
  parts: UIMessagePart<Version>[];
}

/** A part of a UI message. */
export type UIMessagePart<Version extends UIVersion = UIVersion> =
  | UIUserPart
  | { type: "text" | "reasoning"; text: string; state: "done" }
  | { type: "step-start" }
  | UIToolPart
  | (Version extends 6 | 7 ? UIDeniedPart : never);

/** A tool call. `providerExecuted` marks a call that ran on the server, so that the page does not send its result back. */
export type UIToolPart = UICalled &
  ({ state: "input-available" } | { state: "output-available"; output: Json } | { state: "output-error"; errorText: string });

/** A tool call that was denied. In version 5, such a call has the state `output-error` instead. */
export type UIDeniedPart = UICalled & { state: "output-denied"; approval: { id: string; approved: false } };

/** The fields that all tool calls have. */
export interface UICalled {
  type: `tool-${string}`;
  toolCallId: string;
  input: Json;
  providerExecuted: true;
}
