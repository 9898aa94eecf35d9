import { createHarness, describeEval } from "vitest-evals";
import { expect } from "vitest";
import { answer } from "../../ai-sdk-agent.js";
import { cases, closeShop, openShop, trials } from "../../script.js";

const harness = createHarness({
  name: "support",
  run: async ({ input, signal }) => {
    const content = await answer(input.text, input.shop, signal);
    return { output: content, messages: [{ role: "assistant", content }] };
  },
});

describeEval("support", { harness }, (it) => {
  for (const { id, text, paid } of cases)
    for (let trial = 1; trial <= trials; trial += 1)
      it.concurrent(`${id}, trial ${trial}`, async ({ run, onTestFinished }) => {
        const shop = openShop();
        onTestFinished(() => closeShop(shop));
        await run({ text, shop });
        expect(shop.paid).toEqual(paid);
      });
});
