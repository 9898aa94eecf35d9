import * as ai6 from "ai";
import * as ai5 from "ai-v5";
import * as ai7 from "ai-v7";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "turnwright";
import { reasoning, text, toolCall } from "turnwright/testing";
import { fromUIMessages, toUIMessages, type UIMessage } from "turnwright/ui-message-stream";
import { tool } from "../loop/play.ts";
import { plans } from "../loop/random-run.ts";
import { toForm, transcripts } from "../messages/transcripts.ts";
import { runPlan } from "../loop/run-plan.ts";
import { toChunks } from "./check-chunks.ts";
import { play } from "./mapping-stage.ts";
import { type PageMessage, readMessage, vendors } from "./vendors.ts";

const validators = {
  5: (messages: UIMessage<5>[]) => ai5.validateUIMessages({ messages }),
  6: (messages: UIMessage<6>[]) => ai6.validateUIMessages({ messages }),
  7: (messages: UIMessage<7>[]) => ai7.validateUIMessages({ messages }),
};

async function convert(messages: readonly Message[]): Promise<readonly PageMessage[][]> {
  const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
  const five = asJson(toUIMessages(messages, { version: 5 }).messages);
  const six = asJson(toUIMessages(messages).messages);
  const seven = asJson(toUIMessages(messages, { version: 7 }).messages);
  await Promise.all([messages.length === 0 ? [] : validators[5](five), messages.length === 0 ? [] : validators[6](six)]);
  if (messages.length > 0) await validators[7](seven);
  return [five, six, seven];
}

const callsOf = (messages: readonly PageMessage[]): readonly PageMessage["parts"][number][] =>
  messages.flatMap(({ parts }) => parts.filter(({ toolCallId }) => toolCallId !== undefined));

describe("toUIMessages", () => {
  it.each(vendors)("returns the message that a page of AI SDK $version has after the run", async (vendor) => {
    const { version } = vendor;
    const broken = tool("broken", () => {
      throw new Error("secret");
    });
    const { events, result } = await play({
      script: [
        [reasoning("Hm."), text("Looking."), toolCall("look", { n: 1 })],
        [toolCall("broken"), toolCall("none")],
        text("Done."),
      ],
      tools: [tool("look", () => ({ price: 5 })), broken],
    });
    const live = await readMessage(vendor, toChunks(events, { version }));
    const [asked, answered] = toUIMessages(result.messages, { version }).messages;
    expect(asked).toEqual({ id: "history-0", role: "user", parts: [{ type: "text", text: "Go." }] });
    const withoutIds = (parts: PageMessage["parts"] = []): object[] =>
      parts.map((part) => ({ ...part, id: undefined, toolCallId: undefined }));
    expect(withoutIds(answered?.parts)).toEqual(withoutIds(live?.parts));
    expect(JSON.stringify(answered)).not.toContain("secret");
  });

  it("converts denials, edited arguments, files, and calls that wait", async () => {
    const results = (["denied", "completed", "awaiting-approval", "timed-out"] as const).map((outcome, n) => ({
      callId: `c${n}`,
      name: "pay",
      outcome,
      result: outcome,
    }));
    const messages: readonly Message[] = [
      { role: "user", content: [{ type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" }] },
      { role: "user", content: [] },
      {
        role: "assistant",
        content: results.map(({ callId, name }) => ({ type: "tool-call", callId, name, args: {}, approvedArgs: { n: 1 } })),
      },
      { role: "tool", results },
    ];
    const [five = [], six, seven] = await convert(messages);
    expect(six).toEqual(seven);
    expect(callsOf(five).map(({ state }) => state)).toEqual([
      "output-error",
      "output-available",
      "input-available",
      "output-error",
    ]);
    expect(six?.[0]?.parts).toEqual([{ type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" }]);
    expect(callsOf(six ?? [])).toMatchObject([
      { toolCallId: "history-2:c0", state: "output-denied", approval: { id: "history-2:c0", approved: false }, input: { n: 1 } },
      { state: "output-available", output: "completed" },
      { state: "input-available" },
      { state: "output-error", errorText: "The tool took too long." },
    ]);
  });

  it("omits reasoning with sendReasoning: false, and uses onError and idPrefix", () => {
    const messages: readonly Message[] = [
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm." },
          { type: "tool-call", callId: "c", name: "pay", args: {} },
        ],
      },
    ];
    const [message] = toUIMessages(messages, { sendReasoning: false, idPrefix: "old", onError: ({ kind }) => kind }).messages;
    expect(message).toMatchObject({ id: "old-0", parts: [{ type: "step-start" }, { toolCallId: "old-0:c", errorText: "tool" }] });
    expect(() => toUIMessages([], { version: 4 as never })).toThrow("version");
  });

  it("returns valid messages with all texts and calls for random transcripts", async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const { messages } = (await runPlan(plan)).result;
        const said = messages.flatMap((message) => {
          if (message.role === "tool") return [];
          if (typeof message.content === "string") return [message.content];
          return message.content.flatMap((part) => ("text" in part ? [part.text] : []));
        });
        const called = messages.flatMap((message) =>
          message.role === "tool" ? message.results.map(({ callId }) => callId) : [],
        );
        for (const shown of await convert(messages)) {
          expect(shown.flatMap(({ parts }) => parts.flatMap((part) => part.text ?? [])).join("")).toBe(said.join(""));
          expect(callsOf(shown).map(({ toolCallId }) => toolCallId?.replace(/^history-\d+:/, ""))).toEqual(called);
          expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length);
        }
      }),
      { numRuns: 100, seed: 20_260_101 },
    );
  });
});

