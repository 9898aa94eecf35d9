import { describe, expect, it } from "vitest";
import { type LoggedRun, parseRunLog, toMarkdown } from "turnwright/inspect";
import { createMockProvider, toolCall } from "turnwright/testing";
import { linesOf, logRun, optionsFor } from "../log-run.ts";
import { runWith } from "./run-with.ts";

describe("toMarkdown", () => {
  it("writes a transcript with times, costs, attempts, waits, errors and nested runs", () => {
    expect(toMarkdown(runWith())).toMatchInlineSnapshot(`
      "# Run \`r\`

      - Status: \`error\`
      - Reason: \`provider-error\`, \`e\`
      - Model: \`m\` from \`p\`
      - Started: 1970-01-01 00:16:40 UTC
      - Time: 1 min 5 s
      - Iterations: 2
      - Tool calls: 1
      - Tokens: 10 in, 5 out
      - Cost: $0.5000

      ## Iteration 0

      - Stream: 1.23 s, first token after 7 ms
      - Model: \`n\`
      - Ended: \`tool-calls\`
      - Tokens: 10 in, 5 out
      - Cost: $0.5000
      - Attempt 0 with \`n\` from \`n\` was discarded after 500 ms: \`overloaded\`, \`e\`
      - Waited 1.00 s before the next attempt

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

      **Error** \`overloaded\`

      \`\`\`text
      e
      \`\`\`

      ### Call \`n\`

      - Call id: \`n\`
      - Outcome: \`completed\`
      - Decision: \`approve\`
      - Time: 280 ms
      - Waited 3.20 s for approval

      **Arguments**

      \`\`\`text
      a
      \`\`\`

      > # Nested run \`n\`
      >
      > - Model: \`n\` from \`n\`
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
      > - Stream: 1.23 s
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

      _Earlier messages that this request has in a changed form: 1._

      **User**

      \`\`\`text
      u
      \`\`\`
      "
    `);
  });

  it("writes control characters as code points, and CRLF line breaks as line breaks", () => {
    const markdown = toMarkdown(runWith({ text: "a\r\nb\rc\u202Ed" }));
    expect(markdown).toContain("a\nb‹U+000D›c‹U+202E›d");
  });

  it("cuts long text between whole characters and adds a note", () => {
    const markdown = toMarkdown(runWith({ result: `ab${"😀".repeat(1000)}` }), { maxChars: 5 });
    expect(markdown).toContain("```text\nab😀\n```\n\n_The first 4 of 2,002 characters._");
  });

  it("omits the system text and the reasoning if the options say so", () => {
    const run = runWith({ system: "SYSTEM", reasoning: "REASONING" });
    expect(toMarkdown(run)).toMatch(/SYSTEM[^]*REASONING/);
    expect(toMarkdown(run, { system: false, reasoning: false })).not.toMatch(/SYSTEM|REASONING|<details>/);
  });

  it("writes the system text, each message and each result once", async () => {
    const { log } = await logRun(optionsFor(2, { system: "Be short." }));
    const markdown = toMarkdown(log.runs[0] as LoggedRun);
    expect(markdown.match(/\*\*User\*\*/g)).toHaveLength(1);
    expect(markdown.match(/\*\*Result\*\*/g)).toHaveLength(2);
    expect(markdown.match(/Be short\./g)).toHaveLength(1);
    expect(markdown).toContain("Done.");
  });

  it("writes an image's type, but not its URL", async () => {
    const content = [{ type: "image", mediaType: "image/png", data: "https://evil.example/p.png" } as const];
    const { log } = await logRun(optionsFor(0, { messages: [{ role: "user", content }] }));
    const markdown = toMarkdown(log.runs[0] as LoggedRun);
    expect(markdown).toContain("_Image of type_ `image/png`");
    expect(markdown).not.toContain("evil.example");
  });

  it("notes a missing end of the run and a missing outcome of a call", async () => {
    const { lines } = await logRun(optionsFor(0, { provider: createMockProvider([toolCall("look_up", {})]) }));
    expect(linesOf(lines, "tool-start")).toHaveLength(1);
    const cut = lines.slice(0, lines.findIndex((line) => line.includes('"type":"tool-start"')) + 1);
    const [run] = parseRunLog(cut.join("")).runs;
    const markdown = run === undefined ? "" : toMarkdown(run);
    expect(markdown).toContain("- Status: the log does not contain the end of this run");
    expect(markdown).toContain("- Outcome: not in the log");
  });

  it("rejects unknown and invalid options", () => {
    expect(() => toMarkdown(runWith(), { maxChars: 0.5 })).toThrow(expect.objectContaining({ code: "invalid-option" }));
    expect(() => toMarkdown(runWith(), { html: true } as never)).toThrow(expect.objectContaining({ code: "unknown-option" }));
  });
});
