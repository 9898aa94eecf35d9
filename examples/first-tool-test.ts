// The shortest test of a tool. See examples/test-a-tool.ts for more tests.

// #region test
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineTool } from "turnwright";
import { runTool } from "turnwright/testing";

const findOrder = defineTool({
  name: "find_order",
  description: "Status of an order by its number, such as A-1042",
  inputSchema: z.object({ id: z.string().regex(/^[A-Z]-\d+$/) }),
  execute: ({ id }) => ({ id, status: "shipped" }),
});

await test("an order is found only by its number", async () => {
  const found = await runTool(findOrder, { id: "A-1042" });
  assert(found.kind === "completed");
  assert.deepEqual(found.data, { id: "A-1042", status: "shipped" });

  const refused = await runTool(findOrder, { id: "../../etc/passwd" });
  assert.equal(refused.kind, "invalid-input");
});
// #endregion test
