import fc from "fast-check";
import { defineTool, maskResults, withFallback } from "turnwright";
import { createMockProvider, fail, text, toolCall, usage } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { describeCacheBreak, summarizeCacheBreak } from "../../../src/inspect/analysis/describe-cache-break.ts";
import { findCacheBreaks } from "../find-cache-breaks.ts";
import { cacheShareOf, totalsOf } from "../../../src/inspect/analysis/run-totals.ts";
import { logRun, lookUp, optionsFor } from "../log-run.ts";
import { editMessages, logEdited, editAt, type RequestEdit } from "./logged-runs.ts";

const other = defineTool({
  name: "other",
  description: "Another tool.",
  inputSchema: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } },
  execute: () => "ok",
});
const reordered = { type: "object", properties: { b: { type: "string" }, a: { type: "string" } } };

interface Case {
  readonly cause: string;
  readonly edit: RequestEdit;
  readonly kinds: readonly string[];
  /** True if only settings have changed. */
  readonly keepsPrefix?: true;
  readonly says: string;
}

const cases: readonly Case[] = [
  {
    cause: "a changed tool",
    edit: editAt(3, ({ tools }) => ({ tools: tools.map((tool) => ({ ...tool, description: `${tool.description}!` })) })),
    kinds: ["tool-changed look_up", "tool-changed other"],
    says: "the tool look_up was changed and the tool other was changed",
  },
  {
    cause: "a removed tool",
    edit: editAt(3, ({ tools }) => ({ tools: tools.slice(1) })),
    kinds: ["tool-removed look_up"],
    says: "the tool look_up was removed",
  },
  {
    cause: "an added tool",
    edit: editAt(3, ({ tools }) => ({ tools: [...tools, { name: "third", description: "New.", inputSchema: {} }] })),
    kinds: ["tool-added third"],
    says: "the tool third was added",
  },
  {
    cause: "reordered tools",
    edit: editAt(3, ({ tools }) => ({ tools: [...tools].reverse() })),
    kinds: ["tools-reordered"],
    says: "the tools were reordered",
  },
  {
    cause: "reordered keys of a schema",
    edit: editAt(3, ({ tools }) => ({
      tools: tools.map((tool) => (tool.name === "other" ? { ...tool, inputSchema: reordered } : tool)),
    })),
    kinds: ["tool-keys-reordered other"],
    says: "keys of the tool other were reordered",
  },
  {
    cause: "another system text",
    edit: editAt(3, () => ({ system: "Be brief. It is Friday." })),
    kinds: ["system-changed"],
    says: "the system text was changed",
  },
  {
    cause: "an edited message",
    edit: editAt(3, ({ messages }) => ({ messages: [{ role: "user", content: "Go now." }, ...messages.slice(1)] })),
    kinds: ["messages-edited 1"],
    says: "1 message was edited",
  },
  {
    cause: "removed messages",
    edit: editAt(3, ({ messages }) => ({ messages: [...messages.slice(0, 1), ...messages.slice(3)] })),
    kinds: ["messages-removed 2"],
    says: "2 messages were removed",
  },
  {
    cause: "compacted messages",
    edit: editAt(3, ({ messages }) => ({
      messages: [{ role: "user", content: "A summary." }, ...messages.slice(5)],
    })),
    kinds: ["messages-compacted 5"],
    says: "5 messages were compacted",
  },
  {
    cause: "an inserted message",
    edit: editAt(3, ({ messages }) => ({ messages: [{ role: "user", content: "First." }, ...messages] })),
    kinds: ["messages-inserted 1"],
    says: "1 message was inserted before others",
  },
  {
    cause: "reordered keys of a message",
    edit: editAt(3, ({ messages }) => ({
      messages: messages.map((message, at) => (at === 0 ? { content: "Go.", role: "user" } : message)),
    })),
    kinds: ["message-keys-reordered 1"],
    says: "the keys of 1 message were reordered",
  },
  {
    cause: "another tool choice",
    edit: editAt(3, () => ({ toolChoice: "none" })),
    kinds: ["tool-choice-changed"],
    keepsPrefix: true,
    says: "the tool choice was changed",
  },
  {
    cause: "another setting of the service",
    edit: editAt(3, () => ({ settings: { extra: { thinking: true } } })),
    kinds: ["setting-changed extra"],
    keepsPrefix: true,
    says: "the setting extra was changed",
  },
];

const options = (calls: number): Parameters<typeof logEdited>[0] =>
  optionsFor(calls, { tools: [lookUp, other], system: "Be brief." });

