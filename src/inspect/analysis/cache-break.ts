import type { LoopResult } from "../../core/index.ts";

/** A reason why a request does not begin like the previous request. */
export type CacheBreakCause = NonNullable<LoopResult["cache"]>["breaks"][number]["cause"];
