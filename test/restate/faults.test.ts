import { describeChecks } from "./checks.ts";
import { checks } from "./fault-checks.ts";

// The long form is `npm run test:faults`. It also measures times.
describeChecks("a durable run on Restate", "fault-checks.ts", checks);
