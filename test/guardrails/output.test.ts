import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  memoryJournal,
  type ModelChunk,
  type Provider,
  runToolLoop,
  structuredOutput,
  type UserMessage,
  withFallback,
} from "turnwright";
import { guardrails, type OutputCheck } from "turnwright/middleware";
import {
  createMockProvider,
  details,
  endEarly,
  fail,
  providerMetadata,
  reasoning,
  recordEvents,
  text,
  toolCall,
} from "turnwright/testing";
import { z } from "zod";

const messages: readonly UserMessage[] = [{ role: "user", content: "Who called?" }];

const digits = /\d{6,}/g;
const redact = (window?: number): OutputCheck => ({
  name: "numbers",
  window,
  check: ({ text: said }) => ({ kind: "rewrite", text: said.replaceAll(digits, "[number]") }),
});
const refuseSecret = (window?: number): OutputCheck => ({
  name: "secret",
  window,
  check: ({ text: said }) => (said.includes("SECRET") ? { kind: "refuse", reason: "a secret" } : { kind: "pass" }),
});

function start(
  script: Parameters<typeof createMockProvider>[0],
  output: readonly OutputCheck[],
  wrap = (provider: Provider): Provider => provider,
) {
  const recording = recordEvents();
  const middleware = [guardrails({ output })];
  const journal = memoryJournal();
  const running = runToolLoop({
    provider: wrap(createMockProvider(script)),
    messages,
    middleware,
    journal,
    events: recording.emitter,
  });
  return {
    running,
    recording,
    shown: () => recording.of("text-delta").map((event) => event.text),
    written: () => JSON.stringify(journal),
  };
}

describe("guardrail output checks", () => {
  it("rewrite the answer before it is shown, recorded or sent back", async () => {
    const answer = [
      reasoning("It was 1234567."),
      providerMetadata({ raw: "1234567" }),
      details("1234567"),
      text("Call 1234567 now.", { chunks: 5 }),
    ];
    const { running, recording, written } = start([answer], [redact()]);
    const result = await running;
    expect(result).toMatchObject({ status: "completed", text: "Call [number] now.", details: "", accumulatedModelParts: [] });
    expect(result.messages.at(-1)).toEqual({
      role: "assistant",
      content: [
        { type: "reasoning", text: "It was [number]." },
        { type: "text", text: "Call [number] now." },
      ],
    });
    expect(`${JSON.stringify(recording.events)}${written()}`).not.toContain("1234567");
    expect(recording.of("guardrail").map(({ part, verdict }) => `${part} ${verdict}`)).toEqual([
      "reasoning rewrite",
      "text rewrite",
    ]);
  });

  it("pass on all parts of an accepted answer in order", async () => {
    const answer = [reasoning("Hm."), text("Hi."), providerMetadata({ raw: 1 }), details("more")];
    const { running } = start([answer], [redact(), refuseSecret()]);
    const result = await running;
    expect(result).toMatchObject({ text: "Hi.", details: "more", accumulatedModelParts: [{ item: { raw: 1 } }] });
    expect(result.messages.at(-1)).toMatchObject({ content: [{ type: "reasoning" }, { type: "text" }] });
  });

  it("refuse an answer so that no part of it is shown, recorded or returned", async () => {
    const { running, recording, shown, written } = start([text("The SECRET is 7.", { chunks: 6 })], [refuseSecret()]);
    const result = await running;
    expect(result.reason).toEqual({ kind: "output-guardrail", guardrail: "secret", reason: "a secret", info: undefined });
    expect({ status: result.status, text: result.text, shown: shown() }).toEqual({ status: "error", text: "", shown: [] });
    expect(`${JSON.stringify(result)}${JSON.stringify(recording.events)}${written()}`).not.toContain("SECRET");
  });

  it("prevent the tool calls in a refused message from running", async () => {
    const { running, recording } = start([[text("SECRET"), toolCall("missing", {})]], [refuseSecret()]);
    expect((await running).functionHistory).toEqual([]);
    expect(recording.types()).not.toContain("tool-args-end");
  });

  it("also check reasoning, before any text is shown", async () => {
    const { running, shown } = start([[reasoning("SECRET"), text("Fine.")]], [refuseSecret()]);
    expect((await running).reason.kind).toBe("output-guardrail");
    expect(shown()).toEqual([]);
  });

  it("check only the kinds of parts listed in the `parts` field", async () => {
    const seen: string[] = [];
    const check: OutputCheck = { name: "seen", parts: ["text"], check: ({ part }) => (seen.push(part), { kind: "pass" }) };
    const { running } = start([[reasoning("Hm."), text("Hi.")]], [check]);
    await running;
    expect(seen).toEqual(["text"]);
  });

  it("receive the text that earlier checks rewrote", async () => {
    const { running } = start(
      [text("Call 1234567.")],
      [redact(), { name: "loud", check: ({ text: said }) => ({ kind: "rewrite", text: said.toUpperCase() }) }],
    );
    expect((await running).text).toBe("CALL [NUMBER].");
  });

  it('end the run with the reason "hook-failed" and show no text if a check throws', async () => {
    const check: OutputCheck = {
      name: "broken",
      check: () => {
        throw new Error("no model");
      },
    };
    const { running, shown } = start([text("Hi")], [check]);
    expect((await running).reason).toMatchObject({
      kind: "hook-failed",
      hook: "guardrails.broken",
      error: { message: "no model" },
    });
    expect(shown()).toEqual([]);
  });

  it("keep the checked text if the stream ends prematurely", async () => {
    const { running } = start([[text("Call 1234567."), endEarly()]], [redact()]);
    expect(await running).toMatchObject({ status: "error", text: "Call [number]." });
  });

  it("keep the checked text if the stream fails", async () => {
    const { running } = start([[text("Call 1234567."), fail({ status: 503 })]], [redact()]);
    expect(await running).toMatchObject({ reason: { kind: "provider-error" }, text: "Call [number]." });
  });

  it("start with empty text for each provider of withFallback", async () => {
    const second = createMockProvider([text("678 is fine.")]);
    const script = [[text("12345"), fail({ status: 503 })]];
    const { running } = start(script, [redact()], (first) => withFallback([first, second]));
    expect(await running).toMatchObject({ status: "completed", text: "678 is fine." });
  });

  it("run before the validation of a structured answer", async () => {
    const middleware = [structuredOutput(z.object({ phone: z.string() })), guardrails({ output: [redact()] })];
    const provider = createMockProvider([text('{"phone":"1234567"}')]);
    expect((await runToolLoop({ provider, messages, middleware })).output).toEqual({ phone: "[number]" });
  });

  it("are replayed as events, but not called, in a resumed run", async () => {
    const journal = memoryJournal();
    let calls = 0;
    const check: OutputCheck = { name: "counted", check: () => ((calls += 1), { kind: "pass" }) };
    const options = { messages, journal, runId: "run-1", middleware: [guardrails({ output: [check] })] };
    await runToolLoop({ ...options, provider: createMockProvider([text("Hi")]) });
    const recording = recordEvents();
    await runToolLoop({ ...options, provider: createMockProvider([]), events: recording.emitter });
    expect(recording.of("guardrail").map(({ guardrail, replayed }) => ({ guardrail, replayed }))).toEqual([
      { guardrail: "counted", replayed: true },
    ]);
    expect(calls).toBe(1);
  });

  it("add their own tokens to the run's usage", async () => {
    const spent = { usage: { inputTokens: 70, outputTokens: 30, totalTokens: 100 } };
    const { running } = start([text("Hi")], [{ name: "judge", check: () => ({ kind: "pass", spent }) }]);
    expect((await running).usage.totalTokens).toBeGreaterThanOrEqual(100);
  });
});

