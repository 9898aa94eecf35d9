import { describe, expect, it } from "vitest";
import { runToolLoop } from "turnwright";
import { compactMessages, withPlanner } from "turnwright/middleware";
import { parseRunLog, runLog } from "turnwright/inspect";
import { createMockProvider, text } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { outline, scriptModel } from "./compaction-stage.ts";
import { addWatchers } from "../add-watchers.ts";

const search = tool("search", (args) => `${JSON.stringify(args)} ${"x".repeat(3_980)}`);
const compaction = compactMessages({ when: 3_500, keep: 1_500 });

describe("a run with compactMessages", () => {
  it("logs each iteration's request and the compaction with runLog", async () => {
    const lines: string[] = [];
    const model = scriptModel({ calls: 5 });
    const options = {
      provider: model.provider,
      tools: [search],
      messages: [{ role: "user" as const, content: "Go." }],
      middleware: [compaction],
    };
    await runToolLoop(addWatchers(options, runLog({ to: { write: (line) => void lines.push(line) } })));
    const [run] = parseRunLog(lines.join("")).runs;
    const logged = run?.iterations.map(({ request }) => outline(request?.messages() ?? []));
    expect(logged).toEqual(model.requests.map(({ messages }) => outline(messages)));
    expect(
      lines.map((line) => (JSON.parse(line) as { readonly type: string }).type).filter((type) => type.startsWith("compaction")),
    ).toEqual(["compaction-start", "compaction-end"]);
  });

  it("requests its summary through withPlanner, which adds no plan to the request", async () => {
    const asked: (string | undefined)[] = [];
    const provider = createMockProvider((request) => {
      asked.push(request.purpose);
      if (request.purpose === "summary") return text("Short.");
      const isPlan = request.system?.includes("next_action") === true || JSON.stringify(request.messages).includes("next_action");
      return text(isPlan ? JSON.stringify({ next_action: "response", execution_commands: [] }) : "Done.");
    });
    const messages = Array.from({ length: 8 }, (_, index) => ({
      role: "user" as const,
      content: `${index} ${"x".repeat(2_000)}`,
    }));
    const { status, text: said } = await runToolLoop({
      provider: withPlanner(provider),
      tools: [search],
      messages,
      middleware: [compaction],
    });
    expect([status, said, asked.filter((purpose) => purpose === "summary").length]).toEqual(["completed", "Done.", 1]);
  });
});
