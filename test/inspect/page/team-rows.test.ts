import { runToolLoop } from "turnwright";
import { parseRunLog, runLog } from "turnwright/inspect";
import { createTeam } from "turnwright/middleware";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { expect, it } from "vitest";
import { buildTree } from "../../../src/inspect/ui/model/entries.ts";
import { buildRows } from "../../../src/inspect/ui/model/rows.ts";
import { addWatchers } from "../../add-watchers.ts";

it("the inspect page: shows a team as a tree of members, with the runs of each member", async () => {
  const lines: string[] = [];
  const member = { description: "Works", system: "Work." };
  const look = { name: "look", description: "Looks", inputSchema: {}, execute: () => 1 };
  const endless = createMockProvider(() => toolCall("look"));
  const members = {
    reader: { ...member, provider: createMockProvider([text("Read.")]) },
    writer: { ...member, provider: endless, tools: [look], limits: { maxIterations: 1 } },
  };
  const calls = [toolCall("reader", { task: "Read" }), toolCall("writer", { task: "Write" })];
  const provider = createMockProvider([calls, text("Done.")]);
  const options = { provider, messages: [{ role: "user", content: "Go." }] as const, ...createTeam({ members }) };
  await runToolLoop(addWatchers(options, runLog({ to: { write: (line) => void lines.push(line) } })));
  const trees = parseRunLog(lines.join("")).runs.map((run) => buildTree(run));
  const rows = trees.flatMap((tree) => buildRows(tree));
  expect(rows.map(({ label, note, parents }) => [parents.length, label, note])).toEqual([
    [0, "i0", ""],
    [1, "reader", ""],
    [2, "i0", ""],
    [1, "writer", "timeout"],
    [2, "i0", ""],
    [3, "look", ""],
    [0, "i1", ""],
  ]);
});
