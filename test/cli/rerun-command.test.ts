import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defineTool, runToolLoop } from "turnwright";
import { readRunLog, runLog } from "turnwright/inspect";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { makeCliFolder, runCommand } from "./run-command.ts";
import { addWatchers } from "../add-watchers.ts";

async function writeRun(folder: string, id = "mock"): Promise<void> {
  const look = defineTool({
    name: "look",
    description: "Looks",
    inputSchema: { type: "object" },
    execute: () => ({ found: true }),
  });
  const provider = createMockProvider([toolCall("look"), toolCall("look"), text("Done.")], { id });
  const options = { provider, tools: [look], system: "Be brief.", messages: [{ role: "user", content: "Hi." }] } as const;
  await runToolLoop(addWatchers(options, runLog({ to: join(folder, "run.jsonl") })));
}

function writeModule(folder: string, chunks: string, more = ""): void {
  writeFileSync(
    join(folder, "agent.mjs"),
    `let count = 0;
export const ran = globalThis.ranTools ??= [];
const tool = (name) => ({
  name, description: name, inputSchema: { type: "object" }, execute: () => (ran.push(name), "ok"),
});
const provider = {
  id: "test", model: "test-model",
  async *stream(request) {
    globalThis.requests ??= [];
    globalThis.requests.push(request.system);
    yield* [${chunks}][count++];
  },
};
export const options = ({ model, log }) => ({ provider: { ...provider, model: model ?? log.model }${more} });`,
  );
}

const answer = '[{ type: "text-delta", text: "New." }, { type: "finish", reason: "stop" }]';
const call = '[{ type: "call-ready", key: "a", id: "a", name: "look", args: {} }, { type: "finish", reason: "tool-calls" }]';

