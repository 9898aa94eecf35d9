import { runToolLoop } from "turnwright";
import { openaiChat } from "turnwright/openai";
import { expect, it } from "vitest";
import { chatCall, chatText, connect, createRecorder, refuse, type SentBody, tool, user } from "./service-client.ts";

const contentOf = ({ messages }: SentBody): unknown => messages.find(({ role }) => role === "assistant")?.content;

it.for<[server: string, status: number, body: object]>([
  ["LM Studio", 400, { error: "Invalid 'content': 'content' field must be a string or an array of objects." }],
  ["llama.cpp", 500, { error: { code: 500, message: "Expected 'content' to be a string or an array", type: "server_error" } }],
  ["Ollama", 400, { error: { message: "invalid message content type: <nil>", type: "invalid_request_error", code: null } }],
  [
    "Pydantic",
    422,
    { detail: [{ type: "string_type", loc: ["body", "messages", 1, "content"], msg: "Input should be a valid string" }] },
  ],
  ["OpenAI", 400, { error: { message: "Invalid value for 'content': expected a string, got null.", code: null } }],
])("openaiChat: sends empty content beside a call if %s refuses null", async ([, status, refusal]) => {
  const { fetch, bodies } = createRecorder((body) => {
    const content = contentOf(body);
    return content === undefined ? chatCall("call_1", "look") : content === null ? refuse(status, refusal) : chatText();
  });
  const provider = openaiChat({ client: connect(fetch), model: "m" });
  const runs = [1, 2].map(() => runToolLoop({ provider, tools: [tool("look")], messages: [user("Hi")] }));
  expect((await Promise.all(runs)).map(({ text }) => text)).toEqual(["Done.", "Done."]);
  await runToolLoop({ provider, tools: [tool("look")], messages: [user("Hi")] });
  expect(bodies.map(contentOf)).toEqual([undefined, undefined, null, null, "", "", undefined, ""]);
});

it("openaiChat: asks once more if a server refuses the content of another message", async () => {
  const { fetch, bodies } = createRecorder((body) =>
    contentOf(body) === undefined
      ? chatCall("call_1", "look")
      : refuse(400, { error: { message: "messages[2].content must be a string", type: "invalid_request_error" } }),
  );
  const provider = openaiChat({ client: connect(fetch), model: "m" });
  const { status, error } = await runToolLoop({ provider, tools: [tool("look")], messages: [user("Hi")] });
  expect([status, error?.message]).toEqual(["error", "messages[2].content must be a string"]);
  expect(bodies.map(contentOf)).toEqual([undefined, null, ""]);
});
