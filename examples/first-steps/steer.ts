// Sends a message to the model while a tool runs.

import assert from "node:assert/strict";
import { createProvider, messages, tools } from "./scene.ts";

const provider = createProvider();

// #region steer
import { createLoopControl, runToolLoop } from "turnwright";

const control = createLoopControl();
const running = runToolLoop({ provider, tools, messages, control });
control.steer("In Fahrenheit, please."); // the model reads it with its next request

const result = await running;
// #endregion steer

assert.equal(result.status, "completed");
assert(JSON.stringify(result.messages).includes("In Fahrenheit, please."));
