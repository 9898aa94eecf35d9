// What a wire of a vendor is to these tests: how it says a script, and who reads it.

import type { Provider } from "turnwright";
import type { RawReply } from "./raw-sse-server.ts";
import type { Ends, Scripted } from "./scripted.ts";

/** How the adapter and its client are made. */
export interface Connecting {
  /** Options of the adapter, put in last. */
  readonly options?: object;
  /** Whether a client of Google speaks to Vertex AI. Default false. */
  readonly vertexai?: boolean;
}

/** One wire. */
export interface Wire {
  readonly name: "openai" | "openai-responses" | "anthropic" | "google";
  readonly ends: Ends;
  toReply(scripted: Scripted): RawReply;
  connect(baseURL: string, connecting?: Connecting): { readonly provider: Provider; readonly bodies: readonly unknown[] };
  /** What is wrong with a request that left. */
  check(body: unknown): readonly string[];
}
