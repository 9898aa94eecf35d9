// A bundler leaves out what a program does not name. The rest must still hide secrets.

import { execFileSync } from "node:child_process";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Installed, installPacked } from "./install-packed.ts";

let installed: Installed;
beforeAll(() => void (installed = installPacked(["eventemitter3"])));
afterAll(() => installed.remove());

const program = (more: string, main: string): string => `
  import { defineTool, runToolLoop } from "turnwright";
  ${more}
  const tool = defineTool({
    name: "pay", description: "Pays", inputSchema: { type: "object" },
    execute: () => { throw new Error("The gateway refused the key sk-abc123DEF456ghi"); },
  });
  const chunks = [
    [{ type: "call-ready", key: "0", id: "c", name: "pay", args: {} }, { type: "finish", reason: "tool-calls" }],
    [{ type: "text-delta", text: "Done." }, { type: "finish", reason: "stop" }],
  ];
  const provider = { id: "p", model: "m", async *stream() { yield* chunks.shift() ?? []; } };
  const messages = [{ role: "user", content: "Pay." }];
  ${main}
`;

const fail = `
  const { text, messages: all } = await runToolLoop({ provider, tools: [tool], messages });
  const wrong = await runToolLoop({ provider, messages, maxSteps: 3 }).catch((error) => error);
  console.log(JSON.stringify({ text, read: all[2].results[0].result.reason, wrong: wrong.message, code: wrong.code }));
`;

async function run(more = "", main = fail): Promise<unknown> {
  const { outputFiles } = await build({
    stdin: { contents: program(more, main), resolveDir: installed.folder },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
  });
  const [file] = outputFiles;
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module"], { input: file?.text ?? "", encoding: "utf8" }));
}

describe("a bundle with runToolLoop", () => {
  it("has short error messages and coarser redaction", async () => {
    expect(await run()).toEqual({
      text: "Done.",
      read: "The gateway refused the key [redacted]",
      wrong: 'unknown-option: {"option":"maxSteps"}',
      code: "unknown-option",
    });
  });

  it("includes the journal-reading code only if the program creates a journal", async () => {
    const keep = (journal: string): string => `
      const kept = runToolLoop({ provider, tools: [tool], messages, journal: ${journal} });
      console.log(JSON.stringify(await kept.then(({ text }) => text, ({ details }) => details.option)));`;
    const mine = "{ read: () => undefined, step: async (key, body) => body() }";
    expect(await run("", keep(mine))).toBe("journal");
    expect(await run('import { memoryJournal } from "turnwright";', keep("memoryJournal()"))).toBe("Done.");
    expect(await run('import { enableJournals } from "turnwright"; enableJournals();', keep(mine))).toBe("Done.");
  });

  it("has the full error messages with explainErrors", async () => {
    expect(await run('import { explainErrors } from "turnwright"; explainErrors();')).toMatchObject({
      read: "The gateway refused the key [redacted]",
      wrong: expect.stringContaining("limits.maxIterations"),
    });
  });
});
