import { memoryJournal, runToolLoop } from "turnwright";
import { expect, it, onTestFinished } from "vitest";
import { guardrails, type OutputCheck } from "turnwright/middleware";
import { runLog } from "turnwright/inspect";
import { createMockProvider, reasoning, recordEvents, text } from "turnwright/testing";
import { wires } from "../wire/all-wires.ts";
import { startRawServer } from "../wire/raw-sse-server.ts";
import { addWatchers } from "../add-watchers.ts";

it.for(wires.map((wire) => [wire.name, wire] as const))(
  "guardrails with the %s adapter: no part of a refused answer is shown, recorded or returned",
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
    const middleware = [guardrails({ output: [masked, onlyText] })];
    const result = await runToolLoop({
      provider,
      messages: [{ role: "user", content: "What is the code?" }],
      middleware,
      journal,
      events: recording.emitter,
    });
    expect(result.reason).toMatchObject({ kind: "output-guardrail", guardrail: "secret" });
    expect(`${JSON.stringify(result)} ${JSON.stringify(journal)} ${JSON.stringify(recording.events)}`).not.toContain("SECRET");
  },
);

const redact: OutputCheck = {
  name: "numbers",
  check: ({ text: said }) => ({ kind: "rewrite", text: said.replaceAll(/\d{6,}/g, "[number]") }),
};

it("guardrail output checks run once for each text if several wrappers record the run", async () => {
  const judged: string[] = [];
  const note: OutputCheck = { name: "note", check: ({ text: said }) => (judged.push(said), { kind: "pass" }) };
  const options = {
    messages: [{ role: "user", content: "Hi" }],
    middleware: [guardrails({ output: [note, redact] })],
  } as const;
  const lines: string[] = [];
  const log = { to: { write: (line: string) => void lines.push(line) } };
  const provider = createMockProvider([text("Call 1234567.", { chunks: 4 })]);
  const result = await runToolLoop(addWatchers({ ...options, provider }, runLog(log), { ...runLog(log), name: "second" }));
  expect({ text: result.text, judged }).toEqual({ text: "Call [number].", judged: ["Call 1234567."] });
  expect(lines.join("")).not.toContain("1234567");
});

it("guardrail output checks hold text back while the model emits reasoning between two pieces of text", async () => {
  const secret: OutputCheck = {
    name: "secret",
    check: ({ text: said }) => (said.includes("SECRET") ? { kind: "refuse" } : { kind: "pass" }),
  };
  const options = {
    messages: [{ role: "user", content: "Hi" }],
    middleware: [guardrails({ output: [redact, secret] })],
  } as const;
  const recording = recordEvents();
  const thought = reasoning("Hm, 1234567.");
  const refused = createMockProvider([[text("a SEC"), thought, text("RET")]]);
  const { reason } = await runToolLoop({ ...options, provider: refused, events: recording.emitter });
  expect(reason).toMatchObject({ kind: "output-guardrail", guardrail: "secret" });
  expect(recording.of("text-delta")).toEqual([]);
  const rewritten = createMockProvider([[text("at 1234"), thought, text("567.")]]);
  const result = await runToolLoop({ ...options, provider: rewritten });
  expect(result.text).toBe("at [number].");
  expect(JSON.stringify(result.messages)).not.toContain("1234");
});
