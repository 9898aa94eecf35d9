// Sends a message to the model while a tool runs, and then stops the run.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createProvider, messages, tools } from "./scene.ts";

const provider = createProvider();
const onUserMessage = (listener: (text: string) => void) => void sleep(5).then(() => listener("In Fahrenheit, please."));
const onStopButton = (listener: () => void) => void sleep(8).then(listener);

// #region control
import { createLoopControl, runToolLoop } from "turnwright";

const control = createLoopControl();
onUserMessage((text) => control.steer(text)); // the model reads it with its next request
onStopButton(() => control.stop({ requester: "user 7" }));

const result = await runToolLoop({ provider, tools, messages, control });
// After a stop, the status is "stopped-by-user", and `result.text` has what the model wrote before.
// #endregion control

assert.equal(result.status, "stopped-by-user");
assert.deepEqual(result.reason, { kind: "stopped", requester: "user 7", note: undefined });
assert.equal(result.text, "Let me look.");
