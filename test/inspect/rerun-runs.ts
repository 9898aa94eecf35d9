import { join } from "node:path";
import { defineAgentTool, defineTool, type LoopOptions, runToolLoop, toolResult, type Tool } from "turnwright";
import { parseRunLog, rerunFrom, type RunLog, runLog } from "turnwright/inspect";
import type { RerunOptions } from "../../src/inspect/rerun/rerun-from.ts";
import { fileJournal } from "turnwright/journal";
import {
  createMockProvider,
  type MockMessage,
  type MockPart,
  type MockProvider,
  text,
  toolCall,
  usage,
} from "turnwright/testing";
import type { ExecutableTool } from "turnwright/kit";
import { makeFolder } from "../journal/folder.ts";
import { addWatchers } from "../add-watchers.ts";

const any = { type: "object" } as const;
export const counted: MockPart = usage({ inputTokens: 100, outputTokens: 7, cachedInputTokens: 60 });

export const ran: string[] = [];

export function tool(name: string, execute: () => unknown, more: Partial<ExecutableTool> = {}): ExecutableTool {
  return defineTool({ name, description: `Does ${name}`, inputSchema: any, ...more, execute: () => (ran.push(name), execute()) });
}

const look = tool("look", () => ({ found: ["a", "b"] }));
const long = tool("long", () => "A long result. ".repeat(200));
const broken = tool("broken", () => {
  throw new Error("The disk is full.");
});
const picture = tool("picture", () =>
  toolResult({ data: "drawn", content: [{ type: "image", mediaType: "image/png", data: "AA==" }] }),
);
const pay = tool("pay", () => "paid", { needsApproval: true });
const ask = defineAgentTool({
  name: "ask",
  description: "Asks",
  inputSchema: any,
  prepare: () => ({
    provider: createMockProvider([
      [toolCall("look"), counted],
      [text("Inner."), counted],
    ]),
    tools: [look],
    messages: [{ role: "user", content: "Look." }],
  }),
});
export const tools: readonly Tool[] = [look, long, broken, picture, pay, ask];

export interface First {
  readonly script: readonly MockMessage[];
  readonly from: number;
  readonly options?: Partial<LoopOptions>;
}

export interface Files {
  readonly log: string;
  readonly journal: string;
}

export async function runFirst({ script, options }: Pick<First, "script" | "options">): Promise<Files> {
  const folder = makeFolder();
  const files = { log: join(folder, "run.jsonl"), journal: join(folder, "journal.jsonl") };
  const provider = createMockProvider([...script]);
  const all: LoopOptions = {
    provider,
    tools,
    messages: [{ role: "user", content: "Go." }],
    runId: "first",
    system: "Be brief.",
    journal: fileJournal(files.journal, { fsync: false }),
    ...options,
  };
  await runToolLoop(addWatchers(all, runLog({ to: files.log })));
  return files;
}

export interface Second {
  readonly provider: MockProvider;
  readonly log: RunLog;
  readonly ran: readonly string[];
}

/** Returns the names of the tools that the second run ran. */
export async function runSecond(source: string, iteration: number, options: Partial<RerunOptions> = {}): Promise<Second> {
  const provider = createMockProvider(() => [text("New."), counted], { id: "other", model: "other-model" });
  const lines: string[] = [];
  ran.length = 0;
  const all = await rerunFrom(source, { iteration }, { provider, tools, ...options });
  await runToolLoop(addWatchers(all, runLog({ to: { write: (line) => lines.push(line) } })));
  return { provider, log: parseRunLog(lines.join("")), ran: [...ran] };
}

export const kinds: readonly (keyof Files)[] = ["log", "journal"];
