// A "wire" is the API of one vendor. It formats scripts as responses, and creates the provider that reads them.

import type { Provider } from "turnwright";
import type { RawReply } from "./raw-sse-server.ts";
import type { Ends, Scripted } from "./scripted.ts";

export interface Connecting {
  readonly options?: object;
  /** True if the Google client uses Vertex AI. Default false. */
  readonly vertexai?: boolean;
}

export interface Wire {
  readonly name: "openai" | "openai-responses" | "anthropic" | "google";
  readonly ends: Ends;
  toReply(scripted: Scripted): RawReply;
  connect(baseURL: string, connecting?: Connecting): { readonly provider: Provider; readonly bodies: readonly unknown[] };
  check(body: unknown): readonly string[];
}
