import { describeChecks } from "./checks.ts";
import { checks } from "./step-checks.ts";

describeChecks("the new core on Restate", "step-checks.ts", checks);
