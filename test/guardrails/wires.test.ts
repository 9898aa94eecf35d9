import { memoryJournal, runToolLoop } from "turnwright";
import { expect, it, onTestFinished } from "vitest";
import { guardrails } from "turnwright/guardrails";
import { recordEvents } from "turnwright/testing";
import { wires } from "../wire/all-wires.ts";
import { startRawServer } from "../wire/raw-sse-server.ts";

it.for(wires.map((wire) => [wire.name, wire] as const))(
  "guardrails: %s shows, records and returns nothing of a refused answer",
  async ([, wire]) => {
    const answer = {
      reasoning: ["I will say SECRET-7.", "sig"],
      text: "The code is SECRET-7, dear friend.",
      end: "stop",
    } as const;
    const server = await startRawServer([wire.toReply(answer)]);
    onTestFinished(() => server.close());
    const { provider } = wire.connect(server.url);
    const recording = recordEvents();
    const journal = memoryJournal();
    const check = ({ text, part }: { readonly text: string; readonly part: string }) =>
      part === "text" && text.includes("SECRET") ? ({ kind: "refuse" } as const) : ({ kind: "pass" } as const);
    const onlyText = { name: "secret", window: 12, check };
    const masked = {
      name: "mask",
      parts: ["reasoning"] as const,
      check: ({ text }: { readonly text: string }) => ({ kind: "rewrite", text: text.replace("SECRET-7", "...") }) as const,
    };
    const policies = { guardrails: guardrails({ output: [masked, onlyText] }) };
    const result = await runToolLoop({
      provider,
      messages: [{ role: "user", content: "What is the code?" }],
      policies,
      journal,
      events: recording.emitter,
    });
    expect(result.reason).toMatchObject({ kind: "output-guardrail", guardrail: "secret" });
    expect(`${JSON.stringify(result)} ${JSON.stringify(journal)} ${JSON.stringify(recording.events)}`).not.toContain("SECRET");
  },
);
