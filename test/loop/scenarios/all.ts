import { completed } from "./completed.ts";
import { controlled } from "./controlled.ts";
import { failed } from "./failed.ts";
import { guarded } from "./guarded.ts";
import type { Scenario } from "./scenario.ts";
import { stopped } from "./stopped.ts";
import { timedOut } from "./timed-out.ts";

export const scenarios: readonly Scenario[] = [...completed, ...failed, ...guarded, ...timedOut, ...stopped, ...controlled];
