// Exports the `turnwright/config` entry, which reads limits and timeouts from environment variables.

export { type EnvironmentSettings, readEnvironment } from "./read-environment.ts";
