// Calls of neutral messages and their results, as far as both wires of OpenAI write them in the same way.

import { type Json, type MediaPart, toArgumentsObject, type ToolResultPart } from "../core/provider-kit.ts";

/** The text of arguments, which servers read back. */
export function toWireArguments(args: Json): string {
  return JSON.stringify(toArgumentsObject(args));
}

/** What of a result is a text, its own first, and what is none. */
export interface SortedResult<Part> {
  readonly text: string;
  readonly media: readonly Part[];
}

/** Puts the texts of a result together, one a line; `write` may make one of an image or a file. */
export function sortResult<Part extends object>(
  { result, content = [] }: ToolResultPart,
  write: (part: MediaPart) => Part | string,
): SortedResult<Part> {
  const texts = [typeof result === "string" ? result : JSON.stringify(result)];
  const media: Part[] = [];
  for (const part of content) {
    const written = part.type === "text" ? part.text : write(part);
    if (typeof written === "object") media.push(written);
    else if (written !== "") texts.push(written);
  }
  return { text: texts.join("\n"), media };
}

/** What stands before images and files that go in a message of their own. */
export function toMediaTitle(toolName: string, id: string): string {
  return `Content that the tool ${toolName} returned for call ${id}:`;
}