describe("guardrail output checks with a window", () => {
  it("show text outside the window while the model is still writing", async () => {
    const { running, shown } = start([text("Call me at 1234567 or at home, please.", { chunks: 38 })], [redact(10)]);
    const { text: said } = await running;
    expect(said).toBe("Call me at [number] or at home, please.");
    expect(shown().join("")).toBe(said);
    expect(shown().length).toBeGreaterThan(2);
  });

  it("show no text of an unfinished answer if one check has no window", async () => {
    const { running, shown } = start([text("a".repeat(100), { chunks: 50 })], [redact(10), refuseSecret()]);
    await running;
    // The checks get only the complete text, so all chunks come at once after them.
    expect(shown().join("")).toBe("a".repeat(100));
  });

  it('end the run with the reason "hook-failed" if a check changes text that was already shown', async () => {
    const check: OutputCheck = {
      name: "late",
      window: 2,
      check: ({ text: said, isComplete }) => ({ kind: "rewrite", text: isComplete ? "No." : said }),
    };
    const { running } = start([text("abcdefgh", { chunks: 8 })], [check]);
    expect((await running).reason).toMatchObject({
      kind: "hook-failed",
      hook: "guardrails.late",
      error: { message: expect.stringContaining("window") as string },
    });
  });

  it("never show a pattern that fits into the window, however the text is split", async () => {
    const word = fc.constantFrom("a", " ", "SECRET", "12345678", "é", "\u{1F600}", "SEC", "RET", "1234");
    await fc.assert(
      fc.asyncProperty(
        fc.array(word, { maxLength: 12 }),
        fc.array(fc.nat(9), { minLength: 1, maxLength: 30 }),
        async (words, cuts) => {
          const said = words.join("");
          const chunks: ModelChunk[] = [];
          for (let at = 0, index = 0; at < said.length; index += 1) {
            const cut = cuts[index % cuts.length] ?? 0;
            const end = at + 1 + cut;
            // Some models send reasoning between two pieces of text.
            if (cut === 4) chunks.push({ type: "reasoning-delta", text: "Hm." });
            chunks.push({ type: "text-delta", text: said.slice(at, end) });
            at = end;
          }
          const provider: Provider = {
            id: "raw",
            model: "raw",
            async *stream() {
              await Promise.resolve();
              yield* chunks;
              yield { type: "finish", reason: "stop" };
            },
          };
          const recording = recordEvents();
          const middleware = [guardrails({ output: [redact(40), refuseSecret(6)] })];
          const result = await runToolLoop({ provider, messages, middleware, events: recording.emitter });
          const shown = recording
            .of("text-delta")
            .map((event) => event.text)
            .join("");
          const redacted = said.replaceAll(digits, "[number]");
          expect(shown).not.toMatch(/SECRET|\d{6}/);
          if (redacted.includes("SECRET")) {
            expect(result.reason.kind).toBe("output-guardrail");
            expect(redacted.startsWith(shown)).toBe(true);
          } else {
            expect(shown).toBe(redacted);
          }
        },
      ),
      { numRuns: 80 },
    );
  });
});
