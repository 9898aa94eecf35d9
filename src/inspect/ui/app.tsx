// The page: loads its logs, and shows the list of runs, one run, or a comparison.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LoggedRun } from "../log/run-log.ts";
import { Boundary } from "./boundary.tsx";
import { CompareView } from "./compare-view.tsx";
import { type LoadedLog, loadLog, readPageData } from "./load-logs.ts";
import { parseRoute, toLink } from "./model/route.ts";
import { RunList } from "./run-list.tsx";
import { RunView } from "./run-view.tsx";
import { showControls } from "../page/show-controls.ts";
import { useHash } from "./use-route.ts";

export function App(): JSX.Element {
  const data = useMemo(readPageData, []);
  const [logs, setLogs] = useState<readonly (LoadedLog | undefined)[]>(() => data.logs.map(() => undefined));
  useEffect(() => {
    data.logs.forEach((one, index) => {
      void loadLog(one, (loaded) => setLogs((before) => Object.assign([...before], { [index]: loaded })));
    });
  }, [data]);
  const runs = useRuns(logs);
  // The numbers of runs are known when all logs were read once.
  const isReady = logs.every((log) => log !== undefined);
  return (
    <>
      {logs.map((log, index) => log !== undefined && <LogProblems key={index} log={log} />)}
      {isReady ? (
        <Boundary part="The page">
          <Content runs={runs} />
        </Boundary>
      ) : (
        <p class="loading">Reading…</p>
      )}
    </>
  );
}

interface ShownRun {
  readonly name: string;
  readonly run: LoggedRun;
  readonly log: LoadedLog;
}

/** Returns the runs of all logs. A run keeps its number when another log grows. */
function useRuns(logs: readonly (LoadedLog | undefined)[]): readonly ShownRun[] {
  const numbered = useRef<LoggedRun[]>([]);
  const found = new Map<LoggedRun, Omit<ShownRun, "run">>();
  for (const log of logs) {
    const all = log?.log?.runs ?? [];
    if (log !== undefined)
      all.forEach((run, index) => found.set(run, { log, name: all.length === 1 ? log.name : `${log.name}, run ${index + 1}` }));
  }
  if (logs.every((log) => log !== undefined))
    for (const run of found.keys()) if (!numbered.current.includes(run)) numbered.current.push(run);
  return numbered.current.flatMap((run) => {
    const facts = found.get(run);
    return facts === undefined ? [] : [{ run, ...facts }];
  });
}

function LogProblems({ log: { name, log, problem, isOffline } }: { readonly log: LoadedLog }): JSX.Element {
  const problems = [
    problem,
    log?.isTorn === true && "The last line is cut off, for example by a crash. It is left out.",
    log?.runs.length === 0 && "The log has no runs yet.",
    isOffline === true && "The server of this page does not answer. The page tries again each second.",
  ].filter((text) => typeof text === "string");
  return (
    <>
      {problems.map((text) => (
        <p key={text} class="problem" role="alert">
          {showControls(name)}: {showControls(text)}
        </p>
      ))}
    </>
  );
}

function Content({ runs }: { readonly runs: readonly ShownRun[] }): JSX.Element | null {
  const navigation = useHash();
  const route = parseRoute(navigation.hash, runs.length);
  const link = (run: number, key = ""): string => toLink({ run, key }, runs.length);
  const shown = route.kind === "run" ? runs[route.run - 1] : undefined;
  useEffect(() => {
    document.title = shown === undefined ? "Runs" : showControls(shown.name);
  }, [shown?.name]);
  if (route.kind === "run" && shown !== undefined) {
    const { name, run, log } = shown;
    return (
      <>
        {runs.length > 1 && <Back />}
        <RunView
          key={route.run}
          run={run}
          name={name}
          isLive={log.isLive}
          version={log.log}
          number={route.run}
          count={runs.length}
          selected={route.key}
          navigation={navigation}
        />
      </>
    );
  }
  const [left, right] = route.kind === "compare" ? [runs[route.left - 1], runs[route.right - 1]] : [];
  if (left !== undefined && right !== undefined)
    return (
      <main class="page">
        <Back />
        <CompareView left={left.run} right={right.run} names={[left.name, right.name]} />
      </main>
    );
  return (
    <main class="page">
      {route.kind === "unknown" && (
        <p class="problem" role="alert">
          This page has no “{showControls(route.link)}”.
        </p>
      )}
      <RunList
        runs={runs.map(({ name, run }, index) => ({ name, run, href: link(index + 1) }))}
        compareHref={(one, other) => `#compare/r${one + 1}/r${other + 1}`}
      />
    </main>
  );
}

function Back(): JSX.Element {
  return (
    <a class="back" href="#">
      ← All runs
    </a>
  );
}
