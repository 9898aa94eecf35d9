import type { LoopResult } from "../../core/index.ts";

/** A reason why a request begins differently from the previous one. */
export type CacheBreakCause = NonNullable<LoopResult["cache"]>["breaks"][number]["cause"];
