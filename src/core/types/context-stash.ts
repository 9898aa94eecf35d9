import type { Json } from "./json.ts";
import type { ContextSource } from "./policies.ts";

/** Holds context for a restart until the loop takes it: what is too large or too private for a tool's answer. */
export interface ContextStash extends ContextSource {
  /** Keeps plain data, and gives the key that stands for it in `pending_context_key`. */
  put(item: unknown): string;
  /** The item of a key, once: taking it removes it. Undefined where the key is unknown, taken or too old. */
  take(key: string): Json | undefined;
}
