// The type of the rows in stream-oddities.test.ts, and what several rows share.

import type { Usage } from "../../src/core/index.ts";

export type Fields = { readonly [field: string]: unknown };

export interface Said {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly string[];
  readonly end: string | undefined;
  readonly usage: Partial<Usage> | undefined;
}

/** A row: the oddity, its source, the events, and what differs from an empty answer. */
export type Row = readonly [oddity: string, source: string, events: readonly unknown[], said: Partial<Said>];

export const chunk = (delta: Fields, finish: string | null = null, more: Fields = {}): Fields => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
export const part = (fields: Fields): Fields => chunk({ tool_calls: [fields] });
/** A fragment of a call: `index id name arguments`, with a hyphen for each missing field. */
export const piece = (written: string): Fields => {
  const [, index = "-", id = "-", name = "-", args = ""] = /^(\S+) (\S+) (\S+) ?(.*)$/s.exec(written) ?? [];
  return part({
    ...(index === "-" ? {} : { index: Number(index) }),
    ...(id === "-" ? {} : { id }),
    type: "function",
    function: { ...(name === "-" ? {} : { name }), arguments: args },
  });
};
export const pieces = (...written: readonly string[]): readonly Fields[] => [...written.map(piece), chunk({}, "tool_calls")];
export const answered = (...events: readonly Fields[]): readonly Fields[] => [...events, chunk({}, "stop")];
export const counted = (usage: Fields, more: Fields = {}): readonly Fields[] => [
  ...answered(chunk({ content: "Hi." })),
  { id: "chatcmpl-1", choices: [], usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010, ...usage }, ...more },
];
export const counts = { inputTokens: 1000, outputTokens: 10, totalTokens: 1010 };

export const a = 'a f {"n":1}';
export const twoCalls: readonly string[] = [a, 'b g {"n":2}'];
export const oneCall: Partial<Said> = { calls: [a], end: "tool-calls" };
export const bothCalls: Partial<Said> = { calls: twoCalls, end: "tool-calls" };
export const hello: Partial<Said> = { text: "Hello.", end: "stop" };
export const thought: Partial<Said> = { ...hello, reasoning: "Think." };
