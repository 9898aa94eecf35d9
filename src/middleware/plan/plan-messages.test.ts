import { expect, it } from "vitest";
import { userTextOf } from "../../shared/transcript.ts";
import { joinUserMessages, toResults } from "./ask-for-answer.ts";
import type { PlanRecord } from "./plan-record.ts";

const record = (purpose: string, result: number): PlanRecord => ({
  purpose,
  tool_name: "look",
  kwargs: {},
  todo_suggestion: "",
  next: "",
  success: true,
  result,
  error: "",
});

it("toResults: adds an unused number to a repeated purpose", () => {
  const records = [record("a", 1), record("a (2)", 2), record("a", 3), record("", 4), record("a", 5)];
  expect(JSON.parse(userTextOf(toResults(records)))).toEqual({
    action_results: { a: 1, "a (2)": 2, "a (3)": 3, look: 4, "a (4)": 5 },
  });
});

it("toResults: adds different numbers to 50,000 identical purposes", () => {
  const records = Array.from({ length: 50_000 }, (_, at) => record("a", at));
  expect(userTextOf(toResults(records))).toContain('"a (50000)": 49999');
});

it("joinUserMessages: joins adjacent user messages with any content", () => {
  const image = { type: "image", mediaType: "image/png", data: "AAAA" } as const;
  expect(
    joinUserMessages([
      { role: "user", content: "a" },
      { role: "user", content: "" },
      { role: "assistant", content: [{ type: "text", text: "b" }] },
      { role: "user", content: "" },
      { role: "user", content: [image] },
      { role: "user", content: "c" },
    ]),
  ).toEqual([
    { role: "user", content: "a" },
    { role: "assistant", content: [{ type: "text", text: "b" }] },
    { role: "user", content: [image, { type: "text", text: "c" }] },
  ]);
});
