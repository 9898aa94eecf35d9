// A run with parallel tools, approvals and a nested run. Its process kills itself at a chosen moment, or copies its files at each
// moment. The journal and the notes about side effects are in files, which outlive the process.

import { appendFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import {
  approve,
  type Approve,
  defer,
  defineAgentTool,
  defineTool,
  type Journal,
  type LoopOptions,
  type LoopResult,
  runToolLoop,
  type Tool,
} from "turnwright";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, type MockProvider, type MockMessage, text, toolCall } from "turnwright/testing";

/** The moment at which a process dies: before or after its n-th record, or inside a tool. */
export type Death =
  | { readonly when: "before record" | "after record"; readonly count: number }
  | { readonly when: "during step"; readonly key: string };

export interface Life {
  readonly folder: string;
  readonly death?: Death | undefined;
  /** A folder that gets a copy of the files at each moment. A process that was killed at this moment would have left the same files. */
  readonly copies?: string | undefined;
  readonly asks?: boolean | undefined;
  /** True if payments and digging get their results from outside the run. */
  readonly defers?: boolean | undefined;
  readonly answers?: LoopOptions["answers"];
}

export const nameOf = (death: Death): string => `${death.when} ${"key" in death ? death.key : death.count}`;

export const folderIn = (root: string, death: Death): string => join(root, nameOf(death).replaceAll("/", "_"));

export const safeTools: ReadonlySet<string> = new Set(["look"]);

export const journalIn = (folder: string): string => join(folder, "run.jsonl");

/** Returns the path of the notes: a file that lists model requests, approvals, and the start and end of tools. */
export const notesIn = (folder: string): string => join(folder, "notes.txt");

const outer: readonly MockMessage[] = [
  [
    text("Four things. "),
    toolCall("note", { n: 1 }),
    toolCall("look", { n: 2 }),
    toolCall("research"),
    toolCall("pay", { usd: 3 }),
  ],
  [toolCall("pay", { usd: 4_000 }), toolCall("note", { n: 5 })],
  text("Done."),
];
const inner: readonly MockMessage[] = [[toolCall("dig"), toolCall("look", { n: 6 })], text("Found.")];
const inputSchema = { type: "object" } as const;

export function live({ folder, death, copies, asks, defers, answers }: Life): Promise<LoopResult> {
  const pass = (moment: Death): void => {
    if (copies !== undefined) cpSync(folder, folderIn(copies, moment), { recursive: true });
    if (death !== undefined && nameOf(death) === nameOf(moment)) die();
  };
  const note = (line: string): void => appendFileSync(notesIn(folder), `${line}\n`);
  const policy: Approve = ({ callId, name, args }) => {
    note(`approved ${callId}`);
    if (JSON.stringify(args).includes("4000")) return { kind: "deny", reason: "too much" };
    return { kind: asks === true && (name === "pay" || name === "dig") ? "ask" : "approve" };
  };
  const model = (runKey: string, turns: readonly MockMessage[]): MockProvider =>
    createMockProvider(({ messages }) => {
      const iteration = messages.filter(({ role }) => role === "assistant").length;
      note(`asked ${runKey}i${iteration}/request/model`);
      return turns[iteration];
    });
  const make = (name: string): Tool =>
    defineTool({
      name,
      description: name,
      inputSchema,
      replay: safeTools.has(name) ? "safe" : "never",
      async execute(args: unknown, { idempotencyKey }) {
        const key = idempotencyKey.slice("killed/".length);
        note(`began ${key}`);
        await Promise.resolve();
        pass({ when: "during step", key });
        note(`ended ${key}`);
        return defers === true && (name === "pay" || name === "dig") ? defer() : args;
      },
    });
  const research = defineAgentTool({
    name: "research",
    description: "research",
    inputSchema,
    prepare: (_, { idempotencyKey }) => ({
      messages: [{ role: "user", content: "Dig." }],
      provider: model(`${idempotencyKey.slice("killed/".length)}/tool/run/`, inner),
      tools: [make("dig"), make("look")],
      ...(asks === true && { middleware: [approve(policy)] }),
    }),
    toResult: (result) => result.text,
  });
  return runToolLoop({
    provider: model("", outer),
    tools: [make("note"), make("look"), make("pay"), research],
    messages: [{ role: "user", content: "Go." }],
    runId: "killed",
    journal: mortalJournal(folder, pass),
    middleware: [approve(policy)],
    ...(answers !== undefined && { answers }),
  });
}

function mortalJournal(folder: string, pass: (moment: Death) => void): Journal {
  let begun = 0;
  let written = 0;
  const journal = fileJournal(journalIn(folder), {
    fsync: false,
    redact({ answer }) {
      begun += 1;
      pass({ when: "before record", count: begun });
      return answer;
    },
  });
  const step: Journal["step"] = async (key, body) => {
    let hasRun = false;
    const answer = await journal.step(key, () => ((hasRun = true), body()));
    if (hasRun) pass({ when: "after record", count: (written += 1) });
    return answer;
  };
  return { ...journal, step };
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("The process goes on.");
}
