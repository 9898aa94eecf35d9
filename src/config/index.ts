// Exports the entry `turnwright/config`, which reads limits and timeouts from environment variables.

export { type EnvironmentSettings, readEnvironment } from "./read-environment.ts";