describe("turnwright rerun", () => {
  it("repeats a run without calling the run's tools", async () => {
    const folder = makeCliFolder();
    await writeRun(folder);
    writeModule(folder, answer, ', tools: [tool("look")]');
    const end = await runCommand(folder, ["rerun", "run.jsonl", "--from", "i1", "--module", "./agent.mjs", "--model", "x"]);
    expect(end).toMatchObject({ exitCode: 0, out: ["run-rerun.jsonl"] });
    expect(end.notes.join("\n")).toMatch(
      /^Repeats iterations 0 to 0, then continues with test x\.\ni1 completed.*\nEnded: completed \(answered\)\.\nLive: \d+ ms · 0 tokens · cost unknown\.\nNew\.\nCompare both runs: npx turnwright inspect run\.jsonl run-rerun\.jsonl$/,
    );
    const [first, second] = await Promise.all(["run.jsonl", "run-rerun.jsonl"].map((name) => readRunLog(join(folder, name))));
    const [before, after] = [first, second].map((log) => log?.runs[0]?.iterations ?? []);
    expect(after?.map(({ iteration, model, calls }) => [iteration, model, calls.map(({ result }) => result)])).toEqual([
      [0, "mock-model", before?.[0]?.calls.map(({ result }) => result)],
      [1, "x", []],
    ]);
    expect(after?.at(-1)?.request?.system).toBe("Be brief.");
    const again = await runCommand(folder, ["rerun", "run.jsonl", "--from", "0", "--module", "./agent.mjs"]);
    expect([again.out, existsSync(join(folder, "run-rerun2.jsonl"))]).toEqual([["run-rerun2.jsonl"], true]);
  });

  it("reports that no iteration is repeated if --from is i0", async () => {
    const folder = makeCliFolder();
    await writeRun(folder);
    writeModule(folder, answer);
    const { exitCode, notes } = await runCommand(folder, ["rerun", "run.jsonl", "--from", "i0", "--module", "agent.mjs"]);
    expect([exitCode, notes[0]]).toEqual([0, "Repeats no iterations, and starts with test mock-model."]);
  });

  it("suspends the run at a call to a tool without code and names the tool", async () => {
    const folder = makeCliFolder();
    await writeRun(folder);
    writeModule(folder, call);
    const { exitCode, notes } = await runCommand(folder, ["rerun", "run.jsonl", "--from", "i2", "--module", "agent.mjs"]);
    expect([exitCode, notes[1], notes.at(-2)]).toEqual([
      0,
      "The code of these tools is missing, so a call to one of them suspends the run: look. Provide them with --module.",
      "These calls are waiting: look. To continue, provide their tools with --module.",
    ]);
  });

  it("prints the total tokens and cost of the live iterations", async () => {
    const folder = makeCliFolder();
    await writeRun(folder);
    const usage = "{ inputTokens: 1000, outputTokens: 234, totalTokens: 1234 }";
    const steps = [call, answer].map((step) => `[{ type: "usage", mode: "snapshot", usage: ${usage} }, ${step.slice(1)}`);
    writeModule(folder, steps.join(", "), ', tools: [tool("look")], pricing: () => 0.25');
    const { notes } = await runCommand(folder, ["rerun", "run.jsonl", "--from", "i1", "--module", "agent.mjs"]);
    expect(notes.find((note) => note.startsWith("Live:"))).toMatch(/^Live: \d+ ms · 2,468 tokens · \$0\.5000\.$/);
  });

  it("does not write a log through a symbolic link", async () => {
    const folder = makeCliFolder();
    await writeRun(folder);
    writeModule(folder, answer);
    symlinkSync("elsewhere.jsonl", join(folder, "run-rerun.jsonl"));
    const { out } = await runCommand(folder, ["rerun", "run.jsonl", "--from", "i1", "--module", "agent.mjs"]);
    expect([out, existsSync(join(folder, "elsewhere.jsonl"))]).toEqual([["run-rerun2.jsonl"], false]);
  });

  it("prints the names of the options that the module defines but the rerun ignores", async () => {
    const folder = makeCliFolder();
    await writeRun(folder);
    writeModule(folder, answer, ', messages: [{ role: "user", content: "Another question." }], answers: []');
    const { exitCode, notes } = await runCommand(folder, ["rerun", "run.jsonl", "--from", "i1", "--module", "agent.mjs"]);
    expect([exitCode, notes[0]]).toEqual([0, "Ignoring messages, answers from agent.mjs: the new run takes them from the log."]);
    expect(readFileSync(join(folder, "run-rerun.jsonl"), "utf8")).not.toContain("Another question.");
  });

  it("leaves no log for a run that ends before the first live iteration", async () => {
    const folder = makeCliFolder();
    await writeRun(folder);
    writeModule(folder, answer, ", limits: { maxCostUSD: 1 }, pricing: () => undefined");
    const args = ["rerun", "run.jsonl", "--from", "i2", "--module", "agent.mjs", "-o", "new.jsonl"];
    const { exitCode, notes } = await runCommand(folder, args);
    expect([exitCode, notes.at(-1)]).toEqual([
      1,
      expect.stringContaining("with these options, the run ends at iteration 0 (cost-unknown)"),
    ]);
    expect(existsSync(join(folder, "new.jsonl"))).toBe(false);
  });

  it.skipIf(process.platform === "win32")("prints a comparison command with file names quoted for the shell", async () => {
    const folder = makeCliFolder();
    await writeRun(folder);
    writeModule(folder, answer);
    const name = "-a$(touch X)'b.jsonl";
    renameSync(join(folder, "run.jsonl"), join(folder, name));
    const { notes } = await runCommand(folder, ["rerun", `./${name}`, "--from", "i1", "--module", "agent.mjs"]);
    const command = /^Compare both runs: npx turnwright inspect (.*)$/.exec(notes.at(-1) ?? "")?.[1] ?? "";
    const said = execFileSync("/bin/sh", ["-c", `printf '%s\\n' ${command}`], { cwd: folder, encoding: "utf8" });
    expect(said).toBe(`./${name}\n./-a$(touch X)'b-rerun.jsonl\n`);
  });

  it("prints control characters from the model as code points", async () => {
    const folder = makeCliFolder();
    await writeRun(folder);
    writeModule(folder, answer.replace("New.", "\\u001b[2JNew.\\nNext."));
    const { notes } = await runCommand(folder, ["rerun", "run.jsonl", "--from", "i1", "--module", "agent.mjs"]);
    expect(notes).toContain("‹U+001B›[2JNew.\nNext.");
  });

  it.for<readonly [what: string, args: readonly string[], exitCode: number, message: string]>([
    ["a command without an iteration", [], 2, "`rerun` needs --from with an iteration"],
    ["an iteration that is a word", ["--from", "last"], 2, '--from is "last", but must be an iteration such as i3.'],
    ["an iteration that the run does not have", ["--from", "i9"], 1, "it has iterations 0 to 2. Choose one of these."],
    [
      "a provider that is not built in",
      ["--from", "i1"],
      1,
      'There is no built-in provider "mock" (known: openai, anthropic, google).',
    ],
    ["a missing module", ["--from", "i1", "--module", "no.mjs"], 1, "no.mjs cannot be loaded"],
    ["a module without options", ["--from", "i1", "--module", "empty.mjs"], 1, "empty.mjs exports no options."],
    [
      "--model together with a module that has a provider",
      ["--from", "i1", "--module", "fixed.mjs", "--model", "x"],
      2,
      "--model does not",
    ],
    [
      "an output file that already exists",
      ["--from", "i1", "--module", "agent.mjs", "-o", "run.jsonl"],
      1,
      "run.jsonl already exists.",
    ],
  ])("prints a message and writes no log for %s", async ([, args, exitCode, message]) => {
    const folder = makeCliFolder();
    await writeRun(folder);
    writeModule(folder, answer);
    writeFileSync(join(folder, "empty.mjs"), "export const other = 1;");
    writeFileSync(join(folder, "fixed.mjs"), "export const options = { provider: {} };");
    const end = await runCommand(folder, ["rerun", "run.jsonl", ...args]);
    expect([end.exitCode, end.out]).toEqual([exitCode, []]);
    expect(end.notes.join("\n")).toContain(message);
  });

  it("reports that the API key or the SDK of the log's provider is missing", async () => {
    const folder = makeCliFolder();
    await writeRun(folder, "openai");
    const args = ["rerun", "run.jsonl", "--from", "i1", "--model", "gpt-x"];
    expect((await runCommand(folder, args)).notes).toEqual([
      'turnwright: The provider "openai" needs a key. Set OPENAI_API_KEY, or pass a provider with --module.',
    ]);
    const env = { OPENAI_API_KEY: "sk-test" };
    expect((await runCommand(folder, args, { env })).notes[0]).toContain(
      "The package openai is not installed here. Run `npm install openai`",
    );
    const sdk = join(folder, "node_modules", "openai");
    mkdirSync(sdk, { recursive: true });
    writeFileSync(join(sdk, "package.json"), '{"name":"openai","type":"module","exports":"./index.js"}');
    writeFileSync(
      join(sdk, "index.js"),
      `export class OpenAI {
        constructor({ apiKey }) { this.apiKey = apiKey; }
        chat = { completions: { create: async ({ model }) => { throw new Error(\`sent to \${model} with \${this.apiKey.length}\`); } } };
      }`,
    );
    const { notes } = await runCommand(folder, args, { env });
    expect(notes[0]).toBe("Repeats iterations 0 to 0, then continues with openai gpt-x.");
    expect(readFileSync(join(folder, "run-rerun.jsonl"), "utf8")).toContain("sent to gpt-x with 7");
  });

  it("reports that an SDK is installed but cannot be loaded", async () => {
    const folder = makeCliFolder();
    await writeRun(folder, "anthropic");
    const sdk = join(folder, "node_modules", "@anthropic-ai", "sdk");
    mkdirSync(sdk, { recursive: true });
    writeFileSync(join(sdk, "package.json"), '{"name":"@anthropic-ai/sdk","exports":{"import":"./index.js"}}');
    const env = { ANTHROPIC_API_KEY: "sk-test" };
    const { notes } = await runCommand(folder, ["rerun", "run.jsonl", "--from", "i1"], { env });
    expect(notes[0]).toMatch(
      /The package @anthropic-ai\/sdk cannot be loaded: No "exports".*\. Pass a provider with --module\.$/,
    );
  });
});
