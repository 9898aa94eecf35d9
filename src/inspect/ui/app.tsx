import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LoggedRun } from "../../shared/run-log.ts";
import type { PageLog } from "../page/page-data.ts";
import { showControls } from "../format.ts";
import { Boundary } from "./shared-parts.tsx";
import { CompareView } from "./compare-view.tsx";
import { followList, type LoadedLog, loadLog, readPageData } from "./load-logs.ts";
import type { Connection } from "./model/describe-ending.ts";
import { parseRoute, toLink, useHash } from "./route.ts";
import { RunList } from "./run-list.tsx";
import { RunView } from "./run-view.tsx";

export function App(): JSX.Element {
  const data = useMemo(readPageData, []);
  const [logs, setLogs] = useState<readonly (LoadedLog | undefined)[]>(() => data.logs.map(() => undefined));
  useEffect(() => {
    const load = (one: PageLog, index: number): void => {
      const length = (before: readonly unknown[]): number => Math.max(before.length, index + 1);
      void loadLog(one, (loaded) =>
        setLogs((before) => Array.from({ length: length(before) }, (_log, at) => (at === index ? loaded : before[at]))),
      );
    };
    data.logs.forEach(load);
    if (data.list !== undefined) void followList(data.list, data.logs.length, load);
  }, [data]);
  // Waits until all logs are read, because runs are numbered in the order of their logs.
  const isReady = logs.slice(0, data.logs.length).every((log) => log !== undefined);
  const runs = useRuns(logs, isReady);
  return (
    <>
      {logs.map((log, index) => log !== undefined && <LogNotes key={index} log={log} />)}
      {isReady ? (
        <Boundary part="The page">
          <Content runs={runs} canGrow={data.list !== undefined} />
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

/** Returns the runs of all logs. A run keeps its number when runs are added to an earlier log. */
function useRuns(logs: readonly (LoadedLog | undefined)[], isReady: boolean): readonly ShownRun[] {
  const numbered = useRef<LoggedRun[]>([]);
  const found = new Map<LoggedRun, Omit<ShownRun, "run">>();
  for (const log of logs) {
    const all = log?.log?.runs ?? [];
    if (log !== undefined)
      all.forEach((run, index) => found.set(run, { log, name: all.length === 1 ? log.name : `${log.name}, run ${index + 1}` }));
  }
  if (isReady) for (const run of found.keys()) if (!numbered.current.includes(run)) numbered.current.push(run);
  return numbered.current.flatMap((run) => {
    const facts = found.get(run);
    return facts === undefined ? [] : [{ run, ...facts }];
  });
}

function LogNotes({ log: { name, log, problem, isOffline } }: { readonly log: LoadedLog }): JSX.Element {
  const problems = [
    problem,
    log?.isTorn === true && "The last line was cut off, so it is not shown.",
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
      {log?.source === "journal" && (
        <p class="notice">
          {showControls(name)} is a journal. A journal has no dates, so times begin at 0. It also has no system text, settings,
          first tokens and attempts.
        </p>
      )}
    </>
  );
}

interface ContentProps {
  readonly runs: readonly ShownRun[];
  /** True if more logs may appear. Every link then contains the number of its run, so that the link stays valid. */
  readonly canGrow: boolean;
}

function Content({ runs, canGrow }: ContentProps): JSX.Element | null {
  const navigation = useHash();
  const count = canGrow ? Math.max(runs.length, 2) : runs.length;
  const route = parseRoute(navigation.hash, count);
  const link = (run: number, key = ""): string => toLink({ run, key }, count);
  const shown = route.kind === "run" ? runs[route.run - 1] : undefined;
  useEffect(() => {
    document.title = shown === undefined ? "Runs" : showControls(shown.name);
  }, [shown?.name]);
  if (route.kind === "run" && shown !== undefined) {
    const { name, run, log } = shown;
    return (
      <>
        {count > 1 && <Back />}
        <RunView
          key={route.run}
          run={run}
          name={name}
          connection={connectionOf(log)}
          hasDates={log.log?.source !== "journal"}
          version={log.log}
          number={route.run}
          count={count}
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
        <CompareView
          left={left.run}
          right={right.run}
          names={[left.name, right.name]}
          linkOf={(run, key) => link(runs.indexOf(run === left.run ? left : right) + 1, key)}
        />
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
        runs={runs.map(({ name, run, log }, index) => ({
          ...{ name, run, href: link(index + 1) },
          hasDates: log.log?.source !== "journal",
        }))}
        compareHref={(one, other) => `#compare/r${one + 1}/r${other + 1}`}
      />
    </main>
  );
}

function connectionOf({ isLive, isOffline }: LoadedLog): Connection {
  if (!isLive) return "none";
  return isOffline === true ? "lost" : "live";
}

function Back(): JSX.Element {
  return (
    <a class="back" href="#">
      ← All runs
    </a>
  );
}
