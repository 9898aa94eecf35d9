import * as ai6 from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromUIMessages, toUIMessages } from "turnwright/ui-message-stream";
import { toForm, transcripts } from "./transcripts.ts";

describe("fromUIMessages", () => {
  const runs = { numRuns: 60, seed: 20_261_127 };

  it("undoes toUIMessages for random transcripts that convert without loss", () => {
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

  it("is undone by toUIMessages for random histories that convert without loss", async () => {
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

  it("keeps metadata from services only for the given provider", () => {
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
    expect(toLines(lost)).toEqual(["2 parts[3] omitted", "2 metadata omitted"]);
    expect(toLines(fromUIMessages(history).lost)).toContain("2 parts[0].providerMetadata omitted");
  });

  it.each([
    [
      [{ role: "assistant", parts: [{ type: "tool-look", state: "output-available", input: {} }] }],
      'Message 0 has an invalid field "parts[0].toolCallId": it must be a string, not undefined.',
    ],
    [[{ role: "tool", parts: [] }], 'Message 0 has an invalid field "role"'],
    [[{ role: "user", parts: [{ type: "file", url: {}, mediaType: "image/png" }] }], 'invalid field "parts[0].url"'],
  ])("names the invalid field in %j", (history, message) => {
    expect(() => fromUIMessages(history)).toThrow(message);
  });
});
