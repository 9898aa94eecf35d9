import type { ProviderScenario } from "turnwright/testing";
import type { Scripted } from "./scripted.ts";

type Reply = ProviderScenario["replies"][number];

export function toScripted(reply: Reply, idOf: (index: number) => string): Scripted {
  if (reply.kind === "failure") return { status: reply.status, message: "No." };
  const { text, calls, ending } = reply;
  const { inputTokens, outputTokens } = reply.usage;
  const end = ending === "silent" ? "silent" : ending === "cut" ? "lost" : calls.length > 0 ? "tools" : "stop";
  return {
    text,
    calls: calls.map(({ name, args }, index) => [idOf(index), name, JSON.stringify(args)]),
    usage: { input: inputTokens, output: outputTokens, cached: 10, reasoning: 4 },
    end,
  };
}
