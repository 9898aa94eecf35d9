import { describeChecks } from "./checks.ts";
import { checks } from "./host-checks.ts";

describeChecks("a durable host on Restate", "host-checks.ts", checks);
