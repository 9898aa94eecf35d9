// Stops a run while a tool runs.

import assert from "node:assert/strict";
import { createProvider, messages, tools } from "./scene.ts";

const provider = createProvider();
const stopButton = new EventTarget();
setTimeout(() => stopButton.dispatchEvent(new Event("click")), 5);

// #region stop
import { createLoopControl, runToolLoop } from "turnwright";

const control = createLoopControl();
stopButton.addEventListener("click", () => control.stop({ requester: "user 7" }));

const result = await runToolLoop({ provider, tools, messages, control });
// If the user clicks the button while a tool runs, the status is "stopped-by-user".
// The text is what the model wrote before the call.
// #endregion stop

assert.equal(result.status, "stopped-by-user");
assert.deepEqual(result.reason, { kind: "stopped", requester: "user 7", note: undefined });
assert.equal(result.text, "Let me look.");
