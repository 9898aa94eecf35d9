// A scripted model with a prompt cache. It counts four characters as a token. It reads the part of a request from its cache that is
// the same as in the previous request.

import type { Provider } from "turnwright";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";

/** The model reads one file in each iteration, and answers in the last one. */
export function createCachedModel(iterations: number, model = "a-model"): Provider {
  let before = "";
  return createMockProvider(
    ({ tools, system, messages, iteration }) => {
      const sent = [...tools, system, ...messages].map((part) => JSON.stringify(part)).join("");
      const inputTokens = Math.ceil(sent.length / 4);
      const cachedInputTokens = Math.floor(countShared(before, sent) / 4);
      before = sent;
      const tokens = usage({ inputTokens, outputTokens: 20, totalTokens: inputTokens + 20, cachedInputTokens });
      const isLast = iteration === iterations - 1;
      return [isLast ? text("It answers 42.") : toolCall("read_file", { path: `src/part-${iteration}.ts` }), tokens];
    },
    { model },
  );
}

function countShared(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}
