// An invented SDK that streams scripted replies. It stands for the SDK that you use.

import { once } from "node:events";
import type { Json, JsonSchema } from "turnwright";
import type { ProviderScenario } from "turnwright/testing";

interface SdkCall {
  readonly id: string;
  readonly tool: string;
  readonly input: Json;
}

export type SdkMessage =
  | { readonly from: "user"; readonly text: string }
  | { readonly from: "model"; readonly text: string; readonly calls: readonly SdkCall[] }
  | { readonly from: "tool"; readonly id: string; readonly output: string };

interface SdkRequest {
  readonly model: string;
  readonly instructions?: string | undefined;
  readonly messages: readonly SdkMessage[];
  readonly tools: readonly { readonly name: string; readonly about: string; readonly parameters: JsonSchema }[];
  readonly choice?: "auto" | "required" | "none" | { readonly tool: string } | undefined;
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
}

type SdkEvent =
  | { readonly event: "token"; readonly token: string }
  | { readonly event: "call"; readonly call: SdkCall }
  | { readonly event: "done"; readonly why: string; readonly tokensIn: number; readonly tokensOut: number };

export interface Sdk {
  chat(request: SdkRequest, options: { readonly signal: AbortSignal }): AsyncIterable<SdkEvent>;
}

/** The client answers each request with the next reply, and records all requests. */
export function createSdkStandIn(replies: ProviderScenario["replies"]): Sdk & { readonly requests: readonly SdkRequest[] } {
  const remaining = replies.values();
  const requests: SdkRequest[] = [];
  return {
    requests,
    async *chat(request, { signal }) {
      requests.push(request);
      const { value: reply } = remaining.next();
      if (reply?.kind !== "turn") throw Object.assign(new Error("The service refused."), { status: reply?.status ?? 500 });
      const { text, calls, usage, ending } = reply;
      for (const token of text.match(/\s*\S+/g) ?? []) {
        signal.throwIfAborted();
        yield { event: "token", token };
      }
      for (const [index, { name, args }] of calls.entries()) {
        yield { event: "call", call: { id: `c${index}`, tool: name, input: args } };
      }
      if (ending === "silent" && !signal.aborted) await once(signal, "abort");
      signal.throwIfAborted();
      if (ending !== "finished") return;
      const why = calls.length > 0 ? "calls" : "end";
      yield { event: "done", why, tokensIn: usage.inputTokens, tokensOut: usage.outputTokens };
    },
  };
}
