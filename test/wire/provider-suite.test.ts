import { describe, it } from "vitest";
import { providerSuite, type ProviderScenario } from "turnwright/testing";
import { type Adapter, adapters } from "./adapters.ts";
import { toScripted } from "./suite-script.ts";

interface Row extends Adapter {
  readonly idOf: (index: number) => string;
}

const rows: readonly Row[] = adapters.flatMap((adapter) => {
  const named: Row = { ...adapter, idOf: (index) => `call_${index}` };
  const nameless: Row = { ...named, name: `${adapter.name} without call ids`, idOf: () => "" };
  return adapter.factory === "googleGenerateContent" ? [named, nameless] : [named];
});

for (const { name, open, idOf } of rows) {
  describe(`provider from ${name}`, () => {
    const create = ({ replies }: ProviderScenario): ReturnType<Adapter["open"]> =>
      open(replies.map((reply) => toScripted(reply, idOf)));
    for (const { title, run } of providerSuite({ create })) it(title, run);
  });
}
