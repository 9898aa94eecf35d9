// Calls of neutral messages and their results, as far as both wires of OpenAI write them in the same way.

import { type ContentPart, type Json, toArgumentsObject, type ToolResultPart } from "../../spi.ts";

/** The text of arguments, which servers read back. */
export function toWireArguments(args: Json): string {
  return JSON.stringify(toArgumentsObject(args));
}

/** What of a result is a text, its own first, and what is none. */
export interface SortedResult {
  readonly text: string;
  readonly media: readonly ContentPart[];
}

/** Puts the texts of a result together, one a line. */
export function sortResult({ result, content = [] }: ToolResultPart): SortedResult {
  const own = typeof result === "string" ? result : JSON.stringify(result);
  const texts: string[] = [own];
  const media: ContentPart[] = [];
  for (const part of content) {
    if (part.type !== "text") media.push(part);
    else if (part.text !== "") texts.push(part.text);
  }
  return { text: texts.join("\n"), media };
}

/** What stands before images and files that go in a message of their own. */
export function toMediaTitle(toolName: string, id: string): string {
  return `Content that the tool ${toolName} returned for call ${id}:`;
}
