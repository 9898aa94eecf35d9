// Checks that the ES module build and the CommonJS build recognize each other's errors.

import { createRequire } from "node:module";
import * as core from "turnwright";
import { exercise } from "./exercises/index.cjs";

const copy = createRequire(import.meta.url)("turnwright");
const guardsOf = ({ isLoopEndedError, isLoopError }) => ({ isLoopEndedError, isLoopError });
const loadWith = (both) => (specifier) => (specifier === "turnwright" ? both : import(specifier));

await exercise(loadWith({ ...copy, ...guardsOf(core) }));
await exercise(loadWith({ ...core, ...guardsOf(copy) }));

console.log("ran both copies");
