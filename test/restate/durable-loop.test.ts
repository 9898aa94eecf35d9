import { describeChecks } from "./checks.ts";
import { checks } from "./loop-checks.ts";

describeChecks("a durable loop on Restate", "loop-checks.ts", checks);
