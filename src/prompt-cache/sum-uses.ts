// Sums the recorded facts about the requests of a run.

import { addCost, type PromptCacheUse, type StreamResult } from "../core/entry-kit.ts";

export function sumUses(results: readonly StreamResult[]): Omit<PromptCacheUse, "last"> {
  const watched = results.filter(({ cache }) => cache !== undefined);
  const requests = watched.flatMap(({ cache }) => cache?.requests ?? []);
  const sum = (field: "prefixBytes" | "possibleBytes" | "sharedBytes"): number =>
    requests.reduce((total, request) => total + request[field], 0);
  const possibleBytes = sum("possibleBytes");
  // A change before an intended one can share fewer bytes than possible, but never more.
  const sharedBytes = sum("sharedBytes");
  return {
    requests: requests.length,
    prefixBytes: sum("prefixBytes"),
    possibleBytes,
    sharedBytes,
    share: possibleBytes === 0 ? 1 : sharedBytes / possibleBytes,
    cachedTokens: sumTokens(watched, "cachedInputTokens"),
    cacheWriteTokens: sumTokens(watched, "cacheWriteTokens"),
    savedUSD: watched.map(({ cache }) => cache?.savedUSD).reduce(addCost, watched.length === 0 ? undefined : 0),
    breaks: requests.flatMap(({ break: found }) => (found === undefined ? [] : [found])),
  };
}

function sumTokens(results: readonly StreamResult[], field: "cachedInputTokens" | "cacheWriteTokens"): number | undefined {
  const counts = results.flatMap(({ usage }) => usage?.[field] ?? []);
  return counts.length === 0 ? undefined : counts.reduce((total, count) => total + count, 0);
}
