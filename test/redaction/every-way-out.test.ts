import { afterEach, describe, expect, it } from "vitest";
import { addEdges, bareEdges, edges, type Edges } from "../../src/shared/edges.ts";
import { secretKinds } from "./secret-kinds.ts";
import { type Ways, waysOfEntries, waysOfRuns } from "./ways-out.ts";

const all: Edges = { ...edges };

afterEach(() => addEdges(all));

/** Removes what the main entry and the adapters have added, as in a bundle that names neither. */
function removeEdges(): void {
  for (const name of Object.keys(edges)) Reflect.deleteProperty(edges, name);
  addEdges(bareEdges);
}

/** Each kind of text must have left, without its secret. */
async function check(leave: Ways[number][1]): Promise<void> {
  const left = await leave();
  expect(secretKinds.filter(({ secret }) => left.includes(secret)).map(({ kind }) => kind)).toEqual([]);
  expect(secretKinds.filter(({ mark }) => !left.includes(mark)).map(({ kind }) => kind)).toEqual([]);
}

describe("no kind of secret leaks", () => {
  it.each([...waysOfRuns(), ...waysOfEntries()])("through %s", (_way, leave) => check(leave));
});

describe("in a bundle without exact redaction, no kind of secret leaks", () => {
  // Such a bundle shows no arguments in this event.
  const silent = "the event hidden-notice";

  it.each(waysOfRuns().filter(([way]) => way !== silent))("through %s", async (_way, leave) => {
    removeEdges();
    await check(leave);
  });

  it(`through ${silent}, which omits the arguments`, async () => {
    removeEdges();
    const said = await waysOfRuns().find(([way]) => way === silent)?.[1]();
    expect(said).toContain("[redacted]");
    expect(secretKinds.filter(({ secret, mark }) => said?.includes(secret) || said?.includes(mark))).toEqual([]);
  });
});
