import { createScorer } from "@mastra/core/evals";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { agent, worlds } from "../../mastra-agent.js";
import { cases, closeShop, openShop, trialMs, trials } from "../../script.js";

const paid = createScorer({ id: "paid", description: "The right orders are paid back" }).generateScore(({ run }) =>
  String(worlds.get(run.groundTruth.id).shop.paid) === String(run.groundTruth.paid) ? 1 : 0,
);

export const mastra = new Mastra({ agents: { support: agent }, storage: new InMemoryStore(), logger: false });

export async function createSuite() {
  const dataset = await mastra.datasets.create({ name: "support" });
  const items = cases.map((item) => ({ input: item.text, groundTruth: item, requestContext: { case: item.id } }));
  await dataset.addItems({ items });
  return dataset;
}

export async function runSuite(dataset, experimentSetId) {
  const experiments = [];
  for (let trialIndex = 0; trialIndex < trials; trialIndex += 1)
    experiments.push(
      await dataset.startExperiment({
        targetType: "agent",
        targetId: "support",
        scorers: [paid],
        itemTimeout: trialMs,
        beforeEach: ({
          item: {
            groundTruth: { id, text },
          },
        }) => void worlds.set(id, { text, shop: openShop() }),
        afterEach: ({ item }) => closeShop(worlds.get(item.groundTruth.id).shop),
        grouping: { experimentSetId, trialIndex },
      }),
    );
  return experiments;
}
