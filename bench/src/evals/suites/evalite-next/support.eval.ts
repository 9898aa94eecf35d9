import { evalite } from "evalite-next";
import { wrapAISDKModel } from "evalite-next/ai-sdk";
import { answer } from "../../ai-sdk-agent.js";
import { cases, openShop, trials } from "../../script.js";

evalite("support", {
  data: cases.map(({ id, text, paid }) => ({ input: { id, text }, expected: paid })),
  trialCount: trials,
  task: async ({ text }) => {
    const shop = openShop();
    return { text: await answer(text, shop, undefined, wrapAISDKModel), paid: shop.paid };
  },
  scorers: [{ name: "paid", scorer: ({ output, expected }) => (String(output.paid) === String(expected) ? 1 : 0) }],
});
