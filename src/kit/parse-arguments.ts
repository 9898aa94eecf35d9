// What a model wrote as the arguments of a call, as a value.

/** Arguments as a value, or the reason why there is none. */
export type ParsedArguments = { readonly args: unknown } | { readonly problem: "malformed" };

/**
 * Parses the text of a call's arguments. A blank text means `{}`, because several servers send no text for a tool without
 * parameters. Anything else must be JSON; nothing is repaired. A key "__proto__" stays data.
 *
 * @example
 * parseToolArguments('{"city":"Oslo"}'); // { args: { city: "Oslo" } }
 * parseToolArguments(""); // { args: {} }
 * parseToolArguments('{"city":'); // { problem: "malformed" }
 */
export function parseToolArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { args: {} };
  try {
    return { args: JSON.parse(text) };
  } catch {
    return { problem: "malformed" };
  }
}
