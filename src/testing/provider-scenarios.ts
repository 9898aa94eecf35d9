// A model service's replies for the provider conformance suite, as data for a test server or a script.

import { assertNever } from "../shared/guards.ts";
import type { Json, ToolDefinition } from "../core/index.ts";
import { endEarly, fail, type MockPart, stall, text, toolCall, usage } from "./mock-parts.ts";
import { createMockProvider, type MockProvider } from "./mock-provider.ts";

/** A situation that a provider must handle, with the service's replies. */
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
  /** The user message in every request in this scenario. Scenarios have different prompts, so that one server can play all of them. */
  readonly prompt: string;
  /** The service's replies, in the order of the requests. */
  readonly replies: readonly ScenarioReply[];
}

/** The service's reply to one request. */
export type ScenarioReply =
  | {
      readonly kind: "turn";
      /** The text of the reply, which is sent first. Send it in several deltas if the API supports deltas. May be empty. */
      readonly text: string;
      /** The tool calls in the reply, to be sent after the text in this order. */
      readonly calls: readonly ScenarioCall[];
      /** The usage to report, in the API's format, if `ending` is "finished". The suite expects exactly these numbers. */
      readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
      /**
       * How the reply ends. "finished": with the API's end marker. "silent": the connection stays open without any more data. "cut": the
       * connection closes without an end marker.
       */
      readonly ending: "finished" | "silent" | "cut";
    }
  /** An HTTP error instead of a stream. */
  | { readonly kind: "failure"; readonly status: number };

/** A tool call in a reply. */
export interface ScenarioCall {
  readonly name: string;
  readonly args: Json;
}

/** The tool that every request in the suite offers to the model. */
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

/** All scenarios, by name. A missing scenario is a type error. */
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
 * Creates a mock provider that plays a scenario. Use it to test a provider wrapper with the suite, or as an example for a test
 * server.
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
