// The shortest run. A scripted model answers, so no key and no other package is needed.

import assert from "node:assert/strict";

// #region run
import { defineTool, runToolLoop } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const getTime = defineTool({
  name: "get_time",
  description: "Time of day",
  inputSchema: { type: "object" },
  execute: () => "21:40",
});
const provider = createMockProvider([toolCall("get_time"), text("It is 21:40.")]); // the replies of the model, in order
const result = await runToolLoop({ provider, tools: [getTime], messages: [{ role: "user", content: "What time is it?" }] });
console.log(result.status, result.text); // completed It is 21:40.
// #endregion run

assert.deepEqual([result.status, result.text, result.toolCallsExecuted], ["completed", "It is 21:40.", 1]);
