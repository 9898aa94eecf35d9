// Tests every feature with every adapter. `npm run docs:adapters` writes the results into docs/adapters.md.

import { describe, expect, it } from "vitest";
import { specAdapters, vendorAdapters } from "./adapters.ts";
import { answerProbes } from "./answer-probes.ts";
import { finishProbes } from "./finish-probes.ts";
import { mediaProbes } from "./media-probes.ts";
import { no, type ProbeGroup } from "./probe-kit.ts";
import { requestProbes } from "./request-probes.ts";
import { suiteProbes } from "./suite-probes.ts";
import { type Column, keyOf, toCell, toTables } from "./support-page.ts";

const columns: readonly Column[] = [
  ...vendorAdapters.map((adapter) => ({ title: adapter.factory, adapters: [adapter] })),
  { title: "aiSdkModel", adapters: specAdapters },
];

const groups: readonly ProbeGroup[] = [...suiteProbes, ...answerProbes, ...finishProbes, ...requestProbes, ...mediaProbes];

const head = `# What each adapter supports

The test \`test/wire/adapter-support.test.ts\` writes this page. To write it again, run \`npm run docs:adapters\`. Each cell is the result of a probe. A
probe runs through the vendor's real SDK, over a real connection, against a server that simulates the service. It checks the request and the response.
The test fails if a cell no longer matches the result of its probe.

\`${no}\` means no: the adapter has no such option, the request has no such field, or the service has no such stop reason. Read the vendor's
documentation for the effect of a request at the service, and for the requests that each model accepts. [Providers](guides/providers.md) describes each adapter.

The cells of \`aiSdkModel\` show the data that an AI SDK model object receives and returns. The probes use the AI SDK's own mocks of the
specifications v2, v3 and v4. If the results for v2, v3 and v4 differ, the cell says so. The provider package of the model decides what it sends to the service. A model gets URLs only for
the types that it lists in \`supportedUrls\`. The mocks list every type.
`;

describe("docs/adapters.md", () => {
  const cells = new Map<string, readonly string[]>();
  const rows = groups.flatMap((group) => group.probes.map((probe) => [keyOf(group, probe.title), probe] as const));

  it.for(rows)('has a measured result for each adapter in the row "%s"', async ([key, probe]) => {
    const found = await Promise.all(
      columns.map(async ({ adapters }) =>
        toCell(
          await Promise.all(adapters.map(async (adapter) => ({ variant: adapter.variant, said: await probe.find(adapter) }))),
        ),
      ),
    );
    cells.set(key, found);
  });

  it("contains the current results for all rows", async () => {
    expect([...cells.keys()]).toEqual(rows.map(([key]) => key));
    await expect(`${head}\n${toTables(groups, columns, cells)}\n`).toMatchFileSnapshot("../../docs/adapters.md");
  });
});
