import { evalite } from "evalite";
import { answer } from "../../ai-sdk-agent.js";
import { cases, closeShop, openShop, trials } from "../../script.js";

evalite("support", {
  data: cases.map(({ id, text, paid }) => ({ input: { id, text }, expected: paid })),
  trialCount: trials,
  task: async ({ text }) => {
    const shop = openShop();
    try {
      return { text: await answer(text, shop), paid: shop.paid };
    } finally {
      closeShop(shop);
    }
  },
  scorers: [{ name: "paid", scorer: ({ output, expected }) => (String(output.paid) === String(expected) ? 1 : 0) }],
});
