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
  it.each(vendors)("returns the message that an AI SDK $version UI has after the run", async (vendor) => {
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

  it("shows web pages cited in an answer as parts that fromUIMessages omits", async () => {
    const item = { search_results: [{ url: "https://a.test/", title: "A" }, { url: "https://b.test/" }, { url: "data:," }] };
    const answer: Message = {
      role: "assistant",
      content: [{ type: "text", text: "The news." }],
      providerMetadata: [{ provider: "openai", model: "sonar", item }],
    };
    const messages: Message[] = [{ role: "user", content: "What is new?" }, answer];
    for (const [, shown] of await convert(messages)) {
      expect(shown?.parts.filter(({ type }) => type === "source-url")).toEqual([
        { type: "source-url", sourceId: "https://a.test/", url: "https://a.test/", title: "A" },
        { type: "source-url", sourceId: "https://b.test/", url: "https://b.test/" },
      ]);
    }
    const { messages: shown } = toUIMessages(messages);
    const { providerMetadata: _, ...plain } = answer;
    expect(fromUIMessages(shown).messages.at(-1)).toEqual(plain);
  });

  it("converts denials, edited arguments, files and waiting calls", async () => {
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

  it("omits reasoning with sendReasoning: false", () => {
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

  it("returns valid messages with all text and calls for random transcripts", async () => {
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
