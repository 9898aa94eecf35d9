import { expect, it } from "vitest";
import type { Json } from "../core/types/common.ts";
import { type AnsweredWait, findAnswerProblem } from "./answer-problem.ts";

const schema = { type: "object", properties: { by: { type: "string" } }, required: ["by"] } as const;
const wait = (more: Partial<AnsweredWait>): AnsweredWait => ({ id: "c", name: "pay", waitsFor: "answer", ...more });
const result = { kind: "result", result: { by: 1 } } as const;

it.for<[wait: AnsweredWait, given: Json, problem: string | undefined]>([
  [wait({ schema }), { by: "Kim" }, undefined],
  [wait({ schema }), { by: 1 }, "does not fit the schema passed to wait: by: must be of the type string"],
  [wait({ schema }), null, "does not fit the schema passed to wait: must be of the type object"],
  [wait({ schema, until: 1 }), null, undefined],
  [wait({ waitsFor: "approval" }), { kind: "approve" }, undefined],
  [wait({ waitsFor: "approval" }), { kind: "modify" }, 'is "modify"'],
  [wait({ waitsFor: "approval" }), { kind: "ask" }, 'is "ask"'],
  [wait({ waitsFor: "result" }), { kind: "modify" }, 'is "modify"'],
  [wait({ waitsFor: "result" }), 7, "is 7"],
  [wait({ waitsFor: "result" }), { ...result, fromPage: true }, "comes from a page"],
  [wait({ waitsFor: "result", fromPage: true }), { ...result, fromPage: true }, `does not fit the tool's "outputSchema": pay`],
  [wait({ waitsFor: "result" }), { kind: "failed", error: "No." }, undefined],
  [wait({ waitsFor: "result", question: { schema } as never }), result, "does not fit the schema of the question: by: must"],
])("findAnswerProblem: for the wait %j, checks the answer %j", async ([asked, given, problem]) => {
  const found = await findAnswerProblem(asked, given, async (name) => [{ message: name }]);
  expect(found?.details.problem).toEqual(problem === undefined ? undefined : expect.stringContaining(problem));
  expect(found?.details.call).toBe(problem === undefined ? undefined : "c");
});
