// Waits in this process for the answer to a question of a tool. Only runs with a control load this code.

import type { OutsideResult } from "../../types/policies.ts";
import type { ToolQuestion } from "../../types/tool-outcome.ts";
import { checkAnswerOf } from "../run/decisions.ts";
import type { ControlClaim, LiveQuestion, Run } from "../run/run.ts";

/** The maximum number of answers to one question. Without it, a program that gives a wrong answer at once would go on forever. */
const mostAnswers = 20;

/** Resolves to the answer. If an answer does not fit the schema, asks again. */
export async function waitForAnswer(live: LiveQuestion): Promise<unknown> {
  const { question, schema } = live.asked;
  let asked = question;
  for (let round = 0; round < mostAnswers; round += 1) {
    const checked = await checkAnswerOf(schema, await hold(live, asked));
    if (!("issues" in checked)) return checked.value;
    asked = { ...question, issues: checked.issues };
  }
  throw new Error(`None of ${mostAnswers} answers fits the schema of the question.`);
}

function hold({ run, place, deadline, asked: { fromPage } }: LiveQuestion, question: ToolQuestion): Promise<OutsideResult> {
  const { path, token, events, ports } = run;
  const questions = ports.questionsOf(place.callId);
  questions.count += 1;
  // The token of the execution is part of the id, so that an answer cannot reach a question of a later execution.
  const id = `${path}${place.callId}#${token.slice(0, 8)}-${questions.count}`;
  const { signal } = deadline;
  const controls = controlsOf(run);
  return new Promise((resolve, reject) => {
    const goOn = deadline.pause();
    const end = (answer: OutsideResult | undefined): void => {
      for (const control of controls) control.questions.delete(id);
      questions.withdraw.delete(withdraw);
      signal.removeEventListener("abort", withdraw);
      goOn();
      events.send({ type: "question-answered", ...place, id, answer: answer?.kind ?? "withdrawn" });
      if (answer === undefined) reject(new Error("The call has ended, so its question was withdrawn."));
      else resolve(answer);
    };
    const withdraw = (): void => end(undefined);
    for (const control of controls) control.questions.set(id, { fromPage, take: end });
    questions.withdraw.add(withdraw);
    signal.addEventListener("abort", withdraw);
    events.send({ type: "question-asked", ...place, id, question, ...(fromPage && { fromPage }) });
    if (signal.aborted) withdraw();
  });
}

/** The controls of a run and its outer runs. Each of them can answer a question. */
function controlsOf(run: Run): readonly ControlClaim[] {
  const controls: ControlClaim[] = [];
  for (let one: Run | undefined = run; one !== undefined; one = one.outer)
    if (one.control !== undefined) controls.push(one.control);
  return controls;
}
