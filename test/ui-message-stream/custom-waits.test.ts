import { expect, it } from "vitest";
import type { UIVersion } from "../../src/ui-message-stream/ui-message-chunk.ts";
import { ChatServer } from "./chat-server.ts";
import { lastOf, openPage, type PageChat, settle } from "./page.ts";
import { ids, setUpPermission } from "./permission.ts";
import { vendors } from "./vendors.ts";

async function open(version: UIVersion, isAsked = false) {
  const { ran, run } = setUpPermission(isAsked);
  const server = new ChatServer({ run, stream: { version } });
  const page = openPage({ version, fetch: server.fetch });
  await page.sendMessage({ text: "Pay." });
  const answer = async (id: string, given: object): Promise<string | undefined> => {
    await page.sendMessage(undefined, { body: { answers: { [id]: given } } });
    await settle(page);
    return page.error?.message;
  };
  return { ran, server, page, answer };
}

const waitsOf = (page: PageChat): readonly unknown[] =>
  lastOf(page).parts.flatMap(({ type, data }) => (type === "data-wait" ? [data] : []));

it.each(vendors)("an AI SDK $version UI shows a custom wait and answers it", async ({ version }) => {
  const { ran, server, page, answer } = await open(version, true);
  expect(waitsOf(page)).toEqual([
    {
      waitId: "chat/1:call_i0_0",
      what: "permission",
      facts: { risk: "high" },
      schema: expect.objectContaining({ required: ["kind", "amount"] }),
      toolCallId: "chat/1:call_i0_0",
      toolName: "pay",
    },
  ]);
  const [{ waitId }] = waitsOf(page) as [{ readonly waitId: string }];
  expect(await answer(waitId, { kind: "result", result: { kind: "approve" } })).toContain("amount: is required");
  expect(await answer(waitId, { kind: "result", result: { kind: "approve", amount: 101 } })).toContain("amount: Too big");
  expect(server.last.result?.reason).toMatchObject({ calls: [{ id: ids.permission }] });
  expect(await answer(waitId, { kind: "result", result: { kind: "approve", amount: 7 } })).toBeUndefined();
  expect(server.last.result?.reason).toMatchObject({ calls: [{ id: ids.webhook, what: "booking" }] });
  expect(JSON.stringify(lastOf(page))).not.toContain("s3");
  await server.deliver({ [ids.permission]: { kind: "approve", amount: 7 }, [ids.webhook]: { kind: "booked" } });
  await page.resumeStream();
  await settle(page);
  expect(waitsOf(page).at(-1)).toEqual({ waitId: expect.stringContaining("chat/1:"), what: "model", facts: { tokens: 9 } });
  const { waitId: asked } = waitsOf(page).at(-1) as { readonly waitId: string };
  expect(await answer(asked, { kind: "result", result: "large" })).toBeUndefined();
  expect(server.last.result?.text).toBe("It is paid.");
  expect(ran).toEqual([[{ kind: "approve", amount: 7 }, { kind: "booked" }], "large"]);
  const calls = lastOf(page).parts.filter(({ toolCallId }) => toolCallId !== undefined);
  expect(calls).toMatchObject([{ type: "tool-pay", state: "output-available", output: "paid" }]);
});

it.for<[what: string, id: string, given: object, problem: string]>([
  ["a wait for a webhook", ids.webhook, { kind: "result", result: { kind: "approve" } }, "comes from a page"],
  ["a wait for a webhook, with an approval", ids.webhook, { kind: "approve" }, "comes from a page"],
  ["a wait for the page, with an approval", ids.permission, { kind: "approve" }, 'is "approve"'],
  ["a wait for the page, with a failure", ids.permission, { kind: "failed", error: "No." }, 'is "failed"'],
])("a chat UI cannot answer %s", async ([, id, given, problem]) => {
  const { ran, server, page, answer } = await open(6);
  if (id === ids.webhook) await answer("chat/1:call_i0_0", { kind: "result", result: { kind: "deny", amount: 1 } });
  const before = JSON.stringify(server.last.result?.journal);
  expect(await answer(`chat/1:${id}`, given)).toContain(problem);
  expect(JSON.stringify(server.last.result?.journal)).toBe(before);
  expect([ran, lastOf(page).metadata]).toEqual([[], expect.objectContaining({ status: "suspended" })]);
});
