import type { CacheBreakCause, PromptCacheBreak } from "../middleware/prompt-cache/types.ts";
import { invalidOption } from "../core/kit.ts";
import type { LoopResult } from "../core/index.ts";

const maxBreaks = 5;

/**
 * Throws an Error if a run's requests broke the prompt cache: if, taken together, they reused less than `share` of the bytes that they
 * could have reused from the previous request. Bytes after a change that middleware made on purpose, such as masking, do not count. The
 * message names the first requests that broke the cache. `share` is a number from 0 to 1. Default 0.95.
 *
 * Also throws an Error if nothing was compared: the run was not watched, no provider reported its requests, or there was only one
 * request. Throws LoopError "invalid-option" for an invalid `share`.
 *
 * @example
 * const result = await runToolLoop({ provider, tools, messages, middleware: [watchPromptCache()] });
 * expectPrefix(result, 0.99);
 */
export function expectPrefix({ cache }: Pick<LoopResult, "cache">, share = 0.95): void {
  if (!(share >= 0 && share <= 1)) throw invalidOption("share", "a number from 0 to 1", share);
  if (cache === undefined) {
    throw new Error(
      'The run did not watch the prompt cache. Pass middleware: [watchPromptCache()], from "turnwright/middleware".',
    );
  }
  if (cache.requests === 0) {
    throw new Error("No provider in this run reported its requests. Call `call.sending` in the provider's `stream` method.");
  }
  if (cache.prefixBytes === 0) throw new Error(nothingCompared(cache.requests));
  if (cache.share >= share) return;
  const breaks = cache.breaks.filter(({ isIntended }) => !isIntended);
  const more = breaks.length > maxBreaks ? [`and ${breaks.length - maxBreaks} more`] : [];
  const list = [...breaks.slice(0, maxBreaks).map(describeBreak), ...more].map((line) => `\n- ${line}`).join("");
  throw new Error(
    `The requests kept ${toPercent(cache.share)} of the prefix, but at least ${toPercent(share)} was expected. These requests broke the prompt cache:${list}`,
  );
}

function nothingCompared(requests: number): string {
  const count = requests === 1 ? "The run made one request" : `The run made ${requests} requests`;
  return `${count}, so there is no prefix to compare. Use a run with a tool call, or pass an earlier run's last request to \`startWith\`.`;
}

function toPercent(share: number): string {
  return `${Math.floor(share * 1_000) / 10}%`;
}

function describeBreak({ iteration, cause, keptBytes, lostBytes }: PromptCacheBreak): string {
  return `iteration ${iteration}: ${describeCause(cause)}, ${lostBytes} of ${keptBytes + lostBytes} bytes lost`;
}

function describeCause({ kind, name, values }: CacheBreakCause): string {
  if (values !== undefined) return `${kind} from ${values[0]} to ${values[1]}`;
  return name === undefined ? kind : `${kind} (${name})`;
}
