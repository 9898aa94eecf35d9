import { providerSuite } from "turnwright/testing";
import type { Adapter } from "./adapters.ts";
import type { ProbeGroup } from "./probe-kit.ts";
import { toScripted } from "./suite-script.ts";

async function runSuite({ open }: Adapter): Promise<string> {
  const checks = providerSuite({
    create: ({ replies }) => open(replies.map((reply) => toScripted(reply, (index) => `call_${index}`))),
  });
  for (const { run } of checks) await run();
  return `${checks.length} of ${checks.length}`;
}

export const suiteProbes: readonly ProbeGroup[] = [
  {
    title: "The provider suite",
    about: "",
    probes: [{ title: "Checks of [`providerSuite`](guides/writing-a-provider.md#test-a-provider) passed", find: runSuite }],
  },
];
