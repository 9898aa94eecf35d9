// A script that plays the model, so that the example runs without a key. It makes the mistakes of a real model: in every fourth trial it
// forgets to look at the order, and it does not notice that an order was paid back.

import type { Message, Provider } from "turnwright";
import { createMockProvider, type MockMessage, text, toolCall } from "turnwright/testing";

export function scriptedModel(trialNumber: number): Provider {
  const isHasty = trialNumber % 4 === 0;
  return createMockProvider(({ messages }) => answer(messages, isHasty));
}

function answer(messages: readonly Message[], isHasty: boolean): MockMessage {
  const order = Number(/\d+/.exec(JSON.stringify(messages[0]))?.[0]);
  const called = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  const last = called.at(-1);
  if (Number.isNaN(order)) return text("Hello! How can I help you?");
  if (last?.name === "refund") return text(`I have paid order ${order} back. Have a nice day!`);
  if (last === undefined && !isHasty) return toolCall("get_order", { order });
  return last?.result === "There is no such order." ? text("I cannot find this order.") : toolCall("refund", { order });
}
