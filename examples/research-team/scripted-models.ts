// The scripted models of the team. They react to the results of their tools, so they cite real lines of real files.

import type { Message, ModelRequest, Provider } from "turnwright";
import { createMockProvider, type MockMessage, text, toolCall, usage } from "turnwright/testing";

const topics = ["maxTokens", "wallClockMs", "defineAgentTool"] as const;

function resultsIn(messages: readonly Message[]): readonly unknown[] {
  return messages.flatMap((message) => (message.role === "tool" ? message.results.map(({ result }) => result) : []));
}

/** About one token for every four characters. */
function spent({ messages, system = "" }: ModelRequest): ReturnType<typeof usage> {
  return usage({ inputTokens: Math.ceil((JSON.stringify(messages).length + system.length) / 4), outputTokens: 50 });
}

/** The lead asks one researcher about each topic, all at once, and joins their reports. */
export function createScriptedLead(): Provider {
  return createMockProvider((request): MockMessage => {
    const results = resultsIn(request.messages);
    if (results.length === 0)
      return [...topics.map((topic) => toolCall("researcher", { task: `How do the docs describe ${topic}?` })), spent(request)];
    const reports = results.map((result) => (result as { readonly report: string }).report);
    return [text(["# Report", ...reports].join("\n\n")), spent(request)];
  });
}

/** A researcher searches for its topic, reads around the first hit, and cites what it has read. */
export function createScriptedResearcher(): Provider {
  return createMockProvider((request): MockMessage => {
    const [task] = request.messages;
    const topic = topics.find((name) => JSON.stringify(task).includes(name)) ?? topics[0];
    const [hits, lines] = resultsIn(request.messages) as readonly (readonly string[] | undefined)[];
    if (hits === undefined) return [toolCall("grep", { text: topic }), spent(request)];
    const [path = "", line = "1"] = (hits[0] ?? "").split(":");
    if (lines === undefined) return [toolCall("read_lines", { path, from: Number(line), count: 3 }), spent(request)];
    return [text(`## ${topic}\n\n${lines[0] ?? ""}`), spent(request)];
  });
}
