// The `turnwright/config` entry point: reads limits and timeouts from environment variables.

export { type EnvironmentSettings, readEnvironment } from "./read-environment.ts";
