// A lead with three researchers that read the docs of this project at the same time. Set OPENAI_API_KEY or ANTHROPIC_API_KEY for a
// real model. Without a key, a script plays the models. To ask your own question, pass it as an argument.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createLoopEvents, finalAnswer, type LoopResult, type Message, runToolLoop } from "turnwright";
import { createTeam, showTeam, type Team } from "turnwright/middleware";
import { providerFromEnvironment } from "../support/provider-from-environment.ts";
import { toPrintable } from "../support/to-printable.ts";
import { createFileTools } from "./file-tools.ts";
import { createScriptedLead, createScriptedResearcher } from "./scripted-models.ts";

const folder = fileURLToPath(new URL("../../docs/guides", import.meta.url));
const given = providerFromEnvironment();
const tools = await createFileTools(folder);

const createResearchTeam = (maxTokens: number): Team =>
  createTeam({
    lead: {
      system:
        "Split the question into three tasks, and give them to researchers at the same time. Join their reports, with citations.",
    },
    members: {
      researcher: {
        description: "Researches one question in the guides, and cites lines as path:line",
        system: "Find the answer in the files. Cite each fact as path:line, with the text of the line.",
        tools,
        provider: given ?? createScriptedResearcher(),
        limits: { maxTokens: 60_000, maxIterations: 12, wallClockMs: 120_000 },
        maxTasks: 6,
      },
    },
    limits: { maxTokens },
    maxParallel: 3,
  });

const events = createLoopEvents();
let working = 0;
let maxWorking = 0;
events.on("run-start", ({ path }) => {
  if (path !== undefined) maxWorking = Math.max(maxWorking, (working += 1));
});
events.on("run-end", ({ path }) => {
  if (path !== undefined) working -= 1;
});
const stop = showTeam(events, { output: process.stdout });
const question = process.argv[2] ?? "How do the guides describe the limits of a run, and nested runs?";
const messages: readonly Message[] = [{ role: "user", content: question }];
try {
  const result = await runToolLoop({
    provider: given ?? createScriptedLead(),
    messages,
    events,
    ...createResearchTeam(200_000),
    middleware: [finalAnswer({ reserve: { tokens: 20_000 } })],
  });
  console.log(`\n${toPrintable(result.text)}`);
  if (given === undefined) {
    await checkReport(result);
    await checkBudget();
  }
} finally {
  stop();
}

async function checkReport({ status, text }: LoopResult): Promise<void> {
  assert.equal(status, "completed");
  assert.equal(maxWorking, 3, "the researchers work at the same time");
  const citations = [...text.matchAll(/^([\w./-]+\.md):(\d+): (.*)$/gm)];
  assert.equal(citations.length, 3);
  for (const [, path = "", line = "", cited] of citations) {
    const lines = (await readFile(`${folder}/${path}`, "utf8")).split("\n");
    assert.equal(lines[Number(line) - 1], cited, `${path}:${line} is cited word for word`);
  }
}

/** The budget is too small: the researchers stop early, and the lead still sums up. */
async function checkBudget(): Promise<void> {
  const {
    reason,
    finalAnswer: hasFinalAnswer,
    text,
    usage,
  } = await runToolLoop({
    provider: createScriptedLead(),
    messages,
    ...createResearchTeam(3_000),
    middleware: [finalAnswer({ reserve: { tokens: 1_500 } })],
  });
  assert.deepEqual([reason.kind, hasFinalAnswer, text.startsWith("# Report")], ["max-tokens", true, true]);
  assert.ok(usage.totalTokens <= 3_000, "the shared budget holds");
}
