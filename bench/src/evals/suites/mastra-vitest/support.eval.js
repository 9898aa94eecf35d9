import { createScorer } from "@mastra/core/evals";
import { RequestContext } from "@mastra/core/request-context";
import { expectEval } from "@mastra/evals/vitest";
import { test } from "vitest";
import { agent, worlds } from "../../mastra-agent.js";
import { cases, closeShop, openShop, trials } from "../../script.js";

const paid = createScorer({ id: "paid", description: "The right orders are paid back" }).generateScore(({ run }) =>
  String(run.groundTruth.shop.paid) === String(run.groundTruth.paid) ? 1 : 0,
);

for (const { id, text, paid: orders } of cases)
  for (let trial = 1; trial <= trials; trial += 1)
    test.concurrent(`${id}, trial ${trial}`, async ({ onTestFinished }) => {
      const shop = openShop();
      onTestFinished(() => closeShop(shop));
      worlds.set(`${id}/${trial}`, { text, shop });
      const requestContext = new RequestContext([["case", `${id}/${trial}`]]);
      await expectEval({
        target: agent,
        data: { input: text, groundTruth: { shop, paid: orders }, requestContext },
        gates: [paid],
      }).toPass();
    });
