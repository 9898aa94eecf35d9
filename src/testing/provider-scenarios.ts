// The replies that a service must play for the conformance suite of providers, as data for a server or a script.

import { assertNever, type Json, type ToolDefinition } from "../core/entry-kit.ts";
import { endEarly, fail, type MockPart, stall, text, toolCall, usage } from "./mock-parts.ts";
import { createMockProvider, type MockProvider } from "./mock-provider.ts";

/** A situation that a provider must handle. */
export interface ProviderScenario {
  readonly name:
    | "text"
    | "tool-call"
    | "parallel-calls"
    | "tool-results"
    | "silence"
    | "cut-early"
    | "unauthorized"
    | "rate-limited"
    | "server-failure";
  /** The user message of every request in this scenario. It is unique, so that one server can distinguish the scenarios. */
  readonly prompt: string;
  /** The replies of the service: the first request gets the first reply, and so on. */
  readonly replies: readonly ScenarioReply[];
}

/** The reply of the service to one request. */
export type ScenarioReply =
  | {
      readonly kind: "turn";
      /** Sent first, in several deltas if the API has them. May be empty. */
      readonly text: string;
      /** Sent after the text, in this order. */
      readonly calls: readonly ScenarioCall[];
      /** Reported in the format of the API if the message is finished. The suite expects exactly these sums. */
      readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
      /** `finished`: with the API's terminal marker. `silent`: nothing more, connection open. `cut`: connection closed, no marker. */
      readonly ending: "finished" | "silent" | "cut";
    }
  /** An HTTP error instead of a stream. */
  | { readonly kind: "failure"; readonly status: number };

/** A call of the model. */
export interface ScenarioCall {
  readonly name: string;
  readonly args: Json;
}

/** The tool that every request of the suite offers. */
export const scenarioTool: ToolDefinition = {
  name: "get_weather",
  description: "Current weather of a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false },
};

const usual = { inputTokens: 40, outputTokens: 9 } as const;
const oslo: ScenarioCall = { name: scenarioTool.name, args: { city: "Oslo" } };
const bergen: ScenarioCall = { name: scenarioTool.name, args: { city: "Bergen" } };

function turn(facts: {
  readonly text?: string;
  readonly calls?: readonly ScenarioCall[];
  readonly ending?: "silent" | "cut";
}): ScenarioReply {
  return { kind: "turn", text: facts.text ?? "", calls: facts.calls ?? [], usage: usual, ending: facts.ending ?? "finished" };
}

/** All scenarios by name: a missing one does not compile. */
export const providerScenarios: { readonly [Name in ProviderScenario["name"]]: ProviderScenario & { readonly name: Name } } = {
  text: { name: "text", prompt: "Say something with an umlaut.", replies: [turn({ text: "Grüße aus Tromsø, 你好!" })] },
  "tool-call": { name: "tool-call", prompt: "What is the weather in Oslo?", replies: [turn({ calls: [oslo] })] },
  "parallel-calls": { name: "parallel-calls", prompt: "Compare Oslo and Bergen.", replies: [turn({ calls: [oslo, bergen] })] },
  "tool-results": {
    name: "tool-results",
    prompt: "Which is warmer, Oslo or Bergen?",
    replies: [turn({ calls: [oslo, bergen] }), turn({ text: "Bergen is warmer." })],
  },
  silence: { name: "silence", prompt: "Start, then fall silent.", replies: [turn({ text: "Well", ending: "silent" })] },
  "cut-early": { name: "cut-early", prompt: "Start, then hang up.", replies: [turn({ text: "I was about to", ending: "cut" })] },
  unauthorized: { name: "unauthorized", prompt: "Turn me away.", replies: [{ kind: "failure", status: 401 }] },
  "rate-limited": { name: "rate-limited", prompt: "Slow me down.", replies: [{ kind: "failure", status: 429 }] },
  "server-failure": { name: "server-failure", prompt: "Break down.", replies: [{ kind: "failure", status: 500 }] },
};

/**
 * Makes a mock provider that plays a scenario: for testing a wrapper with the suite, and as an example of a server's behaviour.
 *
 * @example
 * providerSuite({ create: (scenario) => ({ provider: wrap(createScenarioProvider(scenario)) }) });
 */
export function createScenarioProvider(scenario: ProviderScenario): MockProvider {
  return createMockProvider(scenario.replies.map(toReplyParts), { usage: false });
}

function toReplyParts(reply: ScenarioReply): readonly MockPart[] {
  if (reply.kind === "failure") return [fail({ status: reply.status, message: `The service answered ${reply.status}.` })];
  const said = reply.text === "" ? [] : [text(reply.text, { chunks: 3 })];
  const calls = reply.calls.map(({ name, args }, index) => toolCall(name, args, { id: `call_${index}`, fragments: 3 }));
  return [...said, ...calls, ...endingOf(reply)];
}

function endingOf({ ending, usage: tokens }: Extract<ScenarioReply, { kind: "turn" }>): readonly MockPart[] {
  switch (ending) {
    case "finished":
      return [usage(tokens)];
    case "silent":
      return [stall()];
    case "cut":
      return [endEarly()];
    default:
      return assertNever(ending);
  }
}
