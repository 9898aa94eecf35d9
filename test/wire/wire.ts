// The wire of a vendor in these tests: its replies for a script, and its provider.

import type { Provider } from "turnwright";
import type { RawReply } from "./raw-sse-server.ts";
import type { Ends, Scripted } from "./scripted.ts";

/** How the adapter and its client are made. */
export interface Connecting {
  /** Options of the adapter, put in last. */
  readonly options?: object;
  /** True if a Google client speaks to Vertex AI. Default false. */
  readonly vertexai?: boolean;
}

/** One wire. */
export interface Wire {
  readonly name: "openai" | "openai-responses" | "anthropic" | "google";
  readonly ends: Ends;
  toReply(scripted: Scripted): RawReply;
  connect(baseURL: string, connecting?: Connecting): { readonly provider: Provider; readonly bodies: readonly unknown[] };
  /** Returns the errors in a request. */
  check(body: unknown): readonly string[];
}
