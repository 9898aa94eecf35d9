import type { Json, StandardSchema } from "./common.ts";

/** Options for a wait. All are optional. */
export interface WaitOptions {
  /** An answer that does not fit leaves the wait open. */
  readonly schema?: StandardSchema | undefined;
  /** The time at which the wait returns null if there is no answer, in milliseconds since 1970. Default: never. */
  readonly until?: number | undefined;
  /** Returns true if an answer for these earlier facts still applies. Pure. Default: only if the facts are equal. */
  isSame?(earlier: Json): boolean;
  /** Called with the id of the wait before its answer is returned. */
  answered?(id: string): void;
}
