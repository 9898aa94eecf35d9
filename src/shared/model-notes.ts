// The notes that the loop adds for the model. The loop, its records and reruns must all use the same text.

/** The beginning and the end of the message that the loop adds if an answer does not match the schema. */
export const misfitNote = {
  start: "Your answer does not fit the schema: ",
  end: "\nSend the whole answer again, as JSON and nothing else.",
} as const;

export const malformedNote = "Your last tool call was malformed. Send the complete call again.";

export function warnOfLoop(count: number): string {
  return `You repeated identical tool calls ${count} times. Change your approach or answer.`;
}
