import fc from "fast-check";
import MarkdownIt from "markdown-it";
import { describe, expect, it } from "vitest";
import { exportRunLog, type LoggedRun, type MarkdownOptions, toChromeTrace, toMarkdown } from "turnwright/inspect";
import { createMockProvider, toolCall } from "turnwright/testing";
import { linesOf, logRun, optionsFor } from "../log-run.ts";
import { parallelLog, place, request, start, usage } from "./parallel-log.ts";
import { logOf } from "./trace-events.ts";

/** The viewer that the transcript must withstand: it allows HTML and makes links from addresses. */
const viewer = new MarkdownIt({ html: true, linkify: true, typographer: true });

interface Texts {
  readonly system: string;
  readonly said: string;
  readonly text: string;
  readonly reasoning: string;
  readonly name: string;
  readonly args: unknown;
  readonly result: unknown;
  readonly error: string;
}

const harmless: Texts = { system: "s", said: "u", text: "t", reasoning: "r", name: "n", args: "a", result: "x", error: "e" };

/** A run with texts of users, models and tools in all places, also in a nested run. */
function runWith(texts: Partial<Texts> = {}): LoggedRun {
  const { system, said, text, reasoning, name, args, result, error } = { ...harmless, ...texts };
  const call = { iteration: 0, callId: name, name, index: 0 };
  const failed = { code: "overloaded", message: error };
  const asks = { ...request, system, add: [{ role: "user", content: said }] };
  const ended = {
    status: "tool-calls",
    provider: name,
    model: name,
    finish: "tool-calls",
    usage,
    costUSD: 0.5,
    durationMs: 1234,
  };
  const attempt = { ...place, attempt: 0, provider: name, model: name };
  const log = logOf([
    { at: 0, ...start },
    { at: 1, type: "iteration-start", ...place },
    { at: 2, ...asks },
    { at: 3, type: "attempt-start", ...attempt },
    { at: 503, type: "attempt-discarded", ...place, attempt: 0, error: failed },
    { at: 1503, type: "attempt-start", ...attempt, attempt: 1 },
    { at: 1510, type: "first-token", kind: "text", ...place },
    { at: 1520, type: "output", ...place, text, reasoning, error: failed, calls: [{ ...call, args, at: 1_001_520 }] },
    { at: 1520, type: "approval-asked", ...call, args },
    { at: 4720, type: "approval-decided", ...call, decision: "approve" },
    { at: 4720, type: "tool-start", ...call, args },
    { at: 4800, type: "run-start", run: 1, path: [name], parent: 0, runId: name, provider: name, model: name },
    { at: 4801, type: "iteration-start", run: 1, ...place },
    { at: 4802, run: 1, ...asks },
    { at: 4803, type: "output", run: 1, ...place, text, reasoning },
    { at: 4804, type: "iteration-end", run: 1, ...place, ...ended },
    { at: 4805, type: "run-error", run: 1, error: { name: "Error", message: error } },
    { at: 5000, type: "tool-end", ...call, outcome: "completed", result, durationMs: 280 },
    { at: 5001, type: "iteration-end", ...place, ...ended },
    { at: 5002, type: "iteration-start", iteration: 1, continuation: 0 },
    {
      at: 5003,
      ...request,
      iteration: 1,
      keep: 1,
      replace: [[0, { role: "user", content: "changed" }]],
      add: [{ role: "user", content: said }],
    },
    {
      at: 65_003,
      type: "run-end",
      status: "error",
      reason: { kind: "provider-error", error: failed },
      usage,
      costUSD: 0.5,
      durationMs: 65_003,
      toolCallsExecuted: 1,
    },
  ]);
  const [run] = log.runs;
  if (run === undefined) throw new Error("The log has no run.");
  return run;
}

const tags = (html: string): ReadonlySet<string> =>
  new Set([...html.matchAll(/<\/?([^\s>]+)[^>]*>/g)].map(([, tag = ""]) => tag));

/** Returns the rendered page without the content of its code, which is all that texts may change. */
function skeletonOf(run: LoggedRun, options: MarkdownOptions = {}): string {
  return viewer
    .render(toMarkdown(run, { maxChars: Number.POSITIVE_INFINITY, ...options }))
    .replaceAll(/(<code[^>]*>)[^<]*<\/code>( \(cut\))?/g, "$1</code>")
    .replaceAll("(empty)", "<code></code>")
    .replaceAll("language-json", "language-text");
}

