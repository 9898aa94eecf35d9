import { type LoopEvent, runToolLoop, streamToolLoop } from "turnwright";
import { expect, it, onTestFinished } from "vitest";
import { chat } from "./chat-script.ts";
import { json, type RawReply, startRawServer } from "./raw-sse-server.ts";

const messages = [{ role: "user" as const, content: "Go." }];
const answer = chat.toReply({ text: "Good.", end: "stop" });

async function connect(replies: readonly RawReply[]) {
  const { url, bodies, close } = await startRawServer(replies);
  onTestFinished(close);
  const asked = (): readonly boolean[] => bodies.map((body) => Object.hasOwn(Object(body), "stream_options"));
  return { provider: chat.connect(url).provider, asked };
}

it.for<[of: string, body: object]>([
  ["Databricks", { error_code: "BAD_REQUEST", message: 'Bad request: json: unknown field "stream_options"\n' }],
  ["Azure", { error: { code: 400, message: "Validation error at #/stream_options: Extra inputs are not permitted" } }],
  ["FastAPI", { detail: [{ type: "extra_forbidden", loc: ["body", "stream_options"], msg: "Extra inputs are not permitted" }] }],
  ["OpenAI", { error: { message: "Unknown parameter: 'stream_options'.", param: "stream_options", code: "unknown_parameter" } }],
])("openaiChat: retries once without requesting token counts if %s refuses `stream_options`", async ([, body]) => {
  const { provider, asked } = await connect([json(400, body), answer, answer]);
  const events: LoopEvent[] = [];
  const stream = streamToolLoop({ provider, messages });
  for await (const event of stream) events.push(event);
  expect(await stream.result).toMatchObject({ status: "completed", text: "Good." });
  expect(events.find(({ type }) => type === "request-adjusted")).toMatchObject({
    changes: [{ by: "adapter", field: "includeUsage", action: "removed", reason: "unsupported" }],
  });
  await runToolLoop({ provider, messages });
  expect(asked()).toEqual([true, false, false]);
});

it("openaiChat: retries each request once if the server refuses several concurrent requests", async () => {
  const refused = json(400, { message: 'unknown field "stream_options"' });
  const { provider, asked } = await connect([refused, refused, answer, answer]);
  const results = await Promise.all([1, 2].map(() => runToolLoop({ provider, messages })));
  expect(results.map(({ status }) => status)).toEqual(["completed", "completed"]);
  expect(asked()).toEqual([true, true, false, false]);
});

it("openaiChat: does not retry without token counts if the server refuses a different field", async () => {
  const { provider, asked } = await connect([json(400, { message: 'unknown field "tools"' }), answer]);
  expect(await runToolLoop({ provider, messages })).toMatchObject({ status: "error" });
  expect(asked()).toEqual([true]);
});
