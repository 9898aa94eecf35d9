// The features that each adapter supports: every probe runs over every adapter, and docs/adapters.md lists the results. `npm run
// docs:adapters` writes that page.

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

This page is written by a test, \`test/wire/adapter-support.test.ts\`, and not by hand; \`npm run docs:adapters\` writes it anew. Each cell is what
a probe found when it ran: through the real SDK of the vendor, over a real connection, against a server that plays the service. It looked at
the request that left and at the chunks that came. Where that is no longer what stands here, the test fails.

\`${no}\` is a no: the adapter has no option for it, the request no field, or the service no word. What a service does with a request, and which
of its models take what, is for its own documentation to say. How each adapter behaves is told in [providers](guides/providers.md).

For \`aiSdkModel\` it is what reaches a model object of the AI SDK, and what is read of one: of each specification, v2, v3 and v4, by the AI SDK's
own mocks. Where these differ, the cell says so. What leaves from there is up to the package that made the model. URLs go to models whose
\`supportedUrls\` have them, as those of this page do.
`;

describe("docs/adapters.md", () => {
  const cells = new Map<string, readonly string[]>();
  const rows = groups.flatMap((group) => group.probes.map((probe) => [keyOf(group, probe.title), probe] as const));

  it.for(rows)("%s", async ([key, probe]) => {
    const found = await Promise.all(
      columns.map(async ({ adapters }) =>
        toCell(
          await Promise.all(adapters.map(async (adapter) => ({ variant: adapter.variant, said: await probe.find(adapter) }))),
        ),
      ),
    );
    cells.set(key, found);
  });

  it("says what the probes found", async () => {
    expect([...cells.keys()]).toEqual(rows.map(([key]) => key));
    await expect(`${head}\n${toTables(groups, columns, cells)}\n`).toMatchFileSnapshot("../../docs/adapters.md");
  });
});