describe("findCacheBreaks", () => {
  it.for(cases)("reports the cause of a cache break: $cause", async ({ edit, kinds, keepsPrefix = false, says }) => {
    const run = await logEdited(options(3), edit);
    const breaks = findCacheBreaks(run);
    expect(breaks.map(({ index, iteration }) => [index, iteration])).toEqual([[3, 3]]);
    const [found] = breaks;
    if (found === undefined) throw new Error("The cache is not broken.");
    expect(
      found.causes.map(({ kind, name, count }) => [kind, name ?? count].filter((part) => part !== undefined).join(" ")),
    ).toEqual(kinds);
    expect(found.keptChars + found.lostChars).toBe(found.prefixChars);
    expect(found.lostChars > 0).toBe(!keepsPrefix);
    expect(describeCacheBreak(found)).toContain(`: ${says}.`);
    const [first = ""] = says.split(" and ");
    const verb = keepsPrefix ? "cache may be broken" : "cache broke";
    expect(summarizeCacheBreak(found)).toBe(`${verb}: ${first}${kinds.length > 1 ? ", 1 more change" : ""}`);
  });

  it("lists the causes in the order in which services read a request", async () => {
    const run = await logEdited(
      options(3),
      editAt(3, ({ messages, tools }) => ({
        messages: messages.slice(1),
        system: "Other.",
        tools: tools.slice(1),
        toolChoice: "auto",
      })),
    );
    expect(findCacheBreaks(run)[0]?.causes.map(({ kind }) => kind)).toEqual([
      "tool-removed",
      "system-changed",
      "messages-removed",
      "tool-choice-changed",
    ]);
  });

  it("reports masked messages separately from edited messages", async () => {
    const masking = maskResults({ keepIterations: 1, minTokens: 0 });
    const { log } = await logRun(optionsFor(3, { middleware: [masking] }));
    const [run] = log.runs;
    if (run === undefined) throw new Error("The log has no run.");
    const breaks = findCacheBreaks(run);
    expect(breaks.map(({ iteration, causes }) => [iteration, causes])).toEqual([
      [2, [{ kind: "messages-masked", count: 1 }]],
      [3, [{ kind: "messages-masked", count: 1 }]],
    ]);
    const request = run.iterations[1]?.request;
    const parts = [...(request?.tools ?? []), ...(request?.messages() ?? [])].map((part) => JSON.stringify(part));
    expect(breaks[0]?.prefixChars).toBe(parts.join("").length);
    expect(parts.join("").slice(breaks[0]?.keptChars)).toMatch(/^A long result/);
  });

  it("does not report a break in a run that only adds messages", async () => {
    const { log } = await logRun(optionsFor(5));
    expect(log.runs.flatMap(findCacheBreaks)).toEqual([]);
  });

  it("does not report an added tool that the service loads only when the model finds it", async () => {
    const added = { name: "third", description: "New.", inputSchema: {}, deferred: true };
    const edit = editAt(3, ({ tools }) => ({ tools: [added, ...tools] }));
    expect(findCacheBreaks(await logEdited(options(4), edit))).toEqual([]);
  });

  it("reports a different provider and model if a fallback answered", async () => {
    const first = createMockProvider([toolCall("look_up"), [fail({ status: 500, message: "Broken" })]]);
    const second = createMockProvider([text("Done.")], { id: "second", model: "small" });
    const { log } = await logRun({ ...optionsFor(1), provider: withFallback([first, second]) });
    const [found] = log.runs.flatMap(findCacheBreaks);
    expect(found?.causes).toEqual([
      { kind: "provider-changed", values: ["mock", "second"] },
      { kind: "model-changed", values: ["mock-model", "small"] },
    ]);
    expect(found?.keptChars).toBe(0);
    expect(found && describeCacheBreak(found)).toContain(
      "broke here: the provider changed from mock to second and the model changed from mock-model to small. ",
    );
  });

  it("does not report a break if only the temperature and seed settings change", async () => {
    const run = await logEdited(options(2), ({ iteration }) => ({ settings: { temperature: iteration / 10, seed: iteration } }));
    expect(findCacheBreaks(run)).toEqual([]);
  });

  it("returns the number of cached tokens, and the number that the unchanged prefix allows", async () => {
    const provider = createMockProvider([
      [toolCall("look_up"), usage({ inputTokens: 1_000, outputTokens: 10 })],
      [text("Done."), usage({ inputTokens: 1_200, outputTokens: 10, cachedInputTokens: 128 })],
    ]);
    const run = await logEdited(
      { ...options(1), provider },
      editAt(1, () => ({ system: "Be very brief." })),
    );
    const [found] = findCacheBreaks(run);
    const { keptChars = 0, prefixChars = 0 } = found ?? {};
    expect([found?.cachedTokens, found?.possibleTokens]).toEqual([128, Math.floor((1_000 * keptChars) / prefixChars)]);
    expect(cacheShareOf(totalsOf(run))).toBe(128 / 2_200);
  });

  it("finds the same breaks in random requests as a comparison of all messages", async () => {
    const edits = fc.array(fc.record({ at: fc.nat(9), kind: fc.constantFrom("edit", "remove", "insert", "none") }), {
      minLength: 6,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(edits, async (list) => {
        const run = await logEdited(
          options(5),
          editMessages((messages, iteration) => {
            const { at = 0, kind } = list[iteration] ?? {};
            if (kind === "edit") return messages.map((one, index) => (index === at ? { role: "user", content: "?" } : one));
            if (kind === "remove") return messages.filter((_one, index) => index !== at);
            return kind === "insert" ? messages.toSpliced(at, 0, { role: "user", content: "!" }) : messages;
          }),
        );
        const texts = run.iterations.map(({ request }) => (request?.messages() ?? []).map((message) => JSON.stringify(message)));
        const broken = texts.flatMap((current, index) => {
          const before = texts[index - 1] ?? [];
          return before.every((message, at) => message === current[at]) ? [] : [index];
        });
        expect(findCacheBreaks(run).map(({ index }) => index)).toEqual(broken);
      }),
      { numRuns: 15 },
    );
  });
});
