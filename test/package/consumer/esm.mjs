import { createRequire } from "node:module";
import * as core from "turnwright";
import * as openai from "turnwright/openai";
import * as testing from "turnwright/testing";
import { exercise } from "./exercise.cjs";

await exercise(core, testing, openai);

// An error of the CommonJS copy is known to the ESM copy, and the other way round.
const require = createRequire(import.meta.url);
const copy = require("turnwright");
const guardsOf = ({ isLoopEndedError, isLoopError }) => ({ isLoopEndedError, isLoopError });
await exercise({ ...copy, ...guardsOf(core) }, testing, openai);
await exercise({ ...core, ...guardsOf(copy) }, testing, openai);

console.log("ran as ESM");
