import { compactMessages } from "turnwright/middleware";
import type { CompactionOptions } from "../../src/middleware/compaction/compact-messages.ts";
import type { LoopOptions, LoopResult, Message, ModelRequest, Provider } from "turnwright";
import { createMockProvider, fail, type MockMessage, type MockPart, text, toolCall } from "turnwright/testing";
import { play, type Playing, tool } from "../loop/play.ts";

/** An error of the OpenAI SDK for a request that is too long. */
export const tooLong: MockPart = fail({ status: 400, code: "context_length_exceeded", message: "The context is too long." });

export interface ScriptOptions {
  /** The number of iterations with one call each, before the answer. */
  readonly calls: number;
  /** Returns the message for the summary. `index` counts these requests from 0. */
  summary?(request: ModelRequest, index: number): MockMessage;
  /** Returns the message for a request that is not for a summary. Undefined for the usual message. */
  refuse?(request: ModelRequest): MockMessage | undefined;
}

/** The requests of a run, with the requests for summaries in a list of their own. */
export interface Scripted {
  readonly provider: Provider;
  readonly requests: ModelRequest[];
  readonly summaries: ModelRequest[];
}

/** The model calls `search` in each iteration, answers in the last one, and writes summaries. */
export function scriptModel({ calls, summary = () => text("The summary."), refuse }: ScriptOptions): Scripted {
  const requests: ModelRequest[] = [];
  const summaries: ModelRequest[] = [];
  const provider = createMockProvider((request) => {
    const copy = { ...request, messages: request.messages };
    if (request.purpose === "summary") return summary(copy, summaries.push(copy) - 1);
    requests.push(copy);
    const refused = refuse?.(copy);
    if (refused !== undefined) return refused;
    const done = countCalls(request);
    return done < calls ? toolCall("search", { page: done }, { id: `c${done}` }) : text("Done.");
  });
  return { provider, requests, summaries };
}

function countCalls({ transcript }: ModelRequest): number {
  return transcript?.messages.filter(({ role }) => role === "assistant").length ?? 0;
}

export interface Started extends Scripted {
  readonly playing: Playing;
  readonly result: Promise<LoopResult>;
}

/** Starts a run whose tool `search` returns results of 1,000 estimated tokens. */
export function start(
  script: ScriptOptions,
  compaction: CompactionOptions | undefined,
  more: Partial<LoopOptions> = {},
): Started {
  const scripted = scriptModel(script);
  const { middleware = [], ...others } = more;
  const isSet = middleware.some((one) => one && one.name === "compaction");
  const playing = play([], {
    provider: scripted.provider,
    tools: [tool("search", (args) => `${JSON.stringify(args)} ${"x".repeat(3_980)}`, { replay: "safe" })],
    middleware: [compaction !== undefined && !isSet && compactMessages(compaction), ...middleware],
    ...others,
  });
  return { ...scripted, playing, result: playing.result };
}

/** Describes the messages of a request in short, as "user Go.", "summary", "call c0", "result c0" and "text Done.". */
export function outline(messages: readonly Message[]): readonly string[] {
  return messages.map((message) => {
    if (message.role === "tool") return message.results.map(({ callId }) => `result ${callId}`).join(" ");
    if (message.role === "assistant") {
      return message.content.map((part) => (part.type === "tool-call" ? `call ${part.callId}` : `text ${part.text}`)).join(" ");
    }
    const said = typeof message.content === "string" ? message.content : "parts";
    return said.startsWith("Summary of the earlier conversation")
      ? `summary: ${said.split("\n").slice(1).join(" ")}`
      : `user ${said}`;
  });
}
