import { checks, begin, end } from "./fault-checks.ts";
await begin();
const t = performance.now();
setTimeout(() => process.exit(1), 30000);
await checks[Number(process.argv[2])]!.run();
console.log("ok", performance.now() - t);
await end();
process.exit(0);