describe("fromUIMessages", () => {
  const runs = { numRuns: 60, seed: 20_261_127 };

  it("undoes toUIMessages if nothing is lost, for random transcripts", () => {
    let kept = 0;
    const onError = ({ result }: { readonly result?: unknown }): string => String(result);
    fc.assert(
      fc.property(transcripts, (messages) => {
        const shown = toUIMessages(messages, { onError: (failure) => onError(failure as object) });
        if (shown.lost.length > 0) return;
        kept += 1;
        const read = fromUIMessages(shown.messages);
        expect(toForm(read.messages)).toEqual(toForm(messages));
        expect(read.lost).toEqual([]);
      }),
      runs,
    );
    expect(kept).toBeGreaterThan(5);
  });

  const outcomes = fc.constantFrom(
    { state: "output-available" as const, output: { n: 1 } },
    { state: "output-error" as const, errorText: "It broke." },
    { state: "input-available" as const },
    { state: "output-denied" as const, approval: { id: "a", approved: false as const } },
  );
  const parts = fc.oneof(
    fc.constantFrom("text" as const, "reasoning" as const).map((type): ai6.UIMessage["parts"][number] => ({ type, text: "Hm." })),
    fc.constant<ai6.UIMessage["parts"][number]>({ type: "step-start" }),
    fc.constant<ai6.UIMessage["parts"][number]>({ type: "source-url", sourceId: "s", url: "https://example.org" }),
    outcomes.map((outcome): ai6.UIMessage["parts"][number] => ({ type: "tool-look", toolCallId: "c", input: {}, ...outcome })),
  );
  const histories = fc
    .array(fc.tuple(fc.constantFrom("user" as const, "assistant" as const), fc.array(parts, { minLength: 1, maxLength: 4 })), {
      maxLength: 4,
    })
    .map((messages) =>
      messages.map(([role, of], index): ai6.UIMessage => ({
        id: `m${index}`,
        role,
        parts: role === "user" ? [{ type: "text", text: "Go." }] : of,
      })),
    );

  it("is undone by toUIMessages if nothing is lost, for random histories", async () => {
    let kept = 0;
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const read = fromUIMessages(history);
        const onError = ({ result }: { readonly result?: unknown }): string => String(result);
        const { messages } = toUIMessages(read.messages, { onError: (failure) => onError(failure as object) });
        const back =
          messages.length === 0
            ? []
            : await ai6.validateUIMessages({ messages: JSON.parse(JSON.stringify(messages)) as unknown });
        if (read.lost.length > 0) return;
        kept += 1;
        const toPlain = (all: readonly ai6.UIMessage[]): unknown => {
          const filled = all.flatMap(({ role, parts: of }) => {
            const plain = of.filter(({ type }) => type !== "step-start");
            return plain.length === 0
              ? []
              : [
                  {
                    role,
                    parts: plain.map((part) => ({
                      ...part,
                      state: "toolCallId" in part && part.state,
                      providerExecuted: 0,
                      toolCallId: 0,
                      approval: 0,
                    })),
                  },
                ];
          });
          return filled.reduce<typeof filled>((joined, { role, parts: of }) => {
            const last = joined.at(-1);
            return role === "assistant" && last?.role === role
              ? [...joined.slice(0, -1), { role, parts: [...last.parts, ...of] }]
              : [...joined, { role, parts: of }];
          }, []);
        };
        expect(toPlain(back)).toEqual(toPlain(history));
      }),
      runs,
    );
    expect(kept).toBeGreaterThan(5);
  });

  it("keeps the metadata of services for one provider, and lists what is lost", () => {
    const history = [
      { id: "m0", role: "system", parts: [{ type: "text", text: "Be brief." }] },
      {
        id: "m1",
        role: "user",
        parts: [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=", filename: "a.png" }],
      },
      {
        id: "m2",
        role: "assistant",
        metadata: { n: 1 },
        parts: [
          { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "signed" } } },
          { type: "dynamic-tool", toolName: "look", toolCallId: "c", state: "output-available", input: {}, output: 5 },
          { type: "step-start" },
          { type: "data-note", data: {} },
          { type: "text", text: "Done." },
        ],
      },
    ];
    const provider = { id: "anthropic.messages", model: "claude-opus-4-6" };
    const { messages, system, lost } = fromUIMessages(history, { provider });
    expect(system).toBe("Be brief.");
    expect(messages[1]).toMatchObject({
      providerMetadata: [
        {
          provider: provider.id,
          model: provider.model,
          item: { part: { type: "reasoning", providerOptions: { anthropic: { signature: "signed" } } } },
        },
        { item: { part: { toolCallId: "c" } } },
      ],
    });
    expect(messages[2]).toEqual({ role: "tool", results: [{ callId: "c", name: "look", outcome: "completed", result: 5 }] });
    const toLines = (all: typeof lost): readonly string[] => all.map(({ index, field, reason }) => `${index} ${field} ${reason}`);
    expect(toLines(lost)).toEqual(["1 parts[0].filename omitted", "2 parts[3] omitted", "2 metadata omitted"]);
    expect(toLines(fromUIMessages(history).lost)).toContain("2 parts[0].providerMetadata omitted");
  });

  it.each([
    [
      [{ role: "assistant", parts: [{ type: "tool-look", state: "output-available", input: {} }] }],
      'Message 0 has a wrong field "parts[0].toolCallId": it must be a string, not undefined.',
    ],
    [[{ role: "tool", parts: [] }], 'Message 0 has a wrong field "role"'],
    [[{ role: "user", parts: [{ type: "file", url: {}, mediaType: "image/png" }] }], 'wrong field "parts[0].url"'],
  ])("names the wrong field of %j", (history, message) => {
    expect(() => fromUIMessages(history)).toThrow(message);
  });
});
