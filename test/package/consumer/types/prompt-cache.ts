import { type LoopResult, runToolLoop, type LoopOptions } from "turnwright";
import { watchPromptCache } from "turnwright/middleware";

/** Returns the share of the prefix that the requests kept, and the kinds of the changes that broke the cache. */
export async function watch(options: LoopOptions): Promise<readonly [share: number, kinds: readonly string[]]> {
  const { cache }: LoopResult = await runToolLoop({ ...options, middleware: [watchPromptCache()] });
  return [cache?.share ?? 1, (cache?.breaks ?? []).map(({ cause }) => cause.kind)];
}