const payloads: readonly string[] = [
  "<script>alert(1)</script>",
  '<img src="x" onerror="alert(1)">',
  "```\n</code></pre><script>alert(1)</script>",
  "````\n# Heading\n~~~~~\n> quote",
  "`".repeat(40),
  "`` ` `` <b>bold</b> ``",
  "[click](javascript:alert(1)) ![pixel](https://evil.example/p.png)",
  "https://evil.example/auto <https://evil.example>",
  "[ref]: https://evil.example\n\n[ref]",
  "</details><details open>\n\n## Run",
  "\r```\r# Heading\r",
  "\u2028```\u2028# Heading\u0085```\u000b```",
  "\u202E\u2066\u001b[31m ANSI \u0000",
  "    indented\n\ttab\n1. list\n- list\n---\n***\n===",
  "| a | b |\n|---|---|\n| `|` | x |",
  "&lt;script&gt; &#60;b&#62; \\` \\\\",
  "$$x$$ :smile: @someone #1 <!-- comment",
  "<svg><animate onbegin=alert(1)></svg>",
];

describe("toMarkdown", () => {
  it("writes a transcript with times, costs, attempts, waits, errors and nested runs", () => {
    expect(toMarkdown(runWith())).toMatchInlineSnapshot(`
      "# Run \`r\`

      - Status: \`error\`
      - Reason: \`provider-error\`, \`e\`
      - Model: \`m\` of \`p\`
      - Started: 1970-01-01 00:16:40 UTC
      - Time: 1 min 5 s
      - Iterations: 2
      - Tool calls: 1
      - Tokens: 10 in, 5 out
      - Cost: $0.5000

      ## Iteration 0

      - Stream: 1.2 s, first token after 7 ms
      - Model: \`n\`
      - Ended: \`tool-calls\`
      - Tokens: 10 in, 5 out
      - Cost: $0.5000
      - Attempt 0 with \`n\` of \`n\` was discarded after 500 ms: \`overloaded\`, \`e\`
      - Waited 1.0 s before the next attempt

      <details>
      <summary>System text</summary>

      \`\`\`text
      s
      \`\`\`

      </details>

      **User**

      \`\`\`text
      u
      \`\`\`

      <details>
      <summary>Reasoning</summary>

      \`\`\`text
      r
      \`\`\`

      </details>

      **Model**

      \`\`\`text
      t
      \`\`\`

      **Error**

      \`\`\`text
      e
      \`\`\`

      ### Call \`n\`

      - Call id: \`n\`
      - Outcome: \`completed\`
      - Decision: \`approve\`
      - Time: 280 ms
      - Waited 3.2 s for a decision

      **Arguments**

      \`\`\`text
      a
      \`\`\`

      > # Nested run \`n\`
      >
      > - Model: \`n\` of \`n\`
      > - Started: 1970-01-01 00:16:44 UTC
      > - Iterations: 1
      >
      > **Error**
      >
      > \`\`\`text
      > e
      > \`\`\`
      >
      > ## Iteration 0
      >
      > - Stream: 1.2 s
      > - Ended: \`tool-calls\`
      > - Tokens: 10 in, 5 out
      > - Cost: $0.5000
      >
      > <details>
      > <summary>System text</summary>
      >
      > \`\`\`text
      > s
      > \`\`\`
      >
      > </details>
      >
      > **User**
      >
      > \`\`\`text
      > u
      > \`\`\`
      >
      > <details>
      > <summary>Reasoning</summary>
      >
      > \`\`\`text
      > r
      > \`\`\`
      >
      > </details>
      >
      > **Model**
      >
      > \`\`\`text
      > t
      > \`\`\`

      **Result**

      \`\`\`text
      x
      \`\`\`

      ## Iteration 1

      _The request has 1 earlier messages in a changed form._

      **User**

      \`\`\`text
      u
      \`\`\`
      "
    `);
  });

  it.for(payloads)("shows %j as plain characters, in all places", (payload) => {
    const texts = { system: payload, said: payload, text: payload, reasoning: payload, name: payload, error: payload };
    expect(skeletonOf(runWith({ ...texts, args: payload, result: payload }))).toBe(skeletonOf(runWith()));
    expect(skeletonOf(runWith({ args: { [payload]: payload }, result: [payload] }))).toBe(skeletonOf(runWith()));
  });

  it("shows any text as plain characters", () => {
    const piece = fc.oneof(
      fc.constantFrom(...payloads, "`", "\n", "\r", " ", "<", ">", "~", "#", "[", "]("),
      fc.string(),
      fc.string({ unit: "binary" }),
    );
    const text = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => `${pieces.join("")}.`);
    const texts = fc.record({
      system: text,
      said: text,
      text,
      reasoning: text,
      name: text,
      args: fc.oneof(text, fc.dictionary(text, text)),
      result: text,
      error: text,
    });
    const expected = skeletonOf(runWith());
    fc.assert(
      fc.property(texts, (all) => {
        expect(skeletonOf(runWith(all))).toBe(expected);
      }),
    );
  });

  it("has only the elements of a transcript", () => {
    expect([...tags(skeletonOf(runWith()))].toSorted()).toEqual([
      "blockquote",
      "code",
      "details",
      "em",
      "h1",
      "h2",
      "h3",
      "li",
      "p",
      "pre",
      "strong",
      "summary",
      "ul",
    ]);
  });

  it("keeps the exact text of a block without control characters", () => {
    const text = "  # A\n\n```js\nlet a = 1;\n```\n\tB  \n";
    const code = viewer.parse(toMarkdown(runWith({ text })), {}).filter(({ type }) => type === "fence");
    expect(code.map(({ content }) => content)).toContain(`${text}\n`);
  });

  it("shows control characters as code points, and line breaks of Windows as line breaks", () => {
    const markdown = toMarkdown(runWith({ text: "a\r\nb\rc\u202Ed" }));
    expect(markdown).toContain("a\nb‹U+000D›c‹U+202E›d");
  });

  it("cuts long texts with a note, between whole characters", () => {
    const markdown = toMarkdown(runWith({ result: `ab${"😀".repeat(1000)}` }), { maxChars: 5 });
    expect(markdown).toContain("```text\nab😀\n```\n\n_The first 4 of 2,002 characters._");
  });

  it("leaves the system text and the reasoning out if the options say so", () => {
    const run = runWith({ system: "SYSTEM", reasoning: "REASONING" });
    expect(toMarkdown(run)).toMatch(/SYSTEM[^]*REASONING/);
    expect(toMarkdown(run, { system: false, reasoning: false })).not.toMatch(/SYSTEM|REASONING|<details>/);
  });

  it("writes each message of a run once", async () => {
    const { log } = await logRun(optionsFor(2, { system: "Be short." }));
    const markdown = toMarkdown(log.runs[0] as LoggedRun);
    expect(markdown.match(/\*\*User\*\*/g)).toHaveLength(1);
    expect(markdown.match(/\*\*Result\*\*/g)).toHaveLength(2);
    expect(markdown.match(/Be short\./g)).toHaveLength(1);
    expect(markdown).toContain("Done.");
  });

  it("names images and files, and does not show them", async () => {
    const content = [{ type: "image", mediaType: "image/png", data: "https://evil.example/p.png" } as const];
    const { log } = await logRun(optionsFor(0, { messages: [{ role: "user", content }] }));
    const markdown = toMarkdown(log.runs[0] as LoggedRun);
    expect(markdown).toContain("_Image of type_ `image/png`");
    expect(markdown).not.toContain("evil.example");
  });

  it("says that a run has no end, and that a call has no outcome", async () => {
    const { lines } = await logRun(optionsFor(0, { provider: createMockProvider([toolCall("look_up", {})]) }));
    expect(linesOf(lines, "tool-start")).toHaveLength(1);
    const cut = lines.slice(0, lines.findIndex((line) => line.includes('"type":"tool-start"')) + 1);
    const markdown = exportRunLog(cut.join(""), "markdown");
    expect(markdown).toContain("- Status: the log has no end of this run");
    expect(markdown).toContain("- Outcome: not in the log");
  });

  it("refuses unknown and invalid options", () => {
    expect(() => toMarkdown(runWith(), { maxChars: 0.5 })).toThrow(expect.objectContaining({ code: "invalid-option" }));
    expect(() => toMarkdown(runWith(), { html: true } as never)).toThrow(expect.objectContaining({ code: "unknown-option" }));
  });
});

describe("exportRunLog", () => {
  it("exports all runs of a log in each format", () => {
    expect(exportRunLog(parallelLog(), "chrome-trace")).toBe(toChromeTrace(parallelLog()));
    expect(exportRunLog(parallelLog(), "markdown")).toBe(
      parallelLog()
        .runs.map((run) => toMarkdown(run))
        .join("\n"),
    );
  });

  it("refuses another format", () => {
    expect(() => exportRunLog(parallelLog(), "html" as never)).toThrow("chrome-trace or markdown");
  });
});
