// The conformance suite for providers, over the mocks of all three specifications.

import { describe, it } from "vitest";
import { aiSdkModel } from "turnwright/ai-sdk";
import { providerSuite, type ProviderScenario } from "turnwright/testing";
import { callParts, type Spec, specs, type SpecStream, textParts } from "./ai-sdk-specs.ts";

type Reply = ProviderScenario["replies"][number];

/** One reply of a scenario, in the words of a specification. */
function toStream(reply: Reply, spec: Spec): SpecStream {
  if (reply.kind === "failure") {
    const facts = { name: "AI_APICallError", statusCode: reply.status, isRetryable: reply.status !== 401, responseHeaders: {} };
    return { parts: [], thrown: Object.assign(new Error("No."), facts) };
  }
  const { text, calls, usage, ending } = reply;
  const parts = [
    { type: "stream-start", warnings: [] },
    { type: "response-metadata", id: "r", modelId: "m" },
    ...(text === "" ? [] : textParts(Array.from(text))),
    ...calls.flatMap(({ name, args }, index) => callParts(`call_${index}`, [name, JSON.stringify(args)])),
  ];
  if (ending === "silent") return { parts: parts.filter((part) => !("type" in part) || part.type !== "text-end"), ending };
  // A package says that a stream has finished, whatever became of it.
  const reason = ending === "cut" ? spec.cutOff : calls.length > 0 ? "tool-calls" : "stop";
  const counts = { input: usage.inputTokens, output: usage.outputTokens };
  return { parts: [...parts, spec.finish(reason, { usage: ending === "cut" ? {} : counts })] };
}

describe.each(specs)("aiSdkModel of specification $version as a provider", (spec) => {
  const create = (scenario: ProviderScenario) => {
    const { model } = spec.create(scenario.replies.map((reply) => toStream(reply, spec)));
    return { provider: aiSdkModel({ model }) };
  };
  for (const { title, run } of providerSuite({ create })) it(title, run);
});
