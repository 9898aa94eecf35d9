// The entry `turnwright/config`: reads limits and timeouts from environment variables.

export {
  type Environment,
  type EnvironmentName,
  type EnvironmentProblem,
  type EnvironmentSettings,
  type EnvironmentOptions,
  readEnvironment,
} from "./read-environment.ts";
