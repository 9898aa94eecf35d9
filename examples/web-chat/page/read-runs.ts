// Reads the progress of nested runs from a tool output. The server sends `{ runs: [{ text, calls, status }] }`.

export interface InnerRun {
  readonly text: string;
  readonly calls: readonly InnerCall[];
  readonly status: string;
}

interface InnerCall {
  readonly callId: string;
  readonly name: string;
  readonly state: string;
}

export function readRuns(output: unknown): readonly InnerRun[] {
  return listIn(output, "runs").map((run) => ({
    text: textIn(run, "text"),
    calls: listIn(run, "calls").map((call) => ({
      callId: textIn(call, "callId"),
      name: textIn(call, "name"),
      state: textIn(call, "state"),
    })),
    status: textIn(run, "status"),
  }));
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, field) : undefined;
}

function listIn(value: unknown, field: string): readonly unknown[] {
  const list = fieldOf(value, field);
  return Array.isArray(list) ? list : [];
}

function textIn(value: unknown, field: string): string {
  const text = fieldOf(value, field);
  return typeof text === "string" ? text : "";
}
